#include "grad/call.h"

enum { MAX_ITEMS = 32, MAX_SETS = 7 };

static aot_value filled(aot_tracer *t, aot_dims like, int64_t v)
{
    int64_t all[16];
    unsigned n = like.n < 16 ? like.n : 16;

    for (unsigned i = 0; i < n; i++) {
        all[i] = v;
    }
    return aot_v_ints(t, n, all);
}

static aot_value mask_of(const aot_vjp *b, const aot_grad_call *c)
{
    aot_value mask[MAX_SETS];

    for (unsigned i = 0; i < c->sets.n; i++) {
        mask[i] = aot_v_bool(aot_vjp_needs(b, c->sets.d[i]));
    }
    return aot_v_list(aot_vjp_tracer(b), c->sets.n, mask);
}

static aot_value sizes_of(const aot_vjp *b, unsigned pos)
{
    aot_tensor *x = aot_vjp_in(b, pos);

    if (x == NULL && aot_vjp_arg(b, pos).n != 0) {
        return aot_v_none(); // aot_v_nullopt
    }
    if (x == NULL) {
        return aot_v_ints(aot_vjp_tracer(b), 1, &(int64_t){0});
    }
    return aot_v_dims(aot_vjp_tracer(b), aot_sizes(x));
}

static aot_value item_of(const aot_vjp *b, const aot_grad_call *c, unsigned item)
{
    aot_tracer *t = aot_vjp_tracer(b);
    unsigned i = item & 0xff;

    switch (item & 0xff00) {
    case AOT_CALL_GRAD: return aot_v_tensor(aot_vjp_grad(b, i));
    case AOT_CALL_CONTIGUOUS: return AOT_V(t, aten_contiguous, aot_vjp_grad(b, i));
    case AOT_CALL_ARG: return aot_vjp_arg(b, i);
    case AOT_CALL_OUT: return aot_v_tensor(aot_vjp_out(b, i));
    case AOT_CALL_SIZES: return sizes_of(b, i);
    case AOT_CALL_INT: return aot_v_int(i);
    case AOT_CALL_MASK: return mask_of(b, c);
    case AOT_CALL_ONES: return filled(t, aot_vjp_dims(b, i), 1);
    case AOT_CALL_ZEROS: return filled(t, aot_vjp_dims(b, i), 0);
    default: return aot_v_none();
    }
}

static bool wanted(const aot_vjp *b, const aot_grad_call *c)
{
    bool needed = false;

    for (unsigned i = 0; i < c->sets.n; i++) {
        needed |= aot_vjp_needs(b, c->sets.d[i]);
    }
    for (unsigned i = 0; needed && i < c->n; i++) {
        unsigned kind = c->items[i] & 0xff00;
        if (kind == AOT_CALL_GRAD || kind == AOT_CALL_CONTIGUOUS) {
            return aot_vjp_grad(b, c->items[i] & 0xff) != NULL;
        }
    }
    return needed;
}

void aot_grad_run(aot_vjp *b, const aot_grad_call *c)
{
    aot_value args[MAX_ITEMS], got;

    if (!wanted(b, c)) {
        return;
    }
    for (unsigned i = 0; i < c->n; i++) {
        args[i] = item_of(b, c, c->items[i]);
    }
    got = aot_call_op(aot_vjp_tracer(b), c->op, c->n, args);
    for (unsigned i = 0; i < c->sets.n; i++) {
        if (aot_vjp_needs(b, c->sets.d[i])) {
            aot_vjp_set(b, c->sets.d[i],
                        aot_v_is_list(got) ? aot_v_item(got, i) : aot_v_first(got));
        }
    }
}
