/* What a unit says about itself, read from its records when it is complete: configuration,
 * ViewAndMutationMeta, cache, writer's version, title, time. Nothing here can fail: a fact that
 * cannot be read stays unknown and is noted. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/str.h"
#include "import/assemble.h"
#include "import/fw_metadata.h"
#include "import/json_scan.h"

static void note(aot_unit *u, uint64_t line, const char *kind, const char *text)
{
    aot_import_note n = {u->input, line, kind, aot_arena_strndup(u->arena, text, strlen(text))};
    aot_vec_push(&u->notes, n);
}

/* Before 2.6 (and in TORCH_LOGS headings) the graph of a unit without gradients is called forward;
 * its arguments are not primals. */
static void fix_inference(aot_slot *slot)
{
    aot_unit *u = slot->u;
    if (aot_unit_stage(u, AOT_STAGE_JOINT) != NULL ||
        aot_unit_stage(u, AOT_STAGE_BACKWARD) != NULL) {
        return;
    }
    for (size_t i = 0; i < u->records.n; i++) {
        aot_record *r = &u->records.d[i];
        if (r->stage == AOT_STAGE_FORWARD && r->text != NULL &&
            memmem(r->text, r->len, "def forward(", 12) != NULL &&
            memmem(r->text, r->len, "primals_", 8) == NULL) {
            r->stage = AOT_STAGE_INFERENCE;
            if (slot->headings) {
                r->name = "aot_inference_graph";
            }
        }
    }
}

static void read_config(aot_unit *u)
{
    const aot_record *r = aot_unit_record(u, "torch._functorch.config");
    if (r == NULL || r->text == NULL || u->config != NULL) {
        return;
    }
    json_error_t e;
    u->config = json_loadb(r->text, r->len, JSON_DECODE_ANY, &e);
    if (!json_is_object(u->config)) {
        json_decref(u->config);
        u->config = NULL;
        note(u, r->line, "damage",
             "torch._functorch.config is not a JSON object: PyTorch's defaults are taken");
    }
}

/* The dump of settings is functorch's; what a cache was asked for names Inductor's too. */
static void read_fallback_random(aot_unit *u)
{
    static const char key[] = "inductor_config[fallback_random]: ";
    for (size_t i = 0; u->config != NULL && i < u->records.n; i++) {
        const aot_record *r = &u->records.d[i];
        bool cache = aot_starts_with(r->name, "aotautograd_cache_") ||
                     aot_starts_with(r->name, "fx_graph_cache_");
        const char *at = cache && r->text != NULL ? strstr(r->text, key) : NULL;
        if (at != NULL) {
            bool on = aot_starts_with(at + sizeof key - 1, "True");
            json_object_set_new(u->config, "fallback_random", json_boolean(on));
            return;
        }
    }
}

/* Counts of a wrapper subclass unit are those of the graph inside. */
static void read_metadata(aot_unit *u)
{
    if (u->fw_metadata == NULL) {
        return;
    }
    aot_fw_metadata m, inner;
    if (!aot_fw_metadata_parse(&m, u->arena, u->fw_metadata, strlen(u->fw_metadata))) {
        const aot_record *r = aot_unit_record(u, "aot_forward_graph_fw_metadata");
        note(u, r != NULL ? r->line : 0, "damage", "the ViewAndMutationMeta text cannot be read");
        return;
    }
    u->static_inputs = m.static_inputs;
    u->n_static_inputs = m.n_static_inputs;
    const aot_record *sub = aot_unit_record(u, "aot_forward_graph_fw_subclass_metadata");
    if (sub == NULL || sub->text == NULL ||
        !aot_fw_metadata_parse(&inner, u->arena, sub->text, sub->len)) {
        inner = m;
    }
    u->n_forward_outputs = inner.n_forward_returns + m.n_tokens;
    if (u->config != NULL && json_is_true(json_object_get(u->config, "functionalize_rng_ops"))) {
        u->n_forward_outputs++; // the offset of the random generator
    }
}

static void read_cache_and_backend(aot_unit *u)
{
    static const struct {
        const char *record, *state;
    } caches[] = {
        {"aotautograd_cache_hit", "hit"},
        {"aotautograd_cache_miss", "miss"},
        {"aotautograd_cache_bypass", "bypass"},
    };
    for (size_t i = 0; i < u->records.n; i++) {
        const char *name = u->records.d[i].name;
        for (size_t k = 0; k < sizeof caches / sizeof *caches && u->cache == NULL; k++) {
            if (strcmp(name, caches[k].record) == 0) {
                u->cache = caches[k].state;
            }
        }
        if (aot_starts_with(name, "inductor_") || aot_starts_with(name, "fx_graph_") ||
            aot_starts_with(name, "before_pre_grad") || aot_starts_with(name, "before_post_grad")) {
            u->backend = "inductor";
        }
    }
}

bool aot_unit_is_torch_file(const char *path)
{
    return aot_starts_with(path, "torch/") || strstr(path, "-packages/torch/") != NULL ||
           strstr(path, "/torch/_dynamo/") != NULL || strstr(path, "/torch/nn/modules/") != NULL;
}

static void read_metrics(aot_unit *u)
{
    const aot_record *r = aot_unit_record(u, "compilation_metrics");
    if (r == NULL || r->meta == NULL) {
        return;
    }
    aot_slice m = {r->meta, strlen(r->meta)}, key, value;
    const char *name = NULL, *file = NULL;
    int64_t line = -1;
    aot_json_iter it;
    aot_json_begin(&it, m);
    while (aot_json_next(&it, &key, &value)) {
        if (aot_slice_is(key, "co_name")) {
            name = aot_json_text(u->arena, value);
        } else if (aot_slice_is(key, "co_filename")) {
            file = aot_json_text(u->arena, value);
        } else if (aot_slice_is(key, "co_firstlineno")) {
            line = aot_json_int(value, -1);
        } else if (aot_slice_is(key, "entire_frame_compile_time_s")) {
            u->seconds = aot_json_double(value, -1);
        } else if (aot_slice_is(key, "pytorch_version") && u->torch_version[0] == '\0') {
            const char *v = aot_json_text(u->arena, value);
            u->torch_version = v != NULL ? v : "";
        }
    }
    bool known = u->title[0] != '\0' && file != NULL && aot_unit_is_torch_file(file);
    if (name != NULL && file != NULL && line >= 0 && !known) {
        u->title = aot_arena_printf(u->arena, "%s %s:%d", name, aot_file_name(file), (int)line);
    }
}

/* "# File: /home/user/model.py:12 in forward, code: ..." above the first node. */
static void title_from_text(aot_unit *u)
{
    static const aot_stage order[] = {AOT_STAGE_DYNAMO, AOT_STAGE_JOINT, AOT_STAGE_INFERENCE,
                                      AOT_STAGE_FORWARD, AOT_STAGE_EXPORT};
    for (size_t i = 0; i < sizeof order / sizeof *order && u->title[0] == '\0'; i++) {
        const aot_record *r = aot_unit_stage(u, order[i]);
        const char *p = r != NULL && r->text != NULL ? strstr(r->text, "# File: ") : NULL;
        if (p == NULL) {
            continue;
        }
        p += strlen("# File: ");
        size_t n = strcspn(p, "\n");
        const char *in = memmem(p, n, " in ", 4);
        const char *comma = in != NULL ? memchr(in, ',', n - (size_t)(in - p)) : NULL;
        if (comma == NULL || comma < in + 4) {
            continue;
        }
        char *place = aot_arena_strndup(u->arena, p, (size_t)(in - p));
        u->title = aot_arena_printf(u->arena, "%.*s %s", (int)(comma - in - 4), in + 4,
                                    aot_file_name(place));
    }
}

static void note_checksums(aot_slot *slot)
{
    if (slot->n_mismatches == 0) {
        return;
    }
    const char *first = slot->mismatch_name;
    char text[300];
    snprintf(text, sizeof text,
             "%u payload%s not have the recorded sum (first: %.100s); edited after capture, or cut",
             slot->n_mismatches, slot->n_mismatches == 1 ? " does" : "s do",
             first != NULL ? first : "?");
    note(slot->u, slot->mismatch_line, "checksum", text);
}

void aot_unit_finish(aot_slot *slot)
{
    aot_unit *u = slot->u;
    fix_inference(slot);
    read_config(u);
    read_fallback_random(u);
    read_metadata(u);
    read_cache_and_backend(u);
    read_metrics(u);
    title_from_text(u);
    note_checksums(slot);
}
