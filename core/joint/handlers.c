/* What the graph patterns do where they match.
 * Mirrors: torch/_inductor/fx_passes/joint_graph.py (pointless_view ... scatter_upon_const_tensor),
 * misc_patterns.py. */
#include <stdlib.h>
#include <string.h>

#include "joint/internal.h"

static const aot_arg *got(const fx *f, const match *m, const char *name)
{
    return match_get(m, f->c, name);
}

static const aot_arg *item(const fx *f, const aot_arg *list, uint32_t i)
{
    return &f->g->args.d[list->u.first + i];
}

/* Uses of the match's output become uses of `now`; the match goes. */
static void become(fx *f, const match *m, uint32_t now)
{
    fx_replace_uses(f, m->outs.d[0], now, AOT_NO_NODE);
    match_erase(m, f);
}

/* ---- early ---------------------------------------------------------------------------------- */

/* Sizes of a node against a list of sizes, of which one may be -1. */
static bool has_sizes(const fx *f, uint32_t node, const aot_arg *list)
{
    aot_fake t = joint_type(f, node);
    unsigned unknown = 0;
    if (t.val != AOT_VAL_TENSOR || list->kind < AOT_ARG_LIST || list->n != t.ndim) {
        return false;
    }
    for (unsigned i = 0; i < t.ndim; i++) {
        aot_dim d;
        if (!joint_dim(f, item(f, list, i), &d)) {
            return false;
        }
        if (aot_dim_same(d, t.size[i])) {
            continue;
        }
        if (!aot_dim_is(d, -1) || ++unknown > 1) {
            return false;
        }
    }
    return true;
}

void joint_pointless_view(joint *j, fx *f, const match *m)
{
    (void)j;
    uint32_t arg = match_get_node(m, f->c, "arg");
    if (arg != AOT_NO_NODE && has_sizes(f, arg, got(f, m, "size"))) {
        become(f, m, arg);
    }
}

void joint_pointless_view_pair(joint *j, fx *f, const match *m)
{
    joint_pointless_view(j, f, m);
}

void joint_pointless_permute_pair(joint *j, fx *f, const match *m)
{
    (void)j;
    const aot_arg *a = got(f, m, "perm1"), *b = got(f, m, "perm2");
    for (uint32_t i = 0; i < a->n; i++) {
        int64_t at = item(f, b, i)->u.i;
        at += at < 0 ? a->n : 0;
        if (item(f, a, (uint32_t)at)->u.i != (int64_t)i) {
            return;
        }
    }
    become(f, m, match_get_node(m, f->c, "arg"));
}

/* ---- conversions, devices ------------------------------------------------------------------- */

static aot_dtype dtype_of(const fx *f, const aot_arg *a)
{
    const char *s = a->kind == AOT_ARG_NAME ? aot_text(f->c, a->u.s) : "";
    return aot_dtype_of_torch(s, strlen(s));
}

static bool is_plain_float(aot_dtype d)
{
    return d == AOT_F16 || d == AOT_BF16 || d == AOT_F32 || d == AOT_F64;
}

void joint_pointless_convert(joint *j, fx *f, const match *m)
{
    (void)j;
    const aot_arg *to = got(f, m, "dtype2");
    if (!is_plain_float(dtype_of(f, got(f, m, "dtype1"))) || !is_plain_float(dtype_of(f, to))) {
        return;
    }
    aot_arg args[2] = {*got(f, m, "arg"), *to};
    uint32_t now = fx_call(f, "prims.convert_element_type.default", args, 2, NULL, 0);
    fx_update_meta(f, now, m->outs.d[0]);
    become(f, m, now);
}

/* An iota that only indexes tensors of another device is made there. */
void joint_fix_iota_device(joint *j, fx *f, const match *m)
{
    (void)j;
    uint32_t id = m->outs.d[0];
    aot_fake t = joint_type(f, id);
    aot_str device = 0;
    for (uint32_t u = fx_first_use(f, id); u != 0; u = f->pool.d[u].next) {
        uint32_t user = fx_user(f, u);
        aot_fake x = joint_type(f, user);
        bool indexes =
            fx_is(f, user, "aten.index.Tensor") || fx_is(f, user, "aten.index_put.default");
        if (!indexes || x.val != AOT_VAL_TENSOR || (device != 0 && device != x.device)) {
            return;
        }
        device = x.device;
    }
    if (device == 0 || device == t.device || t.val != AOT_VAL_TENSOR) {
        return;
    }
    aot_arg length = *got(f, m, "length");
    fx_kwarg kw[5] = {{"start", *got(f, m, "start")},
                      {"step", *got(f, m, "step")},
                      {"dtype", *got(f, m, "dtype")},
                      {"device", fx_a_device(f, device)},
                      {"requires_grad", *got(f, m, "requires_grad")}};
    uint32_t now = fx_call(f, "prims.iota.default", &length, 1, kw, 5);
    fx_update_meta(f, now, id);
    t.device = device;
    fx_node(f, now)->meta = aot_fake_meta(f->c, &t);
    become(f, m, now);
}

static void put_trace(joint *j, fx *f, const match *m, trace *t, const aot_arg *args,
                      const char *what)
{
    if (t->st == AOT_OK) {
        joint_replace(f, m, t, args);
    } else if (j != NULL) {
        joint_note(j, m->outs.d[0], "%s: the replacement cannot be made: %s", what, t->err.msg);
    }
    trace_free(t);
}

/* A batch of one matrix; on GPUs only. */
void joint_bmm_to_mm(joint *j, fx *f, const match *m)
{
    uint32_t a = match_get_node(m, f->c, "mat1"), b = match_get_node(m, f->c, "mat2");
    if (a == AOT_NO_NODE || b == AOT_NO_NODE) {
        return;
    }
    aot_fake x = joint_type(f, a), y = joint_type(f, b);
    bool gpu = aot_starts_with(aot_text(f->c, x.device), "cuda") &&
               aot_starts_with(aot_text(f->c, y.device), "cuda");
    if (!gpu || x.ndim != 3 || y.ndim != 3 || !aot_dim_is(x.size[0], 1) ||
        !aot_dim_is(y.size[0], 1)) {
        return;
    }
    trace t;
    trace_begin(&t, f->c, false);
    uint32_t p = trace_placeholder(&t, fx_node(f, a)->meta, false),
             q = trace_placeholder(&t, fx_node(f, b)->meta, false);
    p = trace_squeeze(&t, p, 0);
    q = trace_squeeze(&t, q, 0);
    uint32_t out = trace_unsqueeze(&t, trace_call2(&t, "aten.mm.default", p, fx_a_node(q)), 0);
    trace_end(&t, &out, 1, NULL, 0);
    aot_arg args[2] = {fx_a_node(a), fx_a_node(b)};
    put_trace(j, f, m, &t, args, "bmm_to_mm");
}

/* ---- scatter -------------------------------------------------------------------------------- */

/* dtype of where(mask, x, y) for two numbers. */
static aot_dtype number_dtype(const aot_arg *a, const aot_arg *b)
{
    if (a->kind == AOT_ARG_FLOAT || b->kind == AOT_ARG_FLOAT) {
        return AOT_F32;
    }
    return a->kind == AOT_ARG_INT || b->kind == AOT_ARG_INT ? AOT_I64 : AOT_B8;
}

static bool is_number(const aot_arg *a)
{
    return a->kind == AOT_ARG_INT || a->kind == AOT_ARG_FLOAT || a->kind == AOT_ARG_BOOL;
}

static uint32_t number_tensor(trace *t, const aot_arg *a, aot_dtype d, aot_str device)
{
    fx_kwarg kw[3] = {{"dtype", fx_a_dtype(&t->f, d)},
                      {"layout", fx_a_name(&t->f, "torch.strided")},
                      {"device", fx_a_device(&t->f, device)}};
    return trace_emit(t, "aten.scalar_tensor.default", a, 1, kw, 3);
}

/* The scatter writes one value a row: where the index is the position. */
void joint_scatter_upon_const_tensor(joint *j, fx *f, const match *m)
{
    uint32_t selector = match_get_node(m, f->c, "selector");
    const aot_arg *shape = got(f, m, "shape"), *dim_arg = got(f, m, "dim");
    const aot_arg val = *got(f, m, "val"), background = *got(f, m, "background_val");
    if (selector == AOT_NO_NODE || dim_arg->kind != AOT_ARG_INT || shape->kind != AOT_ARG_LIST) {
        return;
    }
    aot_fake s = joint_type(f, selector);
    unsigned n = shape->n, dim = (unsigned)(dim_arg->u.i < 0 ? dim_arg->u.i + n : dim_arg->u.i);
    aot_dim full[AOT_FAKE_MAX_NDIM], view[AOT_FAKE_MAX_NDIM];
    if (s.ndim != n || dim >= n) {
        return;
    }
    bool known = is_number(&val) && is_number(&background);
    for (unsigned i = 0; i < n; i++) {
        known &= joint_dim(f, item(f, shape, i), &full[i]) && full[i].expr == 0;
        view[i] = (aot_dim){.value = 1};
        bool shorter = s.size[i].value < full[i].value && !aot_dim_same(s.size[i], full[i]);
        if ((i == dim && !aot_dim_is(s.size[i], 1)) || (i != dim && shorter)) {
            return;
        }
    }
    if (!known) {
        joint_note(j, m->outs.d[0], "scatter_upon_const_tensor: sizes or values are symbolic");
        return;
    }
    view[dim] = full[dim];
    trace t;
    trace_begin(&t, f->c, false);
    uint32_t in = trace_placeholder(&t, fx_node(f, selector)->meta, false);
    aot_arg length = fx_a_int(full[dim].value);
    fx_kwarg kw[5] = {{"start", fx_a_int(0)},
                      {"step", fx_a_int(1)},
                      {"dtype", fx_a_dtype(&t.f, AOT_I64)},
                      {"device", fx_a_device(&t.f, s.device)},
                      {"requires_grad", fx_a_bool(false)}};
    uint32_t at = trace_view(&t, trace_emit(&t, "prims.iota.default", &length, 1, kw, 5), view, n);
    uint32_t mask = trace_call2(&t, "aten.eq.Tensor", trace_expand(&t, in, full, n), fx_a_node(at));
    aot_dtype d = number_dtype(&val, &background);
    uint32_t no = number_tensor(&t, &background, d, s.device),
             yes = number_tensor(&t, &val, d, s.device);
    uint32_t out = trace_where(&t, mask, yes, no);
    trace_end(&t, &out, 1, NULL, 0);
    aot_arg arg = fx_a_node(selector);
    put_trace(j, f, m, &t, &arg, "scatter_upon_const_tensor");
}

/* ---- unique indices ------------------------------------------------------------------------- */

static bool is_int(const aot_arg *a, int64_t v)
{
    return a->kind == AOT_ARG_INT && a->u.i == v;
}

/* The indices are the first rows of a permutation of x's rows: none comes twice, so adding there is
 * reading, adding and writing. (PyTorch's second pattern, reading rows at all of a permutation,
 * ends its compile with an error where it matches: no log holds one.) */
void joint_randperm_index_add(joint *j, fx *f, const match *m)
{
    uint32_t x = match_get_node(m, f->c, "x"), y = match_get_node(m, f->c, "y"),
             slice = m->outs.d[1];
    uint32_t perm = fx_arg_node(f, slice, 0);
    if (x == AOT_NO_NODE || y == AOT_NO_NODE) {
        return;
    }
    aot_fake a = joint_type(f, x), b = joint_type(f, y);
    aot_arg rows = fx_args(f, perm)[0];
    const aot_arg *s = fx_args(f, slice);
    if (a.ndim == 0 || b.ndim == 0 || a.size[0].expr != 0 || !is_int(&rows, a.size[0].value) ||
        !is_int(&s[1], 0) || !is_int(&s[2], 0) || !is_int(&s[3], b.size[0].value)) {
        j->count--; // the check belongs to the pattern: it did not match
        return;
    }
    trace t;
    trace_begin(&t, f->c, false);
    uint32_t p = trace_placeholder(&t, fx_node(f, x)->meta, false),
             q = trace_placeholder(&t, fx_node(f, y)->meta, false);
    fx_kwarg kw[2] = {{"device", fx_a_device(&t.f, a.device)}, {"pin_memory", fx_a_bool(false)}};
    uint32_t all = trace_emit(&t, "aten.randperm.default", &rows, 1, kw, 2);
    aot_arg cut[4] = {fx_a_node(all), fx_a_int(0), fx_a_int(0), fx_a_int(b.size[0].value)};
    uint32_t index = trace_emit(&t, "aten.slice.Tensor", cut, 4, NULL, 0);
    aot_arg item_arg = fx_a_node(index);
    uint32_t read = trace_call2(&t, "aten._unsafe_index.Tensor", p, fx_a_list(&t.f, &item_arg, 1));
    uint32_t sum = trace_call2(&t, "aten.add.Tensor", read, fx_a_node(q));
    aot_arg put[3] = {fx_a_node(p), fx_a_list(&t.f, &item_arg, 1), fx_a_node(sum)};
    uint32_t outs[2] = {trace_emit(&t, "aten.index_put.default", put, 3, NULL, 0), index};
    trace_end(&t, outs, 2, NULL, 0);
    aot_arg args[2] = {fx_a_node(x), fx_a_node(y)};
    put_trace(j, f, m, &t, args, "randperm_index_add");
}
