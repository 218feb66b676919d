/* The cast policies. Arguments are cast from the last to the first: PyTorch's kernels expand a pack
 * of function arguments, which the compiler evaluates so. */
#include "trace/autocast.h"

#include <string.h>

#include "ops/schema.h"
#include "trace/internal.h"

typedef enum policy { NONE, LOW, FP32, PROMOTE, DTYPE } policy;

static const struct {
    uint8_t cpu, cuda;
} policies[AOT_N_OPS] = {
#define AUTOCAST(id, cpu, cuda) [AOT_OP_##id] = {cpu, cuda},
#include "trace/autocast.def"
#undef AUTOCAST
};

typedef struct caster {
    aot_tracer *t;
    const char *device; /* "cpu", "cuda" */
    aot_dtype to;
} caster;

/* On the device and of floating point, but not of double precision. */
static bool is_eligible(const caster *c, const aot_tensor *x)
{
    return aot_is_float(x) && aot_dtype_of(x) != AOT_F64 &&
           aot_starts_with(aot_text(aot_tracer_ctx(c->t), aot_device_of(x)), c->device);
}

static aot_value cast(const caster *c, aot_value v)
{
    if (v.kind == AOT_V_TENSOR) {
        return is_eligible(c, v.u.t) && aot_dtype_of(v.u.t) != c->to
                   ? AOT_V(c->t, aten_to_dtype, v.u.t, aot_v_dtype(c->to))
                   : v;
    }
    if (!aot_v_is_list(v) || v.n == 0 || v.u.items[0].kind != AOT_V_TENSOR) {
        return v;
    }
    aot_value *items = AOT_NEW_ARRAY(aot_tracer_arena(c->t), aot_value, v.n);
    for (unsigned i = 0; i < v.n; i++) {
        items[i] = cast(c, v.u.items[i]);
    }
    return aot_v_list(c->t, v.n, items);
}

/* The widest of the arguments' types and the lower precision. */
static void widest(const caster *c, aot_value v, aot_dtype *to)
{
    for (unsigned i = 0; aot_v_is_list(v) && i < v.n; i++) {
        widest(c, v.u.items[i], to);
    }
    if (v.kind == AOT_V_TENSOR && is_eligible(c, v.u.t)) {
        aot_dtype d = aot_dtype_of(v.u.t);
        *to = d == AOT_F32 || *to == AOT_F32 ? AOT_F32 : d != *to ? aot_promote_types(d, *to) : d;
    }
}

static bool has_eligible(const caster *c, unsigned n, const aot_value *in)
{
    return n > 0 && in[0].kind == AOT_V_TENSOR && is_eligible(c, in[0].u.t);
}

static bool apply(caster *c, policy p, aot_op_id op, unsigned n, const aot_value *in,
                  aot_value *out)
{
    memcpy(out, in, n * sizeof *out);
    if (p == DTYPE) {
        const aot_schema *s = &tr_op(c->t, op)->schema;
        for (unsigned i = 0; i < n && has_eligible(c, n, in); i++) {
            if (s->args[i].kind == AOT_TYPE_SCALAR_TYPE && in[i].kind == AOT_V_NONE) {
                out[i] = aot_v_dtype(AOT_F32);
            }
        }
        return true;
    }
    c->to = p == FP32 ? AOT_F32 : c->to;
    for (unsigned i = 0; p == PROMOTE && i < n; i++) {
        widest(c, in[i], &c->to);
    }
    for (unsigned i = n; i-- > 0;) {
        out[i] = cast(c, in[i]);
    }
    return true;
}

bool aot_autocast_args(aot_tracer *t, aot_op_id op, unsigned n, const aot_value *in, aot_value *out)
{
    static const char *const devices[2] = {"cpu", "cuda"};
    for (int d = 1; d >= 0; d--) {
        policy p = d == 0 ? policies[op].cpu : policies[op].cuda;
        caster c = {.t = t, .device = devices[d], .to = aot_autocast_dtype(t, devices[d])};
        if (p != NONE && c.to != AOT_NO_DTYPE) {
            return apply(&c, p, op, n, in, out);
        }
    }
    return false;
}
