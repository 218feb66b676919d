/* The table of units, and the summary around it.
 *
 *   unit  label   function            path       nodes    saved      notes
 *      0  [0/0]   forward model.py:9  autograd     487  1.31 MiB
 *      1  [0/1]   forward model.py:9  autograd     491  1.31 MiB  from cache */
#include "tui/summary.h"

#include <string.h>

#include "session/derive.h"
#include "session/saved.h"
#include "tui/open_model.h"
#include "viewers/canvas.h"
#include "viewers/format.h"
#include "viewers/table.h"

typedef struct unit_facts {
    char label[96];
    const char *title, *path;
    size_t n_nodes;
    const aot_partition *partition; /* NULL if there is none */
    char remark[320];
} unit_facts;

static size_t nodes_of(aot_model *m, size_t unit)
{
    static const aot_stage order[] = {AOT_STAGE_JOINT, AOT_STAGE_EXPORT, AOT_STAGE_INFERENCE,
                                      AOT_STAGE_FORWARD, AOT_STAGE_BACKWARD, AOT_STAGE_DYNAMO};
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        const aot_graph *g = NULL;
        if (aot_model_stage(m, unit, order[i]).origin == AOT_ORIGIN_RECORDED &&
            aot_model_graph(m, unit, order[i], &g, NULL) == AOT_OK) {
            return g->nodes.n;
        }
    }
    return 0;
}

static unit_facts facts_of(aot_model *m, size_t unit)
{
    const aot_unit *u = aot_model_unit(m, unit);
    unit_facts f = {.title = u->title, .path = aot_unit_path(u), .n_nodes = nodes_of(m, unit)};
    aot_unit_label(&u->key, f.label, sizeof f.label);
    if (aot_model_stage(m, unit, AOT_STAGE_JOINT).origin == AOT_ORIGIN_RECORDED) {
        aot_err err = {0};
        if (aot_model_partition(m, unit, &f.partition, &err) != AOT_OK) {
            f.partition = NULL;
            snprintf(f.remark, sizeof f.remark, "no partition: %.140s", err.msg);
        }
    } else if (u->cache != NULL && strcmp(u->cache, "hit") == 0) {
        snprintf(f.remark, sizeof f.remark, "from cache");
    } else if (f.path[0] == 0) {
        snprintf(f.remark, sizeof f.remark, "no AOT graph");
    }
    char restart[160];
    if (*aot_model_restart_words(m, unit, restart, sizeof restart) != '\0') {
        size_t n = strlen(f.remark);
        snprintf(f.remark + n, sizeof f.remark - n, "%s%s", n > 0 ? ", " : "", restart);
    }
    if (f.partition != NULL && aot_model_assumed(m, unit) != NULL) {
        size_t n = strlen(f.remark);
        snprintf(f.remark + n, sizeof f.remark - n, "%ssizes assumed", n > 0 ? ", " : "");
    }
    if (u->notes.n > 0) {
        size_t n = strlen(f.remark);
        snprintf(f.remark + n, sizeof f.remark - n, "%s%zu note%s", n > 0 ? ", " : "", u->notes.n,
                 u->notes.n == 1 ? "" : "s");
    }
    return f;
}

void aot_units_print(FILE *f, aot_model *m, bool csv)
{
    aot_table *t = aot_table_new();
    aot_table_column(t, "unit", AOT_RIGHT, 0);
    aot_table_column(t, "label", AOT_LEFT, 0);
    aot_table_column(t, "function", AOT_LEFT, csv ? 0 : 40);
    aot_table_column(t, "path", AOT_LEFT, 0);
    aot_table_column(t, "nodes", AOT_RIGHT, 0);
    aot_table_column(t, csv ? "saved_bytes" : "saved", AOT_RIGHT, 0);
    aot_table_column(t, "notes", AOT_LEFT, 0);
    for (size_t i = 0; i < aot_model_n_units(m); i++) {
        unit_facts u = facts_of(m, i);
        aot_table_row(t);
        aot_table_cellf(t, "%zu", i);
        aot_table_cell(t, u.label);
        aot_table_cell(t, u.title);
        aot_table_cell(t, u.path);
        if (u.n_nodes > 0) {
            aot_table_cellf(t, "%zu", u.n_nodes);
        } else {
            aot_table_cell(t, "");
        }
        if (u.partition == NULL) {
            aot_table_cell(t, "");
        } else if (csv) {
            aot_table_cellf(t, "%lld", (long long)u.partition->saved_bytes);
        } else {
            char saved[64];
            aot_table_cell(t, aot_saved_text(u.partition, saved, sizeof saved));
        }
        aot_table_cell(t, u.remark);
    }
    aot_sb out = {0};
    unsigned flags = (csv ? AOT_TABLE_CSV : 0) | (aot_locale_is_utf8() ? 0 : AOT_TABLE_ASCII);
    aot_table_print(&out, t, flags, 0, 0);
    fputs(aot_sb_text(&out), f);
    aot_sb_free(&out);
    aot_table_free(t);
}

json_t *aot_units_json(aot_model *m)
{
    json_t *list = json_array();
    for (size_t i = 0; i < aot_model_n_units(m); i++) {
        const aot_unit *u = aot_model_unit(m, i);
        unit_facts f = facts_of(m, i);
        json_t *j =
            json_pack("{s:i, s:s, s:s, s:s, s:i, s:s, s:s, s:s}", "unit", (int)i, "label", f.label,
                      "title", f.title, "path", f.path, "nodes", (int)f.n_nodes, "file", u->input,
                      "torch_version", u->torch_version, "remark", f.remark);
        if (f.partition != NULL) {
            json_object_set_new(
                j, "saved",
                json_integer((json_int_t)f.partition->n_saved + f.partition->n_saved_sym));
            json_object_set_new(j, "saved_bytes",
                                json_integer((json_int_t)f.partition->saved_bytes));
            json_object_set_new(j, "saved_new_bytes",
                                json_integer((json_int_t)f.partition->saved_new_bytes));
            json_object_set_new(j, "saved_tensor_bytes",
                                json_integer((json_int_t)aot_saved_tensor_bytes(f.partition)));
            json_object_set_new(j, "saved_symbols", json_integer(f.partition->n_saved_sym));
        }
        size_t next = aot_model_restarted_as(m, i);
        json_object_set_new(j, "restarted_as",
                            next != SIZE_MAX ? json_integer((json_int_t)next) : json_null());
        json_t *stages = json_object();
        for (int s = 0; s < AOT_N_STAGES; s++) {
            aot_stage_status st = aot_model_stage(m, i, (aot_stage)s);
            json_object_set_new(stages, aot_stage_get((aot_stage)s)->name,
                                json_string(st.origin == AOT_ORIGIN_RECORDED  ? "recorded"
                                            : st.origin == AOT_ORIGIN_DERIVED ? "derived"
                                                                              : "missing"));
        }
        json_object_set_new(j, "stages", stages);
        json_array_append_new(list, j);
    }
    return list;
}

/* A word as a shell takes it. */
static void add_word(aot_sb *out, const char *s)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+:@%,=";
    aot_sb_addc(out, ' ');
    if (s[0] != 0 && strspn(s, plain) == strlen(s)) {
        aot_sb_addz(out, s);
        return;
    }
    aot_sb_addc(out, '\'');
    for (; *s != 0; s++) {
        if (*s == '\'') {
            aot_sb_addz(out, "'\\''");
        } else {
            aot_sb_addc(out, *s);
        }
    }
    aot_sb_addc(out, '\'');
}

/* What a command needs of the input to be of use. */
typedef enum need {
    NEED_NOTHING, NEED_GRAPH, NEED_DYNAMO, NEED_PARTITION, NEED_CHECK, NEED_NO_SESSION
} need;

/* What the input offers: the first unit and stage to show, and what can be done with all. */
typedef struct offers {
    size_t unit;
    aot_stage stage; /* AOT_N_STAGES: no graph */
    bool dynamo, partition, check, no_session;
} offers;

static offers offers_of(aot_model *m)
{
    static const aot_stage order[] = {AOT_STAGE_FORWARD, AOT_STAGE_JOINT, AOT_STAGE_EXPORT,
                                      AOT_STAGE_INFERENCE, AOT_STAGE_BACKWARD, AOT_STAGE_DYNAMO};
    offers o = {.stage = AOT_N_STAGES, .no_session = true};
    for (size_t i = 0; i < aot_model_n_units(m); i++) {
        for (size_t k = 0; k < sizeof order / sizeof order[0] && o.stage == AOT_N_STAGES; k++) {
            if (aot_model_stage(m, i, order[k]).origin != AOT_ORIGIN_MISSING) {
                o.unit = i;
                o.stage = order[k];
            }
        }
        const aot_unit *u = aot_model_unit(m, i);
        const aot_partition *p = NULL;
        bool cut = aot_model_stage(m, i, AOT_STAGE_JOINT).origin == AOT_ORIGIN_RECORDED &&
                   aot_model_partition(m, i, &p, NULL) == AOT_OK;
        o.dynamo |= aot_unit_stage(u, AOT_STAGE_DYNAMO) != NULL;
        o.partition |= cut;
        o.check |= cut && (aot_unit_stage(u, AOT_STAGE_FORWARD) != NULL ||
                           aot_unit_stage(u, AOT_STAGE_BACKWARD) != NULL);
        o.check |= aot_unit_stage(u, AOT_STAGE_DYNAMO) != NULL &&
                   (aot_unit_stage(u, AOT_STAGE_JOINT) != NULL ||
                    aot_unit_stage(u, AOT_STAGE_INFERENCE) != NULL);
    }
    for (size_t i = 0; i < aot_model_n_files(m); i++) {
        o.no_session &= aot_model_file_at(m, i)->session == NULL;
    }
    return o;
}

static bool is_offered(const offers *o, need n)
{
    switch (n) {
    case NEED_GRAPH:
        return o->stage != AOT_N_STAGES;
    case NEED_DYNAMO:
        return o->dynamo;
    case NEED_PARTITION:
        return o->partition;
    case NEED_CHECK:
        return o->check;
    case NEED_NO_SESSION:
        return o->no_session;
    case NEED_NOTHING:
        break;
    }
    return true;
}

int aot_summary_print(FILE *f, aot_model *m, const aot_args *a)
{
    offers o = offers_of(m);
    char stage[64] = "", picture[96] = "", cut[96];
    if (o.stage != AOT_N_STAGES) {
        const char *name = aot_stage_get(o.stage)->name;
        snprintf(stage, sizeof stage, " --unit %zu --stage %s", o.unit, name);
        snprintf(picture, sizeof picture, " --what graph --unit %zu --stage %s -o G.svg",
                 o.unit, name);
    }
    snprintf(cut, sizeof cut, " --what partition --unit %zu -o P.svg", o.unit);
    const struct {
        const char *command, *rest, *does;
        need needs;
    } next[] = {
        {"show", " --saved", "what is saved for the backward, and why", NEED_PARTITION},
        {"show", stage, "the text of a stage", NEED_GRAPH},
        {"show", " --stage runtime", "the runtime wrappers: mutated inputs, aliases, tangents",
         NEED_DYNAMO},
        {"lint", "", "wrong gradients, lost tags, wasted memory", NEED_PARTITION},
        {"memory", " --fits 24GiB", "peaks, and the budget at which it fits", NEED_PARTITION},
        {"check", "", "derive recorded graphs again and compare", NEED_CHECK},
        {"info", "", "settings, notes, what is missing and how to get it", NEED_NOTHING},
        {"partition", " -o DIR", "forward and backward as files", NEED_PARTITION},
        {"export", o.partition ? cut : picture, "a picture", NEED_GRAPH},
        {"import", " -o S.aots", "keep everything in a session", NEED_NO_SESSION},
    };
    aot_sb words = {0};
    char shown[32];
    for (size_t i = 0; i < a->n_inputs; i++) {
        add_word(&words, aot_cmd_shown_input(a, i, shown, sizeof shown));
    }
    size_t n = aot_model_n_units(m), n_notes = aot_model_n_notes(m);
    fprintf(f, "%zu unit%s", n, n == 1 ? "" : "s");
    if (n_notes > 0) {
        fprintf(f, ", %zu note%s about the input", n_notes, n_notes == 1 ? "" : "s");
    }
    fputs(n > 0 ? "\n\n" : "\n", f);
    if (n > 0) {
        aot_units_print(f, m, false);
    }
    fputs("\nCommands for scripts and pipes (without a terminal there is nothing to browse in):\n",
          f);
    for (size_t i = 0; i < sizeof next / sizeof next[0]; i++) {
        bool takes_one = aot_cmd_find(next[i].command)->max_inputs == 1;
        if (!is_offered(&o, next[i].needs) || (takes_one && a->n_inputs > 1)) {
            continue;
        }
        aot_sb line = {0};
        aot_sb_addf(&line, "  aotscope %s%s%s", next[i].command, aot_sb_text(&words), next[i].rest);
        fprintf(f, "%-60s # %s\n", aot_sb_text(&line), next[i].does);
        aot_sb_free(&line);
    }
    aot_sb_free(&words);
    return 0;
}
