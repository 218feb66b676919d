/* Records of a trace log that become fields of a unit: inputs (describe_storage, describe_tensor,
 * describe_source), symbols (create_symbol), interned strings, the user's function.
 *
 * PyTorch describes a tensor in three records: its storage (once), itself, and then where it comes
 * from; ids are those of one describer, so (describer, id) names a tensor within a process.
 * Mirrors: torch/_subclasses/meta_utils.py, symbolic_shapes.py:create_symbol (the writers). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "import/trace.h"

enum { MAX_STRING_ID = 1 << 20, MAX_STORAGES = 1 << 16 };

void aot_trace_facts_free(aot_trace_facts *f)
{
    for (size_t i = 0; i < f->strings.n; i++) {
        for (size_t k = 0; k < f->strings.d[i].text.n; k++) {
            free(f->strings.d[i].text.d[k]);
        }
        aot_vec_free(&f->strings.d[i].text);
    }
    aot_vec_free(&f->strings);
    aot_vec_free(&f->storages);
}

bool aot_trace_is_string(const aot_slice *name)
{
    return aot_slice_is(*name, "str") || aot_slice_is(*name, "string_table");
}

/* ---- strings ------------------------------------------------------------------------------- */

static aot_trace_strings *strings_of(aot_trace_facts *f, int rank)
{
    for (size_t i = 0; i < f->strings.n; i++) {
        if (f->strings.d[i].rank == rank) {
            return &f->strings.d[i];
        }
    }
    aot_trace_strings s = {.rank = rank};
    aot_vec_push(&f->strings, s);
    return &f->strings.d[f->strings.n - 1];
}

static void set_string(aot_trace_strings *s, int64_t id, aot_slice value)
{
    if (id < 0 || id >= MAX_STRING_ID) {
        return;
    }
    while (s->text.n <= (size_t)id) {
        aot_vec_push(&s->text, NULL);
    }
    aot_arena *a = aot_arena_new();
    const char *text = aot_json_text(a, value);
    free(s->text.d[id]);
    s->text.d[id] = text != NULL ? aot_xstrdup(text) : NULL;
    aot_arena_free(a);
}

/* {"str": ["path", 3]}; tables: {"string_table": ["a", "b"]} or {"string_table": {"3": "a"}} */
static void read_strings(aot_trace_facts *f, int rank, aot_slice name, aot_slice meta)
{
    aot_trace_strings *s = strings_of(f, rank);
    aot_json_iter it;
    aot_slice key, value, first = {NULL, 0};
    int64_t n = 0;
    aot_json_begin(&it, meta);
    while (aot_json_next(&it, &key, &value)) {
        if (aot_slice_is(name, "str")) {
            if (n++ == 0) {
                first = value;
            } else {
                set_string(s, aot_json_int(value, -1), first);
            }
        } else {
            set_string(s, it.object ? aot_json_int(key, -1) : n, value);
            n++;
        }
    }
}

/* A file name that is a number is the id of an interned string. */
static const char *file_name(aot_trace_facts *f, int rank, aot_arena *a, aot_slice v)
{
    if (v.s == NULL || v.n == 0 || v.s[0] == '"') {
        return aot_json_text(a, v);
    }
    int64_t id = aot_json_int(v, -1);
    const aot_trace_strings *s = strings_of(f, rank);
    return id >= 0 && (size_t)id < s->text.n ? s->text.d[id] : NULL;
}

/* ---- inputs -------------------------------------------------------------------------------- */

/* "device(type='cuda', index=0)" -> "cuda:0"; anything else as it is. */
static const char *device_name(aot_arena *a, const char *repr)
{
    const char *type = repr != NULL ? strstr(repr, "type='") : NULL;
    if (type == NULL) {
        return repr != NULL ? repr : "";
    }
    type += 6;
    int n = (int)strcspn(type, "'");
    const char *index = strstr(type, "index=");
    return index != NULL ? aot_arena_printf(a, "%.*s:%d", n, type, atoi(index + 6))
                         : aot_arena_strndup(a, type, (size_t)n);
}

static int small(aot_slice v)
{
    int64_t x = aot_json_int(v, -1);
    return x >= 0 && x < 1 << 30 ? (int)x : -1;
}

static void read_storage(aot_trace_facts *f, int rank, aot_slice meta)
{
    aot_trace_storage s = {.rank = rank, .describer = -1, .id = -1, .bytes = -1};
    aot_json_iter it;
    aot_slice key, value;
    aot_json_begin(&it, meta);
    while (aot_json_next(&it, &key, &value)) {
        if (aot_slice_is(key, "id")) {
            s.id = small(value);
        } else if (aot_slice_is(key, "describer_id")) {
            s.describer = small(value);
        } else if (aot_slice_is(key, "size")) {
            s.bytes = aot_json_int(value, -1); // a symbol's size is text: unknown
        }
    }
    if (f->storages.n >= MAX_STORAGES) { // those of compiles long past
        f->storages.n = MAX_STORAGES / 2;
        memmove(f->storages.d, f->storages.d + MAX_STORAGES / 2,
                f->storages.n * sizeof *f->storages.d);
    }
    aot_vec_push(&f->storages, s);
}

static int64_t storage_bytes(const aot_trace_facts *f, int rank, int describer, int id)
{
    for (size_t i = f->storages.n; i > 0; i--) {
        const aot_trace_storage *s = &f->storages.d[i - 1];
        if (s->id == id && s->describer == describer && s->rank == rank) {
            return s->bytes;
        }
    }
    return -1;
}

static void read_tensor(aot_trace_facts *f, aot_unit *u, int rank, aot_slice meta)
{
    aot_arena *a = u->arena;
    aot_input_desc d = {.source = "", .dtype = "", .device = "", .size = "[]", .stride = "[]",
                        .describer = -1, .tensor = -1, .storage = -1, .storage_bytes = -1};
    aot_json_iter it;
    aot_slice key, value;
    aot_json_begin(&it, meta);
    while (aot_json_next(&it, &key, &value)) {
        if (aot_slice_is(key, "id")) {
            d.tensor = small(value);
        } else if (aot_slice_is(key, "describer_id")) {
            d.describer = small(value);
        } else if (aot_slice_is(key, "dtype")) {
            d.dtype = aot_json_text(a, value);
        } else if (aot_slice_is(key, "device")) {
            d.device = device_name(a, aot_json_text(a, value));
        } else if (aot_slice_is(key, "size")) {
            d.size = aot_arena_strndup(a, value.s, value.n);
        } else if (aot_slice_is(key, "stride")) {
            d.stride = aot_arena_strndup(a, value.s, value.n);
        } else if (aot_slice_is(key, "storage")) {
            d.storage = small(value);
        } else if (aot_slice_is(key, "storage_offset")) {
            d.offset = aot_json_int(value, 0);
        } else if (aot_slice_is(key, "requires_grad")) {
            d.requires_grad = aot_json_true(value);
        } else if (aot_slice_is(key, "is_leaf")) {
            d.is_leaf = aot_json_true(value);
        } else if (aot_slice_is(key, "is_parameter")) {
            d.is_parameter = aot_json_true(value);
        } else if (aot_slice_is(key, "is_view")) {
            d.is_view = aot_json_true(value);
        }
    }
    d.dtype = d.dtype != NULL ? d.dtype : "";
    d.storage_bytes = storage_bytes(f, rank, d.describer, d.storage);
    aot_vec_push(&u->inputs, d);
}

static void read_source(aot_unit *u, aot_slice meta)
{
    int describer = -1, id = -1;
    aot_slice source = {NULL, 0}, key, value;
    aot_json_iter it;
    aot_json_begin(&it, meta);
    while (aot_json_next(&it, &key, &value)) {
        if (aot_slice_is(key, "describer_id")) {
            describer = small(value);
        } else if (aot_slice_is(key, "id")) {
            id = small(value);
        } else if (aot_slice_is(key, "source")) {
            source = value;
        }
    }
    for (size_t i = u->inputs.n; i > 0; i--) {
        aot_input_desc *d = &u->inputs.d[i - 1];
        if (d->tensor == id && d->describer == describer) {
            const char *s = aot_json_text(u->arena, source);
            d->source = s != NULL ? s : "";
            return;
        }
    }
}

/* ---- symbols ------------------------------------------------------------------------------- */

static void read_symbol(aot_unit *u, aot_slice meta)
{
    aot_symbol s = {.name = "", .source = "", .range = ""};
    aot_json_iter it;
    aot_slice key, value;
    aot_json_begin(&it, meta);
    while (aot_json_next(&it, &key, &value)) {
        const char **to = aot_slice_is(key, "symbol")   ? &s.name
                          : aot_slice_is(key, "source") ? &s.source
                          : aot_slice_is(key, "vr")     ? &s.range
                                                        : NULL;
        if (to != NULL) {
            const char *text = aot_json_text(u->arena, value);
            *to = text != NULL ? text : "";
        } else if (aot_slice_is(key, "val")) {
            s.hint = aot_json_int(value, INT64_MIN);
            s.has_hint = s.hint != INT64_MIN;
        }
    }
    if (s.name[0] != '\0') {
        aot_vec_push(&u->symbols, s);
    }
}

/* ---- entry points -------------------------------------------------------------------------- */

void aot_trace_fact(aot_trace_facts *f, aot_unit *u, int rank, aot_slice name, aot_slice meta)
{
    if (aot_trace_is_string(&name)) {
        read_strings(f, rank, name, meta);
    } else if (aot_slice_is(name, "describe_storage")) {
        read_storage(f, rank, meta);
    } else if (u == NULL) {
        return;
    } else if (aot_slice_is(name, "describe_tensor")) {
        read_tensor(f, u, rank, meta);
    } else if (aot_slice_is(name, "describe_source")) {
        read_source(u, meta);
    } else {
        read_symbol(u, meta);
    }
}

void aot_trace_start(aot_trace_facts *f, aot_unit *u, int rank, aot_slice meta)
{
    aot_json_iter it;
    aot_slice key, frame, last = {NULL, 0}, own = {NULL, 0};
    aot_json_begin(&it, aot_json_get(meta, "stack"));
    while (aot_json_next(&it, &key, &frame)) {
        const char *in = file_name(f, rank, u->arena, aot_json_get(frame, "filename"));
        own = in != NULL && !aot_unit_is_torch_file(in) ? frame : own;
        last = frame;
    }
    if (last.s == NULL) {
        return;
    }
    last = own.s != NULL ? own : last; // a frame of torch's own says nothing to its caller
    const char *name = aot_json_text(u->arena, aot_json_get(last, "name"));
    const char *file = file_name(f, rank, u->arena, aot_json_get(last, "filename"));
    int line = small(aot_json_get(last, "line"));
    if (name != NULL && file != NULL && line >= 0) {
        u->title = aot_arena_printf(u->arena, "%s %s:%d", name, aot_file_name(file), line);
    }
}

void aot_trace_version(aot_assembler *units, const aot_record *r)
{
    bool artifact = strcmp(r->name, "torch_version") == 0;
    const char *json = artifact ? r->text : r->meta;
    if (json == NULL) {
        return;
    }
    aot_arena *a = aot_arena_new();
    size_t n = artifact ? r->len : strlen(json);
    aot_assemble_version(units, aot_json_text(a, aot_json_get((aot_slice){json, n},
                                                              "pytorch_version")));
    aot_arena_free(a);
}
