/* Wrapper tensor subclasses: autograd sees the wrapper, everything below its inner tensors, one
 * call after the other.
 * Mirrors torch/_functorch/_aot_autograd/subclass_utils.py and __torch_dispatch__ of such
 * classes. */
#include <string.h>

#include "trace/internal.h"

enum { N_PARTS = 2 };

static const struct {
    const char *name, *attr[N_PARTS];
} subclasses[] = {
#define SUBCLASS(name, a, b) {name, {a, b}},
#include "trace/subclasses.def"
#undef SUBCLASS
};

unsigned aot_trace_subclass(const aot_ctx *c, aot_meta_id meta, const char *const **attrs)
{
    aot_str wrapper = aot_meta_get(c, meta)->wrapper;
    for (size_t i = 0; wrapper != 0 && i < sizeof subclasses / sizeof *subclasses; i++) {
        if (strcmp(subclasses[i].name, aot_text(c, wrapper)) == 0) {
            *attrs = subclasses[i].attr;
            return N_PARTS;
        }
    }
    return 0;
}

aot_meta_id aot_trace_inner_type(aot_tracer *t, aot_meta_id meta)
{
    return aot_fake_meta(t->c, tr_fake(t, meta));
}

aot_tensor *aot_trace_wrap(aot_tracer *t, aot_str name, aot_tensor *const *parts,
                           bool requires_grad)
{
    aot_sb text = {0};
    aot_sb_addf(&text, "%s(%s)", aot_text(t->c, name),
                aot_text(t->c, aot_meta_get(t->c, parts[0]->meta)->text));
    aot_tensor *x = tr_tensor_new(t, aot_ctx_meta(t->c, text.d, text.n));
    aot_sb_free(&text);
    x->part = tr_alloc(t, N_PARTS, sizeof(aot_tensor *));
    memcpy(x->part, parts, N_PARTS * sizeof(aot_tensor *));
    x->storage = parts[0]->storage;
    x->version = tr_alloc(t, 1, sizeof *x->version);
    x->requires_grad = requires_grad;
    return x;
}

aot_meta_id aot_trace_meta(const aot_tensor *x)
{
    return x->meta;
}

aot_tensor *const *aot_trace_parts(const aot_tensor *x, unsigned *n)
{
    *n = x->part != NULL ? N_PARTS : 0;
    return x->part;
}

/* ---- calls ----------------------------------------------------------------------------------- */

typedef struct taker {
    unsigned i;
    aot_tensor *wrapper; /* one of those that were taken apart */
} taker;

static aot_tensor *take_part(void *arg, aot_tensor *x)
{
    taker *k = arg;
    if (x->part == NULL) {
        return x;
    }
    k->wrapper = x;
    return x->part[k->i];
}

static void see_parts(void *arg, aot_tensor *x)
{
    *(bool *)arg |= x->part != NULL;
}

bool tr_has_parts(unsigned n, const aot_value *args)
{
    bool any = false;
    for (unsigned i = 0; i < n; i++) {
        tr_each_tensor(args[i], see_parts, &any);
    }
    return any;
}

static aot_value join(aot_tracer *t, aot_str name, const aot_value out[N_PARTS])
{
    if (out[0].kind == AOT_V_TENSOR) {
        aot_tensor *parts[N_PARTS] = {out[0].u.t, out[1].u.t};
        return aot_v_tensor(aot_trace_wrap(t, name, parts, false));
    }
    if (!aot_v_is_list(out[0])) {
        return out[0];
    }
    aot_value v = out[0], *items = tr_alloc(t, v.n + 1, sizeof *items);
    for (unsigned i = 0; i < v.n; i++) {
        const aot_value both[N_PARTS] = {out[0].u.items[i], out[1].u.items[i]};
        items[i] = join(t, name, both);
    }
    v.u.items = items;
    return v;
}

aot_value tr_each_part(aot_tracer *t, aot_op_id op, unsigned n, const aot_value *args,
                       aot_value (*call)(aot_tracer *, aot_op_id, unsigned, const aot_value *))
{
    taker k = {0, NULL};
    aot_value out[N_PARTS];
    for (k.i = 0; k.i < N_PARTS; k.i++) {
        aot_value *own = tr_alloc(t, n + 1, sizeof *own);
        for (unsigned i = 0; i < n; i++) {
            own[i] = tr_map_tensors(t, args[i], take_part, &k);
        }
        out[k.i] = call(t, op, n, own);
    }
    if (tr_op(t, op)->writes && args[0].kind == AOT_V_TENSOR) {
        return args[0];
    }
    return join(t, aot_meta_get(t->c, k.wrapper->meta)->wrapper, out);
}
