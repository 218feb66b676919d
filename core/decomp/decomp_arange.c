/* Decompositions of ranges and of index patterns: torch/_refs. All come down to prims::iota. */
#include <math.h>

#include "decomp/decomp.h"

static aot_value device_or_cpu(const aot_expand *k, unsigned pos)
{
    return aot_x_is_none(k, pos) ? dc_cpu(k->t) : k->args[pos];
}

/* start, start + step, ...: length numbers. */
static aot_tensor *iota(aot_tracer *t, aot_dim length, aot_dim start, aot_dim step, aot_dtype dtype,
                        aot_value device)
{
    return AOT(t, prims_iota, length, start, step, aot_v_dtype(dtype), device, aot_v_bool(false));
}

/* torch.arange(lo, hi, dtype=...) of integers. */
static aot_tensor *arange(aot_tracer *t, aot_dim lo, aot_dim hi, aot_dtype dtype, aot_value device)
{
    return AOT(t, aten_arange_start, lo, hi, aot_v_dtype(dtype), AOT_NONE, device, false);
}

/* get_acc_type: in which dtype a range of floats is computed. */
static aot_dtype accumulation_dtype(aot_tracer *t, aot_dtype d, aot_value device)
{
    bool cpu = aot_text(aot_tracer_ctx(t), device.u.s)[1] == 'p';
    if (d == AOT_F32 || d == AOT_F16 || d == AOT_BF16) {
        return cpu ? AOT_F64 : AOT_F32;
    }
    return d == AOT_C64 && cpu ? AOT_C128 : d;
}

/* arange(end), arange.start(start, end): the step is 1. */
bool decomp_arange(aot_expand *k)
{
    bool has_start = k->op == AOT_OP_aten_arange_start;
    unsigned pos = has_start ? 2 : 1;
    aot_value start = has_start ? k->args[0] : aot_v_int(0);
    return aot_x_give(k, AOT(k->t, aten_arange_start_step, start, k->args[pos - 1], 1, k->args[pos],
                             k->args[pos + 1], k->args[pos + 2], k->args[pos + 3]));
}

/* How many integers start, start + step ... lie before end. */
static aot_dim integer_length(aot_ctx *c, aot_dim start, aot_dim end, aot_dim step)
{
    aot_dim span = aot_dim_add(c, aot_dim_sub(c, end, start), step);
    return aot_dim_floordiv(c, aot_dim_sub(c, span, aot_dim_of(step.value > 0 ? 1 : -1)), step);
}

bool decomp_arange_start_step(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_value start = k->args[0], end = k->args[1], step = k->args[2];
    aot_value device = device_or_cpu(k, 5);
    bool integers =
        start.kind != AOT_V_FLOAT && end.kind != AOT_V_FLOAT && step.kind != AOT_V_FLOAT;
    aot_dtype dtype = aot_x_dtype(k, 3);
    dtype = dtype == AOT_NO_DTYPE ? (integers ? AOT_I64 : AOT_F32) : dtype;
    aot_dim length, lo = dc_int(start).u.dim, hi = dc_int(end).u.dim, by = dc_int(step).u.dim;
    if (dtype == AOT_I64 || integers) {
        length = integer_length(aot_tracer_ctx(t), lo, hi, by);
    } else {
        length = aot_dim_of((int64_t)ceil((dc_number(end) - dc_number(start)) / dc_number(step)));
    }
    if (dc_is_integral(dtype) && dtype != AOT_B8) {
        return aot_x_give(k, iota(t, length, lo, by, dtype, device));
    }
    aot_tensor *x = iota(t, length, aot_dim_of(0), aot_dim_of(1), AOT_I64, device);
    x = dc_to(t, x, integers ? AOT_I64 : accumulation_dtype(t, dtype, device));
    return dc_give(k, ADD(MUL(x, step), start), dtype);
}

/* ---- linspace, logspace ---------------------------------------------------------------------- */

/* (end - start) / (steps - 1) */
static aot_value step_of(aot_tracer *t, aot_value start, aot_value end, int64_t steps)
{
    if (start.kind != AOT_V_TENSOR && end.kind != AOT_V_TENSOR) {
        return aot_v_float((dc_number(end) - dc_number(start)) / (double)(steps - 1));
    }
    aot_tensor *span = end.kind == AOT_V_TENSOR ? SUB(end, start) : RSUB(start, end);
    return aot_v_tensor(DIV(span, steps - 1));
}

static aot_value maybe_f64(aot_tracer *t, aot_value v)
{
    return v.kind == AOT_V_TENSOR ? aot_v_tensor(dc_to(t, v.u.t, AOT_F64)) : v;
}

/* a * b; Python puts a number last. */
static aot_tensor *times(aot_tracer *t, aot_value a, aot_tensor *b)
{
    return a.kind == AOT_V_TENSOR ? MUL(a, b) : MUL(b, a);
}

static bool is_linspace_of_numbers(const aot_expand *k)
{
    return aot_v_is_number(k->args[0]) && aot_v_is_number(k->args[1]) &&
           k->args[0].kind != AOT_V_COMPLEX && k->args[1].kind != AOT_V_COMPLEX;
}

bool decomp_linspace(aot_expand *k)
{
    aot_tracer *t = k->t;
    int64_t steps = aot_x_int(k, 2, 0);
    bool of_numbers = is_linspace_of_numbers(k);
    aot_dtype dtype = aot_x_dtype(k, 3);
    aot_value device = device_or_cpu(k, 5), start = maybe_f64(t, k->args[0]);
    aot_value end = maybe_f64(t, k->args[1]), strided = aot_v_name(t, "torch.strided");
    bool is_complex = start.kind == AOT_V_COMPLEX || end.kind == AOT_V_COMPLEX;
    dtype = dtype == AOT_NO_DTYPE ? (is_complex ? AOT_C64 : AOT_F32) : dtype;
    if (is_complex || (steps == 1 && !of_numbers)) {
        return false;
    }
    if (steps < 2) {
        aot_value fill = steps == 0 ? aot_v_int(0) : start;
        return aot_x_give(k, AOT(t, aten_full, aot_v_ints(t, 1, &steps), fill, aot_v_dtype(dtype),
                                 strided, device, false));
    }
    aot_tensor *rg = AOT(t, aten_arange_start, 0, steps, AOT_NONE, strided, device, false);
    aot_dtype compute = dc_is_integral(dtype) ? AOT_I64 : dc_computation_dtype(dtype);
    aot_value step = step_of(t, start, end, steps);
    aot_tensor *first = AOT(t, aten_lt_Scalar, rg, (double)steps / 2);
    aot_tensor *up = times(t, step, dc_to(t, rg, compute));
    up = start.kind == AOT_V_TENSOR ? ADD(start, up) : ADD(up, start);
    aot_tensor *down = times(t, step, dc_to(t, RSUB(rg, steps - 1), compute));
    down = end.kind == AOT_V_TENSOR ? SUB(end, down) : RSUB(down, end);
    return dc_give(k, WHERE(first, up, down), dtype);
}

/* One end of a range of integers. */
static aot_value integral_end(aot_tracer *t, aot_value v, aot_dtype d)
{
    return v.kind == AOT_V_TENSOR ? aot_v_tensor(dc_to(t, v.u.t, d)) : dc_int(v);
}

/* logspace(start, end, steps, base); either end may be a tensor. */
bool decomp_logspace(aot_expand *k)
{
    aot_tracer *t = k->t;
    aot_dtype dtype = aot_x_dtype(k, 4);
    aot_value start = k->args[0], end = k->args[1];
    if (start.kind == AOT_V_COMPLEX || end.kind == AOT_V_COMPLEX) {
        return false;
    }
    dtype = dtype == AOT_NO_DTYPE ? AOT_F32 : dtype;
    if (dc_is_integral(dtype) && dtype != AOT_B8) {
        start = integral_end(t, start, dtype);
        end = integral_end(t, end, dtype);
    }
    bool tensors[2] = {start.kind == AOT_V_TENSOR, end.kind == AOT_V_TENSOR};
    aot_op_id linspace = tensors[0] && tensors[1] ? AOT_OP_aten_linspace_Tensor_Tensor
                         : tensors[0]             ? AOT_OP_aten_linspace_Tensor_Scalar
                         : tensors[1]             ? AOT_OP_aten_linspace_Scalar_Tensor
                                                  : AOT_OP_aten_linspace;
    aot_value args[] = {start,      end, k->args[2], aot_v_dtype(AOT_F64),
                        k->args[5], device_or_cpu(k, 6), aot_v_bool(false)};
    aot_tensor *x = aot_v_first(aot_call_op(t, linspace, 7, args));
    // a default base is the int of the Python function
    double base = aot_x_float(k, 3, 10.0);
    aot_value b = base == 10.0 ? aot_v_int(10) : aot_v_float(base);
    return dc_give(k, AOT(t, aten_pow_Scalar, b, x), dtype);
}

/* ---- patterns -------------------------------------------------------------------------------- */

/* The smallest dtype that holds n: _strength_reduce_integer. */
static aot_dtype smallest(aot_dim a, aot_dim b)
{
    int64_t n = a.value > b.value ? a.value : b.value;
    if (a.expr != 0 || b.expr != 0) {
        return AOT_I64;
    }
    return n <= UINT8_MAX ? AOT_U8 : n <= UINT16_MAX ? AOT_U16 : n <= INT32_MAX ? AOT_I32 : AOT_I64;
}

/* eye(n), eye.m(n, m) */
bool decomp_eye(aot_expand *k)
{
    aot_tracer *t = k->t;
    unsigned pos = k->op == AOT_OP_aten_eye_m ? 2 : 1;
    aot_dim n = aot_x_dim(k, 0, 0), m = aot_x_dim(k, pos - 1, 0);
    aot_dtype dtype = aot_x_dtype(k, pos), range = smallest(n, m);
    aot_value device = device_or_cpu(k, pos + 2);
    if (aot_x_bool(k, pos + 3)) {
        return false; // pinned memory needs CUDA
    }
    aot_tensor *rows = AOT(t, aten_arange, n, aot_v_dtype(range), AOT_NONE, device, false);
    aot_tensor *columns = AOT(t, aten_arange, m, aot_v_dtype(range), AOT_NONE, device, false);
    rows = AOT(t, aten_unsqueeze, rows, -1);
    return dc_give(k, AOT(t, aten_eq_Tensor, rows, columns),
                   dtype == AOT_NO_DTYPE ? AOT_F32 : dtype);
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* A triangle of a matrix as a trapezoid and a rectangle. */
typedef struct triangle {
    int64_t trapezoid, rectangle, first_row; /* elements; of the trapezoid's first row */
} triangle;

static triangle lower_triangle(int64_t row, int64_t col, int64_t offset)
{
    if (row == 0 || col == 0) {
        return (triangle){0, 0, 0};
    }
    int64_t first = offset > 0 ? least(col, 1 + offset) : row + offset > 0;
    int64_t last = most(0, least(col, row + offset));
    int64_t rows = most(0, least(row, row + offset)), trapezoid_rows = last - first + 1;
    // Python's // rounds down; the sum of an empty trapezoid is 0
    int64_t trapezoid = (first + last) * trapezoid_rows / 2;
    return (triangle){trapezoid, most(0, (rows - trapezoid_rows) * col), first};
}

static triangle upper_triangle(int64_t row, int64_t col, int64_t offset)
{
    if (row == 0 || col == 0) {
        return (triangle){0, 0, 0};
    }
    int64_t first = offset > 0 ? most(0, col - offset) : col;
    int64_t rectangle = most(0, least(row, -offset) * col);
    triangle lower = lower_triangle(row, col, offset - 1);
    return (triangle){row * col - (lower.trapezoid + lower.rectangle) - rectangle, rectangle,
                      first};
}

/* Row and column numbers of the elements of a triangle: [2, n]. */
static aot_tensor *stacked(aot_tracer *t, aot_tensor *const rows[2], aot_tensor *const columns[2])
{
    aot_tensor *both[2];
    both[0] = AOT(t, aten_cat, aot_v_tensors(t, 2, rows));
    both[1] = AOT(t, aten_cat, aot_v_tensors(t, 2, columns));
    return AOT(t, aten_stack, aot_v_tensors(t, 2, both));
}

static aot_tensor *floor_divided(aot_tracer *t, aot_tensor *x, int64_t n)
{
    return AOT(t, aten_floor_divide, x, n);
}

/* (row, col, offset), each within 32 bits, so that their sums and products are numbers. */
static void read_triangle(const aot_expand *k, int64_t *row, int64_t *col, int64_t *offset)
{
    *row = aot_x_int(k, 0, 0);
    *col = aot_x_int(k, 1, 0);
    *offset = aot_x_int(k, 2, 0);
    if (*row < 0 || *col < 0 || *row > INT32_MAX || *col > INT32_MAX || *offset < -INT32_MAX ||
        *offset > INT32_MAX) {
        aot_trace_fail(k->t, AOT_E_RANGE, "a triangle of %lld rows, %lld columns, offset %lld",
                       (long long)*row, (long long)*col, (long long)*offset);
    }
}

bool decomp_tril_indices(aot_expand *k)
{
    aot_tracer *t = k->t;
    int64_t row, col, offset;
    read_triangle(k, &row, &col, &offset);
    triangle s = lower_triangle(row, col, offset);
    int64_t row_offset = most(0, -offset);
    aot_dtype dtype = aot_x_is_none(k, 3) ? AOT_I64 : aot_x_dtype(k, 3);
    aot_value device = device_or_cpu(k, 5);
    aot_dim zero = aot_dim_of(0);
    double b = (double)s.first_row - 0.5;
    aot_tensor *xs1 = arange(t, zero, aot_dim_of(s.trapezoid), AOT_F64, device), *rows[2], *cols[2];
    aot_tensor *root = AOT(t, aten_sqrt, ADD(MUL(xs1, 2), b * b));
    aot_tensor *r = AOT(t, aten_floor, ADD(root, -b));
    aot_tensor *before = MUL(MUL(ADD(r, 2 * s.first_row - 1), r), 0.5);
    aot_tensor *c = AOT(t, aten_floor, SUB(xs1, before));
    rows[0] = dc_to(t, ADD(r, row_offset), dtype);
    cols[0] = dc_to(t, c, dtype);
    aot_tensor *xs2 = arange(t, zero, aot_dim_of(s.rectangle), dtype, device);
    rows[1] = ADD(floor_divided(t, xs2, col), col - s.first_row + 1 + row_offset);
    cols[1] = AOT(t, aten_remainder_Scalar, xs2, col);
    return aot_x_give(k, stacked(t, rows, cols));
}

bool decomp_triu_indices(aot_expand *k)
{
    aot_tracer *t = k->t;
    int64_t row, col, offset;
    read_triangle(k, &row, &col, &offset);
    triangle s = upper_triangle(row, col, offset);
    aot_dtype dtype = aot_x_is_none(k, 3) ? AOT_I64 : aot_x_dtype(k, 3);
    aot_value device = device_or_cpu(k, 5);
    aot_dim zero = aot_dim_of(0);
    double b = -0.5 - (double)s.first_row;
    aot_tensor *xs2 = arange(t, zero, aot_dim_of(s.rectangle), dtype, device), *rows[2], *cols[2];
    rows[0] = floor_divided(t, xs2, col);
    cols[0] = AOT(t, aten_remainder_Scalar, xs2, col);
    aot_tensor *xs1 = arange(t, zero, aot_dim_of(s.trapezoid), AOT_F64, device);
    aot_tensor *root = AOT(t, aten_sqrt, RSUB(MUL(xs1, 2), b * b));
    aot_tensor *r = AOT(t, aten_floor, RSUB(root, -b));
    aot_tensor *before = MUL(MUL(RSUB(r, 2 * s.first_row - 1), r), 0.5);
    aot_tensor *c = AOT(t, aten_floor, SUB(xs1, before));
    rows[1] = dc_to(t, r, dtype);
    cols[1] = dc_to(t, c, dtype);
    rows[1] = col == 0 ? rows[1] : ADD(rows[1], s.rectangle / col);
    cols[1] = ADD(cols[1], most(0, offset));
    return aot_x_give(k, stacked(t, rows, cols));
}
