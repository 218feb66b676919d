/* One exported program of an archive: checks that the text is JSON of a schema that can be read,
 * builds the graph, prints it, and makes the unit:
 *
 *   exported_program       the stage export: the graph module, strides and devices in its types
 *   exported_program_text  artifact: str(ep) as PyTorch prints it, types without them
 *   graph_signature        artifact, JSON: inputs, outputs, ranges, calling convention, guards
 *
 * The texts are those of the program that was saved, byte for byte.
 * Mirrors: torch/_export/serde/serialize.py:ExportedProgramDeserializer, and
 * torch/export/exported_program.py:ExportedProgram.__str__.
 * Differs where the archive does not tell: get_attr nodes are called after their module and have
 * the comment of the node that takes them, tuples within annotations are lists, and a symbolic
 * number that is constant has no type. torch.export.load loses the same. */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/json_check.h"
#include "import/pt2.h"
#include "ir/text.h"

/* ---- errors and fields --------------------------------------------------------------------- */

bool aot_pt2_fail(aot_pt2_program *p, const char *field, const char *fmt, ...)
{
    char text[400];
    if (p->status != AOT_OK) {
        return false;
    }
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    const char *graph = p->depth > 0 ? aot_text(p->ctx, p->g->attr_name) : "";
    p->status = AOT_FAIL(p->err, AOT_E_FORMAT, "%s: %s%.60s%s%s%s%s%s%s", p->member,
                         graph[0] != '\0' ? "subgraph " : "", graph, graph[0] != '\0' ? ": " : "",
                         p->at, p->at[0] != '\0' && field[0] != '\0' ? "." : "", field,
                         p->at[0] != '\0' || field[0] != '\0' ? ": " : "", text);
    return false;
}

void aot_pt2_note(aot_pt2_program *p, const char *kind, const char *fmt, ...)
{
    char text[500];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    p->run->stats->damaged_records += strcmp(kind, "damage") == 0;
    aot_assemble_note(p->run->units, p->slot, 0, kind, "%s", text);
}

static const char *kind_name(char kind)
{
    return kind == '{'   ? "an object"
           : kind == '[' ? "a list"
           : kind == '"' ? "a string"
           : kind == '0' ? "a number"
                         : "true or false";
}

static char kind_of(aot_slice v)
{
    char c = v.s[0];
    return c == '{' || c == '[' || c == '"'        ? c
           : c == '-' || isdigit((unsigned char)c) ? '0'
           : c == 'n'                              ? 'n'
                                                   : 'b';
}

bool aot_pt2_field(aot_pt2_program *p, aot_slice object, const char *key, char kind, aot_slice *out)
{
    *out = aot_json_get(object, key);
    if (out->s == NULL) {
        return aot_pt2_fail(p, key, "the field is missing");
    }
    if (kind_of(*out) != kind) {
        return aot_pt2_fail(p, key, "expected %s, found %.*s", kind_name(kind),
                            (int)(out->n < 60 ? out->n : 60), out->s);
    }
    return true;
}

bool aot_pt2_union(aot_pt2_program *p, aot_slice v, const char *field, aot_slice *key,
                   aot_slice *value)
{
    aot_json_iter it;
    aot_slice k, more;
    aot_json_begin(&it, v);
    if (it.object && aot_json_next(&it, key, value) && !aot_json_next(&it, &k, &more)) {
        return true;
    }
    return aot_pt2_fail(p, field, "expected an object with one key, found %.*s",
                        v.s == NULL ? 7 : (int)(v.n < 60 ? v.n : 60),
                        v.s == NULL ? "nothing" : v.s);
}

const char *aot_pt2_string(aot_pt2_program *p, aot_slice v, const char *field)
{
    if (v.s == NULL || v.s[0] != '"') {
        aot_pt2_fail(p, field, "expected a string, found %.*s",
                     v.s == NULL ? 7 : (int)(v.n < 60 ? v.n : 60), v.s == NULL ? "nothing" : v.s);
        return "";
    }
    return aot_json_text(p->arena, v);
}

bool aot_pt2_is_identifier(const char *s)
{
    if (s[0] == '\0' || isdigit((unsigned char)s[0])) {
        return false;
    }
    for (; *s != '\0'; s++) {
        if (!isalnum((unsigned char)*s) && *s != '_' && (unsigned char)*s < 128) {
            return false;
        }
    }
    return true;
}

/* ---- the program --------------------------------------------------------------------------- */

static bool check_json(aot_pt2_program *p)
{
    size_t at;
    const char *expected;
    if (aot_json_check(p->json.s, p->json.n, &at, &expected)) {
        return p->json.s[strspn(p->json.s, " \n\r\t")] == '{' ||
               aot_pt2_fail(p, "", "it is JSON, but no exported program");
    }
    const char *line = p->json.s;
    unsigned number = 1;
    for (const char *c = p->json.s; c < p->json.s + at; c++) {
        if (*c == '\n') {
            number++;
            line = c + 1;
        }
    }
    return aot_pt2_fail(p, "",
                        "it is not JSON: line %u, column %zu: expected %s; the archive was cut or "
                        "changed: export and save it again",
                        number, (size_t)(p->json.s + at - line) + 1, expected);
}

static bool check_version(aot_pt2_program *p)
{
    aot_slice v, major, minor;
    if (!aot_pt2_field(p, p->json, "schema_version", '{', &v) ||
        !aot_pt2_field(p, v, "major", '0', &major) || !aot_pt2_field(p, v, "minor", '0', &minor)) {
        return false;
    }
    int64_t a = aot_json_int(major, -1), b = aot_json_int(minor, -1);
    p->major = a < 0 || a > 100000 ? 100000 : (unsigned)a;
    p->minor = b < 0 || b > 100000 ? 100000 : (unsigned)b;
    const char *torch = aot_json_text(p->arena, aot_json_get(p->json, "torch_version"));
    if (p->major > AOT_PT2_SCHEMA_MAJOR) {
        return aot_pt2_fail(p, "schema_version",
                            "%u.%u (PyTorch %.40s) is newer than %d.%d, which PyTorch 2.11 writes: "
                            "save the program with PyTorch "
                            "2.11, or print it (print(ep)) into a text file and open that",
                            p->major, p->minor, torch != NULL ? torch : "?", AOT_PT2_SCHEMA_MAJOR,
                            AOT_PT2_SCHEMA_MINOR);
    }
    return true;
}

/* The lines of a text, indented, as print(ep) shows the module. */
static void add_indented(aot_sb *out, const aot_sb *text)
{
    for (size_t at = 0; at < text->n;) {
        const char *nl = memchr(text->d + at, '\n', text->n - at);
        size_t n = nl != NULL ? (size_t)(nl - text->d) - at : text->n - at;
        aot_sb_addz(out, "    ");
        aot_sb_add(out, text->d + at, n);
        aot_sb_addc(out, '\n');
        at += n + 1;
    }
    aot_sb_addz(out, "    \n");
}

/* str(ep). */
static void program_text(aot_sb *out, const aot_graph *g, const aot_sb *signature)
{
    aot_sb graph = {0};
    aot_print_graph(&graph, g, AOT_PRINT_PLAIN);
    aot_sb_addz(out, "ExportedProgram:\n");
    add_indented(out, &graph);
    aot_sb_add(out, signature->d, signature->n);
    aot_sb_free(&graph);
}

/* What is printed must be readable: names and types came from outside. */
static bool reads_back(aot_pt2_program *p, const aot_sb *text)
{
    aot_err err = {0};
    aot_ctx *c = aot_ctx_new();
    aot_graph *g;
    bool ok = aot_parse_graph(&g, c, text->d, text->n, 1, &err) == AOT_OK;
    aot_ctx_free(c);
    return ok ||
           aot_pt2_fail(p, "", "the graph holds something that cannot be printed: line %u: %s",
                        err.at.line, err.msg);
}

static void add_record(aot_pt2_program *p, const char *name, aot_stage stage, bool json,
                       const char *s, size_t n)
{
    aot_record r = {.name = name,
                    .text = s,
                    .len = n,
                    .line = 0,
                    .stage = stage,
                    .is_artifact = stage == AOT_N_STAGES,
                    .is_json = json};
    p->run->stats->records++;
    aot_assemble_record(p->run->units, p->slot, &p->slot->u->key, &r);
}

static void make_unit(aot_pt2_program *p, const aot_sb *text, const aot_sb *plain,
                      json_t *signature)
{
    aot_unit *u = p->slot->u;
    const char *version = aot_json_text(p->arena, aot_json_get(p->json, "torch_version"));
    char *json = json_dumps(signature, JSON_INDENT(1));
    if (version != NULL) {
        u->torch_version = aot_arena_strndup(u->arena, version, strlen(version));
    }
    if (strcmp(p->model, "model") != 0) {
        u->title = aot_arena_strndup(u->arena, p->model, strlen(p->model));
    }
    add_record(p, "exported_program", AOT_STAGE_EXPORT, false, text->d, text->n);
    add_record(p, "exported_program_text", AOT_N_STAGES, false, plain->d, plain->n);
    if (json != NULL) {
        add_record(p, "graph_signature", AOT_N_STAGES, true, json, strlen(json));
    }
    free(json);
}

static aot_status read_program(aot_pt2_program *p, aot_sb *text, aot_sb *plain, aot_sb *sig_text)
{
    aot_slice module, graph, signature, ranges;
    if (!check_json(p) || !check_version(p) ||
        !aot_pt2_field(p, p->json, "graph_module", '{', &module) ||
        !aot_pt2_field(p, module, "graph", '{', &graph) ||
        !aot_pt2_field(p, module, "signature", '{', &signature) ||
        !aot_pt2_field(p, p->json, "range_constraints", '{', &ranges)) {
        return p->status;
    }
    p->input_specs = aot_json_get(signature, "input_specs");
    aot_graph *g = aot_pt2_graph(p, graph);
    if (g == NULL) {
        return p->status;
    }
    p->depth = 0;
    p->g = g;
    aot_pt2_signature_text(p, sig_text, signature, ranges);
    aot_print_graph(text, g, AOT_PRINT_PLAIN);
    if (p->status != AOT_OK || !reads_back(p, text)) {
        return p->status;
    }
    aot_unit_key key = {p->run->file_rank, -1, -1, -1, -1, 0};
    p->slot = aot_assemble_slot(p->run->units, 0, &key, AOT_JOIN_GRAPH, AOT_STAGE_EXPORT, -1, 0);
    json_t *j = aot_pt2_signature_json(p, signature, ranges, g);
    aot_pt2_describe(p, p->slot->u, signature, ranges, g);
    aot_pt2_graph_plain(p);
    program_text(plain, g, sig_text);
    make_unit(p, text, plain, j);
    json_decref(j);
    if (p->major != AOT_PT2_SCHEMA_MAJOR) {
        aot_pt2_note(p, "info",
                     "%s: schema %u.%u is older than %d.%d: read by the rules of PyTorch 2.11",
                     p->member, p->major, p->minor, AOT_PT2_SCHEMA_MAJOR, AOT_PT2_SCHEMA_MINOR);
    }
    return p->status;
}

aot_status aot_pt2_program_read(aot_pt2_program *p)
{
    aot_sb text = {0}, plain = {0}, signature = {0};
    p->arena = aot_arena_new();
    p->ctx = aot_ctx_new();
    read_program(p, &text, &plain, &signature);
    aot_sb_free(&text);
    aot_sb_free(&plain);
    aot_sb_free(&signature);
    aot_vec_free(&p->bindings);
    aot_vec_free(&p->tops);
    aot_vec_free(&p->jobs);
    aot_vec_free(&p->plain_of);
    aot_vec_free(&p->stack);
    aot_vec_free(&p->symbols);
    aot_vec_free(&p->equations);
    aot_vec_free(&p->symbol_of);
    aot_ctx_free(p->ctx);
    aot_arena_free(p->arena);
    return p->status;
}
