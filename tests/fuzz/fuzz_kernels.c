/* Fuzz target: operators run on what a graph from outside may hold: tensors with sizes of 0 and 1,
 * strides that expand, step or turn, NaN and the least integer, negative dimensions and windows.
 * Whatever it is, the answer is a result or an error that says something, and nothing stays behind.
 *
 * A seed is an operator's name and a newline, then bytes of which the call is made; where they end,
 * a stream that they start goes on. The name * stands for all operators that are run at all. With
 * AOT_FUZZ_SHOW set, each call is printed before it is run. */
#include <math.h>
#include <stdio.h>

#include "exec/clones.h"
#include "exec/interp.h"
#include "fuzz_import.h"
#include "ops/op_ids.h"
#include "ops/schema.h"

enum { MAX_INPUTS = 12, MAX_TEXT = 4096 };

typedef struct source {
    const uint8_t *p;
    size_t n;
    uint64_t state;
} source;

static uint64_t next(source *s)
{
    if (s->n > 0) {
        s->n--;
        return *s->p++;
    }
    s->state += 0x9e3779b97f4a7c15u;
    uint64_t z = s->state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (z ^ (z >> 31)) & 0xff;
}

static unsigned below(source *s, unsigned n)
{
    return (unsigned)next(s) % n;
}

/* ---- a call ---------------------------------------------------------------------------------- */

typedef struct call {
    source *s;
    aot_sb params, args;
    aot_array *in[MAX_INPUTS];
    unsigned n, ndim; /* inputs so far; dimensions and sizes that most of them have */
    int64_t size[5];
    aot_dtype dtype;
    bool tame; /* small whole numbers, as indices are */
} call;

static aot_dtype some_dtype(source *s)
{
    static const aot_dtype some[] = {AOT_F32, AOT_F64, AOT_I64, AOT_B8, AOT_BF16, AOT_F16,
                                     AOT_C64, AOT_U8,  AOT_I32, AOT_I8, AOT_C128, AOT_I16};
    return some[below(s, sizeof some / sizeof *some)];
}

static void fill(call *c, aot_array *x)
{
    static const double odd[] = {0, -0.0, 1, -1, 0.5, 2, 3, 1e30, -1e30, 1e-30, 0, 0, 0, 255, 1e9};
    int64_t n = x->storage->bytes / aot_array_item_bytes(x);
    for (int64_t i = 0; i < n; i++) {
        unsigned k = below(c->s, sizeof odd / sizeof *odd);
        double v = k == 10   ? (double)NAN
                   : k == 11 ? (double)INFINITY
                   : k == 12 ? -(double)INFINITY
                             : odd[k];
        char *p = x->storage->data + i * aot_array_item_bytes(x);
        int64_t least = k == 1 ? INT64_MIN : k == 11 ? INT64_MAX : (int64_t)k - 4;
        if (c->tame) {
            v = (double)(k % 4);
        }
        if (aot_array_kind(x) == 'i' && !c->tame) {
            aot_store_int(&least, (aot_dtype)x->dtype, p, 0, 1);
        } else if (aot_array_kind(x) != 'i' || c->tame) {
            v = aot_array_kind(x) == 'u' || aot_array_kind(x) == 'b' ? (double)(k % 3) : v;
            aot_store_real(&v, (aot_dtype)x->dtype, p, 0, 1);
        }
    }
}

static void add_dims(aot_sb *b, unsigned ndim, const int64_t *v)
{
    aot_sb_addc(b, '[');
    for (unsigned i = 0; i < ndim; i++) {
        aot_sb_addf(b, "%s%d", i > 0 ? ", " : "", (int)v[i]);
    }
    aot_sb_addc(b, ']');
}

static void add_type(aot_sb *b, const aot_array *x)
{
    aot_sb_addf(b, "\"%s", aot_dtype_get((aot_dtype)x->dtype)->abbr);
    add_dims(b, x->ndim, x->size);
    add_dims(b, x->ndim, x->stride);
    aot_sb_addz(b, "cpu\"");
}

static int64_t some_size(source *s)
{
    static const int64_t some[] = {0, 1, 2, 3, 3, 4, 5, 17};
    return some[below(s, 8)];
}

/* In order, turned, expanded along one dimension, or every second element. */
static void some_strides(call *c, unsigned ndim, const int64_t *size, int64_t *stride)
{
    unsigned how = below(c->s, 8);
    aot_strides_contiguous(stride, ndim, size);
    if (how == 5 && ndim > 0) {
        stride[below(c->s, ndim)] = 0;
    }
    for (unsigned i = 0; i < ndim && how == 6; i++) {
        stride[i] *= 2;
    }
    int64_t step = 1;
    for (unsigned i = 0; i < ndim && how == 7; i++) {
        stride[i] = step;
        step *= size[i] > 1 ? size[i] : 1;
    }
}

static void add_tensor(call *c)
{
    int64_t size[5], stride[5];
    unsigned ndim = below(c->s, 4) == 0 ? below(c->s, 5) : c->ndim, like = below(c->s, 4);
    if (c->n == MAX_INPUTS) {
        aot_sb_addz(&c->args, "None");
        return;
    }
    for (unsigned i = 0; i < ndim; i++) {
        size[i] = like > 0 && i < c->ndim ? c->size[i] : some_size(c->s);
        size[i] = like == 1 && below(c->s, 3) == 0 ? 1 : size[i];
    }
    some_strides(c, ndim, size, stride);
    aot_dtype d = below(c->s, 4) == 0 ? some_dtype(c->s) : c->dtype;
    c->tame = below(c->s, 3) > 0;
    aot_array *x = aot_array_new_strided(NULL, d, ndim, size, stride);
    fill(c, x);
    aot_sb_addf(&c->params, ", x%u: ", c->n);
    add_type(&c->params, x);
    aot_sb_addf(&c->args, "x%u", c->n);
    c->in[c->n++] = x;
}

static void add_int(call *c)
{
    static const char *const some[] = {"0",
                                       "1",
                                       "2",
                                       "-1",
                                       "3",
                                       "1",
                                       "0",
                                       "2",
                                       "-2",
                                       "5",
                                       "7",
                                       "-3",
                                       "4",
                                       "9223372036854775807",
                                       "-9223372036854775808",
                                       "1099511627776"};
    unsigned n = below(c->s, 4) == 0 ? 16 : 12;
    aot_sb_addz(&c->args, some[below(c->s, n)]);
}

static void add_real(call *c)
{
    static const char *const some[] = {"0.5",  "1.0", "0.0", "2.0",  "-1.0", "1e-05",
                                       "-0.0", "nan", "inf", "-inf", "1e300"};
    aot_sb_addz(&c->args, some[below(c->s, 11)]);
}

static void add_text(call *c)
{
    static const char *const some[] = {
        "mean",    "sum",  "none",   "floor", "trunc", "amax", "amin",  "prod", "min", "max",
        "reflect", "tanh", "linear", "ij",    "add",   "gelu", "right", "left", "A",   "reduced"};
    aot_sb_addf(&c->args, "'%s'", some[below(c->s, sizeof some / sizeof *some)]);
}

static void add_item(call *c, const aot_schema_arg *a)
{
    switch (a->kind) {
    case AOT_TYPE_TENSOR:
        add_tensor(c);
        break;
    case AOT_TYPE_INT:
    case AOT_TYPE_SYM_INT:
        add_int(c);
        break;
    case AOT_TYPE_SCALAR:
        (below(c->s, 2) == 0 ? add_int : add_real)(c);
        break;
    case AOT_TYPE_FLOAT:
    case AOT_TYPE_SYM_FLOAT:
        add_real(c);
        break;
    case AOT_TYPE_BOOL:
    case AOT_TYPE_SYM_BOOL:
        aot_sb_addz(&c->args, below(c->s, 2) == 0 ? "False" : "True");
        break;
    case AOT_TYPE_STR:
        add_text(c);
        break;
    case AOT_TYPE_SCALAR_TYPE:
        aot_sb_addz(&c->args, aot_dtype_get(some_dtype(c->s))->torch_name);
        break;
    default:
        aot_sb_addz(&c->args, "None");
    }
}

static void add_arg(call *c, const aot_schema_arg *a)
{
    bool none = a->optional && below(c->s, 3) == 0;
    if (none || !a->is_list) {
        if (none) {
            aot_sb_addz(&c->args, "None");
        } else {
            add_item(c, a);
        }
        return;
    }
    unsigned n = a->list_size > 1 && below(c->s, 8) > 0 ? (unsigned)a->list_size
                 : below(c->s, 2) == 0                  ? c->ndim
                                                        : below(c->s, 5);
    bool sizes = a->kind == AOT_TYPE_SYM_INT && below(c->s, 3) == 0;
    aot_sb_addc(&c->args, '[');
    for (unsigned i = 0; i < n; i++) {
        if (i > 0) {
            aot_sb_addz(&c->args, ", ");
        }
        if (a->item_optional && below(c->s, 3) == 0) {
            aot_sb_addz(&c->args, "None");
        } else if (sizes && i < c->ndim) {
            aot_sb_addf(&c->args, "%d", (int)c->size[i]);
        } else {
            add_item(c, a);
        }
    }
    aot_sb_addc(&c->args, ']');
}

/* ---- running it ------------------------------------------------------------------------------ */

static void run_text(const aot_sb *text, unsigned n, aot_array *const *in)
{
    aot_ctx *ctx = aot_ctx_new();
    aot_graph *g = NULL;
    aot_err err = {0};
    aot_exec *x = aot_exec_new();
    aot_xval values[MAX_INPUTS], *out = NULL;
    unsigned n_out = 0;
    for (unsigned i = 0; i < n; i++) {
        values[i] = aot_xv_array(in[i]);
    }
    if (aot_parse_graph(&g, ctx, text->d, text->n, 1, &err) == AOT_OK &&
        aot_exec_run(&out, &n_out, x, g, n, values, NULL, &err) == AOT_OK) {
        aot_free_values(out, n_out);
        if (aot_exec_live(x)->now != 0) {
            abort();
        }
    } else if (err.msg[0] == '\0') {
        abort(); // an error must say something
    } else if (getenv("AOT_FUZZ_SHOW") != NULL) {
        fprintf(stderr, "  %s\n", err.msg);
    }
    aot_exec_free(x);
    aot_ctx_free(ctx);
}

static void add_args(call *c, const aot_schema *sc)
{
    for (uint32_t i = 0; i < sc->n_args; i++) {
        const aot_schema_arg *a = &sc->args[i];
        if (a->def.n > 0 && below(c->s, 2) == 0) {
            continue;
        }
        if (a->kwarg_only || a->def.n > 0) {
            aot_sb_addf(&c->args, "%s%.*s = ", c->args.n > 0 ? ", " : "", (int)a->name.n,
                        a->name.s);
        } else if (c->args.n > 0) {
            aot_sb_addz(&c->args, ", ");
        }
        add_arg(c, a);
    }
}

static void run_op(aot_op_id op, source s)
{
    aot_arena *arena = aot_arena_new();
    aot_schema sc;
    aot_sb text = {0};
    call c = {.s = &s};
    s.state += op;
    if (aot_op(op)->schema == NULL ||
        aot_schema_parse(&sc, arena, aot_op(op)->schema, NULL) != AOT_OK) {
        aot_arena_free(arena);
        return;
    }
    c.ndim = below(&s, 5);
    c.dtype = some_dtype(&s);
    for (unsigned i = 0; i < 5; i++) {
        c.size[i] = some_size(&s);
    }
    add_args(&c, &sc);
    aot_sb_addz(&text, "class G(torch.nn.Module):\n    def forward(self");
    aot_sb_add(&text, c.params.d, c.params.n);
    aot_sb_addf(&text, "):\n        y = torch.ops.%s(", aot_op(op)->name);
    aot_sb_add(&text, c.args.d, c.args.n);
    aot_sb_addz(&text, ")\n        return (y,)\n");
    if (getenv("AOT_FUZZ_SHOW") != NULL) {
        fwrite(text.d, 1, text.n, stderr);
    }
    run_text(&text, c.n, c.in);
    for (unsigned i = 0; i < c.n; i++) {
        aot_array_unref(c.in[i]);
    }
    aot_sb_free(&text);
    aot_sb_free(&c.params);
    aot_sb_free(&c.args);
    aot_arena_free(arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const uint8_t *line = n == 0 ? NULL : memchr(data, '\n', n);
    size_t len = line == NULL ? 0 : (size_t)(line - data);
    source s = {.p = data + len, .n = n - len, .state = 1};
    for (size_t i = 0; i < s.n; i++) {
        s.state = s.state * 31 + s.p[i];
    }
    for (aot_op_id op = 0; len > 0 && op < AOT_N_OPS; op++) {
        const char *name = aot_op(op)->name;
        bool named = strlen(name) == len && memcmp(name, data, len) == 0;
        if (named || (len == 1 && data[0] == '*' && aot_exec_way_of(op) != AOT_EXEC_NONE)) {
            run_op(op, s);
        }
    }
    return 0;
}
