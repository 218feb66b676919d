/* Redacting units: what each part of a unit may keep. */
#include <string.h>

#include "import/trace.h"
#include "pipeline/config.h"
#include "session/check.h"
#include "session/redact_internal.h"

static const char *copy(aot_arena *a, const char *s)
{
    return aot_arena_strndup(a, s, strlen(s));
}

/* ---- records ----------------------------------------------------------------------------------
 */

static void drop_text(aot_record *rec)
{
    rec->text = NULL;
    rec->len = 0;
}

static void set_text(aot_record *rec, const char *text, aot_arena *a)
{
    rec->text = copy(a, text);
    rec->len = strlen(text);
}

/* The settings that aotscope knows, without values that are paths. */
static json_t *known_settings(const json_t *config)
{
    json_t *out = json_object();
    for (size_t i = 0; i < aot_config_count(); i++) {
        const char *name = aot_config_row_at(i)->name;
        json_t *value = json_object_get(config, name);
        const char *s = json_string_value(value);
        if (value != NULL && (s == NULL || strchr(s, '/') == NULL)) {
            json_object_set(out, name, value);
        }
    }
    return out;
}

static void redact_settings(aot_record *rec, aot_arena *a)
{
    json_t *all = rec->text != NULL ? json_loadb(rec->text, rec->len, 0, NULL) : NULL;
    json_t *kept = known_settings(all);
    char *text = json_dumps(kept, JSON_COMPACT);
    set_text(rec, text, a);
    free(text);
    json_decref(kept);
    json_decref(all);
}

/* Names of a .pt2 archive's signature: of values and of attributes. */
static void redact_signature_json(aot_redactor *r, json_t *j)
{
    const char *key;
    json_t *v, *list = json_array();
    size_t i;
    json_array_append(list, j); // what is still to be looked at
    json_array_foreach(list, i, j)
    {
        json_t *item;
        size_t k;
        json_array_foreach(j, k, item)
        {
            json_array_append(list, item);
        }
        json_object_foreach(j, key, v)
        {
            const char *s = json_string_value(v);
            bool name =
                strcmp(key, "name") == 0 || strcmp(key, "target") == 0 || strcmp(key, "model") == 0;
            if (name && s != NULL) {
                json_string_set(v, red_repr(r, s, strlen(s), NULL, NULL));
            } else if (s == NULL) {
                json_array_append(list, v);
            }
        }
    }
    json_decref(list);
}

static void redact_signature(aot_redactor *r, aot_record *rec, aot_arena *a)
{
    json_t *j = rec->text != NULL ? json_loadb(rec->text, rec->len, 0, NULL) : NULL;
    if (j == NULL) {
        set_text(rec, red_repr(r, rec->text != NULL ? rec->text : "", rec->len, NULL, NULL), a);
        return;
    }
    redact_signature_json(r, j);
    char *text = json_dumps(j, JSON_INDENT(1));
    set_text(rec, text, a);
    free(text);
    json_decref(j);
}

/* Of a header, the place in PyTorch that logged it: it tells the version. */
static const char *place_in_torch(const char *header, aot_arena *a)
{
    json_t *all = header != NULL ? json_loads(header, 0, NULL) : NULL;
    const char *place = json_string_value(json_object_get(all, "place"));
    bool stays = place != NULL && aot_starts_with(place, "torch/") && strstr(place, "..") == NULL;
    const char *kept = stays ? aot_arena_printf(a, "{\"place\": \"%s\"}", place) : NULL;
    json_decref(all);
    return kept;
}

void aot_redact_record(aot_redactor *r, aot_record *rec, aot_arena *a)
{
    rec->meta = place_in_torch(rec->meta, a);
    if (rec->stage < AOT_N_STAGES) {
        if (!red_graph(r, rec, a)) {
            drop_text(rec);
        }
    } else if (aot_ends_with(rec->name, "_fw_metadata") && rec->text != NULL) {
        set_text(rec, red_repr(r, rec->text, rec->len, NULL, NULL), a);
    } else if (strcmp(rec->name, "torch._functorch.config") == 0) {
        redact_settings(rec, a);
    } else if (strcmp(rec->name, "graph_signature") == 0) {
        redact_signature(r, rec, a);
    } else if (strcmp(rec->name, "aotscope_op_schema") == 0 && rec->text != NULL) {
        set_text(rec, red_schema(r, rec->text, rec->len), a);
    } else {
        drop_text(rec);
    }
}

/* ---- units ------------------------------------------------------------------------------------
 */

/* "forward model.py:12" */
static const char *new_title(aot_redactor *r, const char *title, aot_arena *a)
{
    const char *space = strrchr(title, ' '), *colon = strrchr(title, ':');
    if (space == NULL || colon == NULL || colon < space) {
        return title[0] == 0 ? "" : red_function(r, title, strlen(title));
    }
    const char *file = aot_arena_strndup(a, space + 1, (size_t)(colon - space) - 1);
    return aot_arena_printf(a, "%s %s%s", red_function(r, title, (size_t)(space - title)),
                            red_file(r, file), colon);
}

void aot_redact_note(aot_redactor *r, aot_import_note *n)
{
    n->file = n->file != NULL ? aot_redact_input(r, n->file) : NULL;
    n->text = "(redacted)";
}

/* Records whose name is PyTorch's, or aotscope's: artifacts may be called anything. */
static bool named_record(const aot_record *rec)
{
    static const char *const names[] = {
        "dynamo_start", "torch._functorch.config", "graph_signature",          "aotscope_op_schema",
        "dynamo_error", "fx_interpreter_error",    "dynamo_graph_break_reason"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(rec->name, names[i]) == 0) {
            return true;
        }
    }
    return rec->stage < AOT_N_STAGES || aot_ends_with(rec->name, "_fw_metadata") ||
           aot_record_kind_find(rec->name, strlen(rec->name)) != NULL;
}

/* Facts that were read from records; sources first, since placeholders are named after them. */
static void redact_facts(aot_redactor *r, aot_unit *u)
{
    for (size_t i = 0; i < u->inputs.n; i++) {
        aot_input_desc *d = &u->inputs.d[i];
        d->source = d->source != NULL ? copy(u->arena, red_source(r, d->source)) : NULL;
    }
    for (size_t i = 0; i < u->symbols.n; i++) {
        aot_symbol *s = &u->symbols.d[i];
        s->source = s->source != NULL ? copy(u->arena, red_source(r, s->source)) : NULL;
    }
    for (size_t i = 0; i < u->notes.n; i++) {
        aot_redact_note(r, &u->notes.d[i]);
        u->notes.d[i].file = u->notes.d[i].file != NULL ? copy(u->arena, u->notes.d[i].file) : NULL;
    }
    for (size_t i = u->set.n; i-- > 0;) {
        if (strchr(u->set.d[i], '/') != NULL) {
            memmove(&u->set.d[i], &u->set.d[i + 1], (--u->set.n - i) * sizeof *u->set.d);
        }
    }
}

void aot_redact_unit(aot_redactor *r, aot_unit *u)
{
    size_t n = 0;
    u->input = copy(u->arena, aot_redact_input(r, u->input));
    u->title = copy(u->arena, new_title(r, u->title, u->arena));
    redact_facts(r, u);
    u->backend =
        aot_unit_is_inductors(u) ? "inductor" : u->backend; // artifacts that tell so may go
    if (u->config != NULL) {
        json_t *kept = known_settings(u->config);
        json_decref(u->config);
        u->config = kept;
    }
    if (u->fw_metadata != NULL) {
        u->fw_metadata =
            copy(u->arena, red_repr(r, u->fw_metadata, strlen(u->fw_metadata), NULL, NULL));
    }
    for (size_t i = 0; i < u->records.n; i++) { // what values are called, before they are met
        aot_record copied = u->records.d[i];
        if (strcmp(copied.name, "graph_signature") == 0) {
            aot_redact_record(r, &copied, u->arena);
        }
    }
    for (size_t i = 0; i < u->records.n; i++) {
        if (named_record(&u->records.d[i])) {
            aot_redact_record(r, &u->records.d[i], u->arena);
            u->records.d[n++] = u->records.d[i];
        }
    }
    u->records.n = n;
}
