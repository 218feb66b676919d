/* Events of wrappers as they are kept and told. */
#include "exec/wrapper_trace.h"

#include <inttypes.h>
#include <string.h>

static const struct {
    const char *name, *sentence;
} kinds[] = {
#define WRAPPER_EVENT(id, name, sentence) {name, sentence},
#include "exec/wrapper_events.def"
#undef WRAPPER_EVENT
};

const char *aot_wrapper_event_name(aot_wrapper_event_kind k)
{
    return kinds[k].name;
}

const char *aot_wrapper_event_sentence(aot_wrapper_event_kind k)
{
    return kinds[k].sentence;
}

void aot_wrapper_trace_free(aot_wrapper_trace *t)
{
    aot_vec_free(&t->events);
    aot_arena_free(t->arena);
    *t = (aot_wrapper_trace){0};
}

static const char *kept(aot_wrapper_trace *t, const char *text)
{
    return text == NULL || text[0] == '\0' ? "" : aot_arena_strndup(t->arena, text, strlen(text));
}

void aot_wrapper_trace_add(aot_wrapper_trace *t, const aot_wrapper_event *e)
{
    if (t->arena == NULL) {
        t->arena = aot_arena_new();
    }
    aot_wrapper_event own = *e;
    own.what = kept(t, e->what);
    own.came = kept(t, e->came);
    own.went = kept(t, e->went);
    aot_vec_push(&t->events, own);
}

/* ---- types ----------------------------------------------------------------------------------- */

static void print_dims(aot_sb *out, unsigned n, const int64_t *v)
{
    aot_sb_addc(out, '[');
    for (unsigned i = 0; i < n; i++) {
        aot_sb_addf(out, "%s%" PRId64, i > 0 ? ", " : "", v[i]);
    }
    aot_sb_addc(out, ']');
}

static void print_one(aot_sb *out, const aot_xval *v)
{
    switch (v->kind) {
    case AOT_X_ARRAY:
        aot_sb_addz(out, aot_dtype_get((aot_dtype)v->u.array->dtype)->abbr);
        print_dims(out, v->u.array->ndim, v->u.array->size);
        if (!aot_array_is_contiguous(v->u.array)) {
            print_dims(out, v->u.array->ndim, v->u.array->stride);
        }
        break;
    case AOT_X_INT: aot_sb_addf(out, "%" PRId64, v->u.i); break;
    case AOT_X_BOOL: aot_sb_addz(out, v->u.i != 0 ? "True" : "False"); break;
    case AOT_X_REAL: aot_sb_addf(out, "%.9g", v->u.f); break;
    case AOT_X_NONE: aot_sb_addz(out, "None"); break;
    default: aot_sb_addz(out, "?"); break;
    }
}

void aot_value_type_print(aot_sb *out, const aot_xval *v)
{
    if (v->kind != AOT_X_LIST) {
        print_one(out, v);
        return;
    }
    aot_sb_addc(out, '(');
    for (unsigned i = 0; i < v->n; i++) {
        aot_sb_addz(out, i > 0 ? ", " : "");
        print_one(out, &v->u.items[i]);
    }
    aot_sb_addc(out, ')');
}

/* "8.0 KiB", as texts have bytes everywhere. */
static void add_bytes(aot_sb *out, int64_t bytes)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
    double v = (double)bytes / 1024;
    size_t k = 0;
    for (; v >= 1023.95 && k < 3; k++) {
        v /= 1024;
    }
    if (bytes < 1024) {
        aot_sb_addf(out, "%" PRId64 " B", bytes);
    } else {
        aot_sb_addf(out, k == 0 ? "%.1f %s" : "%.2f %s", v, units[k]);
    }
}

static bool is_list(const aot_wrapper_event *e)
{
    return e->kind == AOT_EVENT_TAKE || e->kind == AOT_EVENT_GIVE;
}

/* The types of the values that are taken or given, unless they stand in the list before. */
static void add_list(aot_sb *out, const aot_wrapper_event *e, const aot_wrapper_event *before)
{
    bool same =
        before != NULL && strcmp(before->what, e->what) == 0 && strcmp(before->went, e->went) == 0;
    aot_sb_addf(out, ": %s", same ? "the same" : e->went);
}

/* ---- telling --------------------------------------------------------------------------------- */

void aot_wrapper_trace_print(aot_sb *out, const aot_wrapper_trace *t, unsigned indent)
{
    const aot_wrapper_event *list = NULL; /* of this call, told last */
    for (size_t i = 0; i < t->events.n; i++) {
        const aot_wrapper_event *e = &t->events.d[i], *last = i > 0 ? &t->events.d[i - 1] : NULL;
        bool new_call = last == NULL || last->call != e->call || last->backward != e->backward;
        if (new_call) {
            aot_sb_addf(out, "%*scall %u, %s\n", (int)indent, "", e->call,
                        e->backward ? "backward" : "forward");
            list = NULL;
        }
        bool other = new_call || last->wrapper != e->wrapper;
        aot_sb_addf(out, "%*s%-32s%-15s%s", (int)indent + 2, "",
                    other ? aot_wrapper_get((aot_wrapper)e->wrapper)->name : "",
                    kinds[e->kind].name, e->what);
        if (e->came[0] != '\0') {
            aot_sb_addf(out, "%s%s", e->what[0] != '\0' ? ": " : "", e->came);
        }
        if (e->went[0] != '\0') {
            if (is_list(e)) {
                add_list(out, e, list);
                list = e;
            } else {
                aot_sb_addf(out, " -> %s", e->went);
            }
        }
        if (e->bytes > 0) {
            aot_sb_addz(out, ", ");
            add_bytes(out, e->bytes);
        }
        aot_sb_addc(out, '\n');
    }
}

json_t *aot_wrapper_trace_json(const aot_wrapper_trace *t)
{
    json_t *list = json_array();
    for (size_t i = 0; i < t->events.n; i++) {
        const aot_wrapper_event *e = &t->events.d[i];
        json_array_append_new(list,
                              json_pack("{s:i, s:s, s:s, s:s, s:s, s:s, s:s, s:I}", "call",
                                        (int)e->call, "side", e->backward ? "backward" : "forward",
                                        "wrapper", aot_wrapper_get((aot_wrapper)e->wrapper)->name,
                                        "event", kinds[e->kind].name, "what", e->what, "came",
                                        e->came, "went", e->went, "bytes", (json_int_t)e->bytes));
    }
    return list;
}
