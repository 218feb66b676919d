/* Plain graph text: what print_readable wrote, or a part of a log without its headings, possibly
 * several graphs, with "# aotscope:" directives (directives.c) before or inside them.
 *
 * What a graph is a stage of is found from its heading, or from the text itself:
 *   tree_flatten_spec, or primals and tangents with the user's outputs   joint
 *   tangents otherwise                                                    backward
 *   primals                                                               forward
 *   arg0_1, or only torch.ops calls                                       inference
 *   anything else                                                         dynamo */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/block.h"
#include "import/directives.h"
#include "import/importer.h"

typedef struct directive {
    char *text;
    uint64_t line;
} directive;

typedef struct text_run {
    aot_import_run *run;
    AOT_VEC(directive) pending; /* for the unit of the next graph */
    aot_slot *slot;             /* of the last graph */
    aot_stage previous;
    bool export_heading;        /* "ExportedProgram:" stood before */
    aot_sb clean;
    aot_status status;
    aot_err *err;
} text_run;

/* Of a mail or an issue that quotes a graph: "> " before each line, once or more. */
static size_t quote(const char *s, size_t n)
{
    size_t at = 0;
    while (at < n && s[at] == '>') {
        at += at + 1 < n && s[at + 1] == ' ' ? 2 : 1;
    }
    return at;
}

static bool graph_line(const char *s, size_t n)
{
    size_t at, quoted = quote(s, n);
    s += quoted;
    n -= quoted;
    if (aot_block_is_class(s, n, &at)) {
        return true;
    }
    while (n > 0 && (*s == ' ' || *s == '\t')) {
        s++;
        n--;
    }
    return n > 12 && memcmp(s, "def forward(", 12) == 0;
}

bool aot_text_sniff(const char *data, size_t n)
{
    return aot_import_any_line(data, n, graph_line);
}

/* ---- which stage --------------------------------------------------------------------------- */

static bool has(const char *s, size_t n, const char *what)
{
    return memmem(s, n, what, strlen(what)) != NULL;
}

static aot_stage stage_of_heading(const char *heading)
{
    static const struct {
        const char *word;
        aot_stage stage;
    } words[] = {
        {"joint", AOT_STAGE_JOINT},          {"backward", AOT_STAGE_BACKWARD},
        {"inference", AOT_STAGE_INFERENCE},  {"forward", AOT_STAGE_FORWARD},
        {"__compiled_fn", AOT_STAGE_DYNAMO}, {"dynamo", AOT_STAGE_DYNAMO},
        {"export", AOT_STAGE_EXPORT},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcasestr(heading, words[i].word) != NULL) {
            return words[i].stage;
        }
    }
    return AOT_N_STAGES;
}

/* A parameter of the form arg0_1. */
static bool has_numbered_arg(const char *s, size_t n)
{
    const char *p = s;
    while ((p = memmem(p, n - (size_t)(p - s), "arg", 3)) != NULL) {
        p += 3;
        const char *d = p;
        while (d < s + n && isdigit((unsigned char)*d)) {
            d++;
        }
        if (d > p && d < s + n && *d == '_') {
            return true;
        }
    }
    return false;
}

aot_stage aot_import_stage_of_text(const char *s, size_t n, aot_stage previous)
{
    const char *def = memmem(s, n, "def forward(", 12);
    size_t from = def != NULL ? (size_t)(def - s) : 0;
    const char *end = memmem(s + from, n - from, "):\n", 3);
    if (end == NULL) {
        end = memmem(s + from, n - from, ":\n", 2);
    }
    const char *head = s + from;
    size_t head_n = end != NULL ? (size_t)(end - head) : n - from;
    if (has(s, n, "tree_flatten_spec([primals")) {
        return AOT_STAGE_JOINT;
    }
    if (has(head, head_n, "tangents_")) {
        const char *ret = memmem(s, n, "return ", 7);
        size_t ret_n = ret != NULL ? n - (size_t)(ret - s) : 0;
        bool outputs = ret != NULL && has(ret, ret_n, "# PlainAOTOutput(");
        size_t top = n < 200 ? n : 200;
        bool joint_name = has(s, top, "joint") || has(s, top, "inner_f");
        return outputs || (joint_name && previous != AOT_STAGE_FORWARD) ? AOT_STAGE_JOINT
                                                                            : AOT_STAGE_BACKWARD;
    }
    if (has(head, head_n, "primals_")) {
        return AOT_STAGE_FORWARD;
    }
    if (has_numbered_arg(head, head_n)) {
        return AOT_STAGE_INFERENCE;
    }
    bool user_names = has(head, head_n, "L_") || has(head, head_n, "l_");
    bool torch_level = has(s, n, " = torch.nn.") || has(s, n, " = torch._C.") ||
                       !has(s, n, " = torch.ops.");
    return user_names || torch_level ? AOT_STAGE_DYNAMO : AOT_STAGE_INFERENCE;
}

/* ---- graphs and directives ----------------------------------------------------------------- */

static void apply_pending(text_run *t)
{
    char why[200];
    for (size_t i = 0; i < t->pending.n; i++) {
        directive *d = &t->pending.d[i];
        if (t->slot == NULL) {
            aot_assemble_note(t->run->units, NULL, d->line, "skipped",
                              "the directive belongs to no graph: %.200s", d->text);
        } else if (!aot_directive_apply(t->slot->u, d->text, why, sizeof why)) {
            t->run->stats->damaged_records++;
            aot_assemble_note(t->run->units, t->slot, d->line, "damage",
                              "directive not understood: %.200s (%.190s)", d->text, why);
        } else {
            aot_record r = {.name = "directive", .text = d->text, .len = strlen(d->text),
                            .line = d->line, .stage = AOT_N_STAGES};
            aot_assemble_record(t->run->units, t->slot, &t->slot->u->key, &r);
        }
        free(d->text);
    }
    t->pending.n = 0;
}

static const char *record_name(aot_stage s)
{
    const char *name = aot_stage_get(s)->log_name;
    return name != NULL ? name : "graph";
}

static void on_graph(void *arg, aot_block *b)
{
    text_run *t = arg;
    aot_unit_key key = {t->run->file_rank, -1, -1, -1, -1, 0};
    const char *text = b->text.d;
    size_t n = b->text.n;
    aot_sb_clear(&t->clean);
    size_t bad = aot_import_clean(&t->clean, text, n);
    if (bad > 0) {
        text = aot_sb_text(&t->clean);
        n = t->clean.n;
    }
    aot_stage stage = t->export_heading ? AOT_STAGE_EXPORT : stage_of_heading(b->heading);
    if (stage == AOT_N_STAGES || (stage == AOT_STAGE_FORWARD && has_numbered_arg(text, n) &&
                                  !has(text, n, "primals_"))) {
        stage = stage == AOT_N_STAGES ? aot_import_stage_of_text(text, n, t->previous)
                                      : AOT_STAGE_INFERENCE;
    }
    t->export_heading = false;
    t->run->stats->records++;
    t->slot = NULL; // may be handed out now; later directives belong to this graph's unit
    if (t->status == AOT_OK) {
        t->status = aot_assemble_deliver(t->run->units, false, t->err);
    }
    t->slot = aot_assemble_slot(t->run->units, 0, &key, AOT_JOIN_GRAPH, stage, -1, b->line);
    t->previous = stage;
    if (t->slot == NULL) {
        return;
    }
    t->slot->headings = true;
    if (bad > 0) {
        t->run->stats->damaged_records++;
        aot_assemble_note(t->run->units, t->slot, b->line, "damage",
                          "%zu byte%s no text and shown as U+FFFD", bad,
                          bad == 1 ? " is" : "s are");
    }
    if (b->state == AOT_BLOCK_BODY || b->open_return) {
        t->run->stats->damaged_records++;
        aot_assemble_note(t->run->units, t->slot, b->line, "damage",
                          "the graph that starts here breaks off before its return");
    }
    aot_record r = {.name = record_name(stage), .text = text, .len = n, .line = b->line,
                    .stage = stage};
    aot_assemble_record(t->run->units, t->slot, &key, &r);
    apply_pending(t);
}

static bool is_export_heading(const char *s, size_t n)
{
    while (n > 0 && isspace((unsigned char)s[n - 1])) {
        n--;
    }
    return n == 16 && memcmp(s, "ExportedProgram:", 16) == 0;
}

aot_status aot_text_read(aot_import_run *run, aot_err *err)
{
    text_run t = {.run = run, .err = err, .previous = AOT_N_STAGES};
    aot_block b = {.arg = &t, .on_graph = on_graph, .bare_def = true};
    aot_line l;
    while (t.status == AOT_OK && aot_import_line(run, &l)) {
        size_t n, quoted = quote(l.s, l.n);
        l.s += quoted;
        l.n -= quoted;
        const char *d = aot_directive_of(l.s, l.n, &n);
        if (d != NULL) {
            directive dir = {NULL, l.number};
            aot_sb sb = {0};
            dir.text = aot_import_clean(&sb, d, n) > 0 ? aot_xstrdup(aot_sb_text(&sb))
                                                       : aot_xstrndup(d, n);
            aot_sb_free(&sb);
            aot_vec_push(&t.pending, dir);
        } else {
            aot_block_line(&b, l.s, l.n, l.number);
            if (is_export_heading(l.s, l.n)) {
                t.export_heading = true;
            }
        }
    }
    if (t.status == AOT_OK) {
        aot_block_end(&b);
        apply_pending(&t); // those after the last graph
    }
    for (size_t i = 0; i < t.pending.n; i++) {
        free(t.pending.d[i].text);
    }
    aot_vec_free(&t.pending);
    aot_block_free(&b);
    aot_sb_free(&t.clean);
    return t.status;
}
