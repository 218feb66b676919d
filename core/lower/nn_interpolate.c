/* interpolate and its older names: one operator for each mode and number of dimensions.
 *
 *     F.interpolate(x, scale_factor=2, mode='bilinear')
 *     ->  aten.upsample_bilinear2d.vec(x, None, False, [2, 2])
 *
 * Mirrors: torch/nn/functional.py:interpolate */
#include "lower/nn.h"

#include <string.h>

typedef struct mode_row {
    const char *mode;
    unsigned ndim;
    bool antialias, corners; /* corners: the operator has align_corners */
    aot_op_id op;
} mode_row;

static const mode_row modes[] = {
    {"nearest", 3, false, false, AOT_OP_aten_upsample_nearest1d_vec},
    {"nearest", 4, false, false, AOT_OP_aten_upsample_nearest2d_vec},
    {"nearest", 5, false, false, AOT_OP_aten_upsample_nearest3d_vec},
    {"nearest-exact", 3, false, false, AOT_OP_aten__upsample_nearest_exact1d_vec},
    {"nearest-exact", 4, false, false, AOT_OP_aten__upsample_nearest_exact2d_vec},
    {"nearest-exact", 5, false, false, AOT_OP_aten__upsample_nearest_exact3d_vec},
    {"area", 3, false, false, AOT_OP_aten_adaptive_avg_pool1d},
    {"area", 4, false, false, AOT_OP_aten_adaptive_avg_pool2d},
    {"area", 5, false, false, AOT_OP_aten_adaptive_avg_pool3d},
    {"linear", 3, false, true, AOT_OP_aten_upsample_linear1d_vec},
    {"bilinear", 4, false, true, AOT_OP_aten_upsample_bilinear2d_vec},
    {"bilinear", 4, true, true, AOT_OP_aten__upsample_bilinear2d_aa_vec},
    {"trilinear", 5, false, true, AOT_OP_aten_upsample_trilinear3d_vec},
    {"bicubic", 4, false, true, AOT_OP_aten_upsample_bicubic2d_vec},
    {"bicubic", 4, true, true, AOT_OP_aten__upsample_bicubic2d_aa_vec},
};

static aot_value repeated(aot_tracer *t, aot_value v, unsigned n)
{
    if (v.kind == AOT_V_NONE || aot_v_is_list(v)) {
        return v;
    }
    aot_value d[] = {v, v, v};
    return aot_v_list(t, n < 3 ? n : 3, d);
}

/* int(input.size(i + 2) * scale) */
static aot_value scaled_sizes(aot_tracer *t, const aot_tensor *x, aot_value scales)
{
    aot_value d[3] = {{0}};
    for (unsigned i = 0; i < scales.n && i < 3; i++) {
        aot_value s = scales.u.items[i];
        aot_dim size = aot_size(x, i + 2);
        if (s.kind == AOT_V_INT) {
            d[i] = aot_v_dim(aot_trace_dim(t, '*', size, s.u.dim));
        } else {
            d[i] = aot_v_int((int64_t)((double)size.value * s.u.f));
        }
    }
    return aot_v_list(t, scales.n, d);
}

static const mode_row *find_mode(const aot_pycall *k, const char *given, unsigned ndim,
                                 bool antialias)
{
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        const mode_row *r = &modes[i];
        bool is = given != NULL ? strcmp(given, r->mode) == 0
                                : aot_l_str_is(k, 3, "mode", "nearest", r->mode);
        if (is && r->ndim == ndim && r->antialias == antialias) {
            return r;
        }
    }
    aot_trace_fail(k->t, AOT_E_UNSUPPORTED, "%s: no such mode for inputs of %u dimensions",
                   nn_name(k), ndim);
}

aot_value lower_interpolate(const aot_pycall *k)
{
    aot_tracer *t = k->t;
    bool old_nearest = nn_is(k, "upsample_nearest"), old_bilinear = nn_is(k, "upsample_bilinear");
    aot_tensor *x = aot_l_need_tensor(k, 0, "input");
    unsigned n = aot_ndim(x) - 2;
    bool antialias = !old_nearest && !old_bilinear && aot_l_bool(k, 6, "antialias", false);
    const mode_row *r = find_mode(k, old_nearest ? "nearest" : old_bilinear ? "bilinear" : NULL,
                                  aot_ndim(x), antialias);
    aot_value size = repeated(t, nn_arg(k, 1, "size"), n);
    aot_value scales = repeated(t, nn_arg(k, 2, "scale_factor"), n);
    bool area = strcmp(r->mode, "area") == 0;
    bool recompute = !old_nearest && !old_bilinear &&
                     aot_l_bool(k, 5, "recompute_scale_factor", false);
    if (scales.kind != AOT_V_NONE && (area || recompute)) {
        size = scaled_sizes(t, x, scales);
        scales = aot_v_none();
    }
    if (area) {
        return aot_call_op(t, r->op, 2, (const aot_value[]){aot_v_tensor(x), size});
    }
    if (!r->corners) {
        return aot_call_op(t, r->op, 3, (const aot_value[]){aot_v_tensor(x), size, scales});
    }
    aot_value corners = old_bilinear ? aot_v_bool(true)
                                     : nn_arg_or(k, 4, "align_corners", aot_v_bool(false));
    return aot_call_op(t, r->op, 4, (const aot_value[]){aot_v_tensor(x), size, corners, scales});
}
