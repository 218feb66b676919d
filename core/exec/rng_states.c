/* Random operators whose generator state is handed from the forward to the backward.
 *
 *     run_and_save_rng_state(op, *args) -> (state before, what op gives)
 *     run_with_rng_state(state, op, *args) -> what op gives; the generator is left as it was
 *
 * graphsafe_run_with_rng_state draws from a CUDA generator, which is not here.
 * Mirrors torch/_prims/rng_prims.py. */
#include <string.h>

#include "exec/internal.h"

static aot_op_id inner_op(aot_exec *x, const aot_xval *name)
{
    const char *text = name->kind == AOT_X_STR ? name->u.text : "";
    const char *at = strncmp(text, "torch.ops.", 10) == 0 ? text + 10 : text;
    aot_op_id op = aot_op_find(at, strlen(at));
    if (op == AOT_OP_UNKNOWN) {
        ex_fail(x, AOT_E_UNSUPPORTED, "the operator %s that it runs is not known", text);
    }
    return op;
}

/* Runs the operator on arguments by place and by keyword. */
static aot_xval run_inner(aot_exec *x, aot_op_id op, const ex_rng_call *c, unsigned first)
{
    const exec_op *f = ex_op(x, op);
    unsigned n = c->n - first, room = n > f->schema.n_args ? n : f->schema.n_args;
    aot_xval *all = AOT_NEW_ARRAY(x->scratch, aot_xval, room + 1);
    memcpy(all, f->defaults, f->schema.n_args * sizeof *all);
    memcpy(all, c->args + first, n * sizeof *all);
    for (unsigned i = 0; i < c->n_kwargs; i++) {
        const aot_schema_arg *a = aot_schema_arg_find(&f->schema, c->keys[i]);
        if (a != NULL) {
            all[a - f->schema.args] = c->kwargs[i];
        }
    }
    return ex_run(x, &(exec_call){.op = op, .n = room, .args = all});
}

static aot_xval run_and_save(aot_exec *x, const ex_rng_call *c)
{
    int64_t n = AOT_GENERATOR_STATE_BYTES;
    aot_op_id op = inner_op(x, &c->args[0]);
    aot_array *state = ex_own(x, aot_array_new(&x->live, AOT_U8, 1, &n));
    aot_xval *both = AOT_NEW_ARRAY(x->scratch, aot_xval, 2);
    aot_generator_get_state(&x->generator, (uint8_t *)aot_array_data(state));
    both[0] = aot_xv_array(state);
    both[1] = run_inner(x, op, c, 1);
    return aot_xv_list(2, both);
}

static aot_xval run_with(aot_exec *x, const ex_rng_call *c)
{
    aot_generator was = x->generator;
    aot_op_id op = inner_op(x, &c->args[1]);
    const aot_array *s = c->args[0].kind == AOT_X_ARRAY ? c->args[0].u.array : NULL;
    if (s == NULL || s->dtype != AOT_U8 || aot_array_numel(s) != AOT_GENERATOR_STATE_BYTES ||
        !aot_array_is_contiguous(s) ||
        !aot_generator_set_state(&x->generator, (const uint8_t *)aot_array_data(s))) {
        ex_fail(x, AOT_E_SHAPE, "its first argument is no state of the CPU generator, %d bytes",
                AOT_GENERATOR_STATE_BYTES);
    }
    aot_xval out = run_inner(x, op, c, 2);
    x->generator = was;
    return out;
}

bool ex_rng_state(aot_exec *x, aot_op_id op, const ex_rng_call *c, aot_xval *out)
{
    bool saves = op == AOT_OP_higher_order_run_and_save_rng_state;
    if (!saves && op != AOT_OP_higher_order_run_with_rng_state) {
        return false;
    }
    if (c->n < (saves ? 1 : 2)) {
        ex_fail(x, AOT_E_GRAPH, "it has too few arguments");
    }
    *out = saves ? run_and_save(x, c) : run_with(x, c);
    return true;
}
