/* The inputs of an exported program: by its graph signature, or by where Dynamo found them.
 *
 *     L['self']._modules['l']._parameters['weight']  ->  p_l_weight: PARAMETER target='l.weight'
 *     L['x']                                         ->  x: USER_INPUT
 *
 * Mirrors torch/_export/utils.py:placeholder_naming_pass. */
#include <jansson.h>
#include <string.h>

#include "capture/capture.h"
#include "session/derive.h"

/* The record graph_signature of a .pt2 archive is JSON; NULL: of other inputs. */
static json_t *signature_of(const aot_unit *u)
{
    const aot_record *r = aot_unit_record(u, "graph_signature");
    return r != NULL && r->text != NULL ? json_loadb(r->text, r->len, 0, NULL) : NULL;
}

/* "BUFFER target='n.running_mean' persistent=True"; NULL: the signature has no such input. Inputs
 * stand in the graph's order, so the search begins at the k-th. */
static const char *entry_of(const json_t *signature, const char *name, size_t k, aot_arena *a)
{
    const json_t *inputs = json_object_get(signature, "inputs");
    size_t n = json_array_size(inputs);
    for (size_t i = 0; i < n; i++) {
        const json_t *x = json_array_get(inputs, (k + i) % n),
                     *persistent = json_object_get(x, "persistent");
        const char *is = json_string_value(json_object_get(x, "name"));
        const char *kind = json_string_value(json_object_get(x, "kind"));
        const char *target = json_string_value(json_object_get(x, "target"));
        if (is == NULL || kind == NULL || strcmp(is, name) != 0) {
            continue;
        }
        return target == NULL ? aot_arena_strndup(a, kind, strlen(kind))
                              : aot_arena_printf(a, "%s target='%s'%s", kind, target,
                                                 persistent == NULL          ? ""
                                                 : json_is_true(persistent) ? " persistent=True"
                                                                            : " persistent=False");
    }
    return NULL;
}

/* The rest of the line "NAME: ..." of the record graph_signature. */
static const char *line_of(const aot_unit *u, const char *name, aot_arena *a)
{
    const aot_record *r = aot_unit_record(u, "graph_signature");
    size_t n = strlen(name);
    for (const char *p = r != NULL ? r->text : NULL; p != NULL && *p != '\0';) {
        const char *end = strchr(p, '\n');
        end = end != NULL ? end : p + strlen(p);
        p += strspn(p, " \t");
        if (strncmp(p, name, n) == 0 && strncmp(p + n, ": ", 2) == 0) {
            return aot_arena_strndup(a, p + n + 2, (size_t)(end - p) - n - 2);
        }
        p = *end != '\0' ? end + 1 : end;
    }
    return NULL;
}

/* Where the first of ._modules['a'], ._parameters['w'] and ._buffers['b'] stands; NULL: nowhere. */
static const char *first_member(const char *source)
{
    static const char *const members[] = {"._modules['", "._parameters['", "._buffers['"};
    const char *first = NULL;
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        const char *p = strstr(source, members[i]);
        first = p != NULL && (first == NULL || p < first) ? p : first;
    }
    return first;
}

/* Joins what stands in brackets from the first member on; whatever holds the module stands before
 * it. */
const char *aot_source_path(aot_sb *out, const char *source)
{
    const char *kind = NULL;
    const char *p = first_member(source);
    while (p != NULL && *p == '.') {
        bool module = strncmp(p, "._modules['", 11) == 0;
        bool param = strncmp(p, "._parameters['", 14) == 0;
        bool buffer = strncmp(p, "._buffers['", 11) == 0;
        if (!module && !param && !buffer) {
            return NULL;
        }
        const char *from = strchr(p, '\'') + 1, *end = strstr(from, "']");
        if (end == NULL) {
            return NULL;
        }
        aot_sb_addz(out, out->n != 0 ? "." : "");
        aot_sb_add(out, from, (size_t)(end - from));
        kind = param ? "PARAMETER" : buffer ? "BUFFER" : NULL;
        p = end + 2;
    }
    return kind;
}

/* Of a module that is a local variable itself, as the one that is exported:
 * L['self']._modules... */
static bool is_of_local(const char *source)
{
    const char *end = strstr(source, "']");
    return end != NULL && end[2] == '.';
}

static void from_source(aot_capture_input *x, const char *source, aot_arena *a)
{
    aot_sb target = {0};
    const char *kind = is_of_local(source) ? aot_source_path(&target, source) : NULL;
    if (kind != NULL) {
        bool param = kind[0] == 'P';
        x->signature = aot_arena_printf(a, "%s target='%s'%s", kind, aot_sb_text(&target),
                                        param ? "" : " persistent=True");
        char *name = aot_arena_printf(a, "%s_%s", param ? "p" : "b", aot_sb_text(&target));
        for (char *p = name; *p != '\0'; p++) {
            *p = *p == '.' ? '_' : *p;
        }
        x->export_name = name;
    } else if (strncmp(source, "L['", 3) == 0 && strcmp(source + strlen(source) - 2, "']") == 0 &&
               strchr(source + 3, '[') == NULL) {
        x->export_name = aot_arena_strndup(a, source + 3, strlen(source) - 5);
    }
    aot_sb_free(&target);
}

void aot_export_inputs(aot_capture_input *in, const aot_unit *u, const aot_graph *g)
{
    json_t *signature = signature_of(u);
    size_t n = 0;
    for (size_t i = 0; i < g->nodes.n; i++) {
        if (g->nodes.d[i].kind != AOT_PLACEHOLDER) {
            continue;
        }
        aot_capture_input *x = &in[n++];
        const char *name = aot_text(g->ctx, g->nodes.d[i].target);
        x->signature = signature != NULL ? entry_of(signature, name, n - 1, g->ctx->arena)
                                         : line_of(u, name, g->ctx->arena);
        const char *source = x->signature == NULL ? aot_input_source(u, name) : NULL;
        if (x->signature != NULL && strncmp(x->signature, "USER_INPUT", 10) == 0) {
            x->signature = NULL;
        } else if (source != NULL) {
            from_source(x, source, g->ctx->arena);
        }
    }
    json_decref(signature);
}
