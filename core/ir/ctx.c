/* The context of a unit: strings, types and graphs under one owner.
 *
 * Types are interned by their printed text: a graph of 10,000 nodes has a few hundred distinct
 * annotations, so each is parsed once. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "ir/graph.h"

aot_ctx *aot_ctx_new(void)
{
    aot_ctx *c = aot_xcalloc(1, sizeof *c);
    c->arena = aot_arena_new();
    c->strs = aot_strtab_new();
    aot_vec_push(&c->metas, ((aot_meta){.dtype = AOT_NO_DTYPE}));
    return c;
}

static void free_graph(aot_graph *g)
{
    aot_vec_free(&g->nodes);
    aot_vec_free(&g->args);
    aot_vec_free(&g->srcs);
    aot_vec_free(&g->out_descs);
    aot_vec_free(&g->subgraphs);
    free(g->in_off);
    free(g->in);
    free(g->user_off);
    free(g->user);
    free(g);
}

void aot_graph_free(aot_graph *g)
{
    aot_ctx *c = g->ctx;
    for (size_t i = c->graphs.n; i-- > 0;) {
        if (c->graphs.d[i] == g) {
            memmove(&c->graphs.d[i], &c->graphs.d[i + 1],
                    (c->graphs.n - i - 1) * sizeof *c->graphs.d);
            c->graphs.n--;
            break;
        }
    }
    free_graph(g);
}

void aot_ctx_free(aot_ctx *c)
{
    if (c == NULL) {
        return;
    }
    for (size_t i = 0; i < c->graphs.n; i++) {
        free_graph(c->graphs.d[i]);
    }
    aot_vec_free(&c->graphs);
    aot_vec_free(&c->metas);
    aot_vec_free(&c->dims);
    aot_vec_free(&c->meta_of_text);
    free(c->tensor_slots);
    aot_vec_free(&c->op_of_text);
    aot_vec_free(&c->op_known);
    aot_vec_free(&c->hint_of_symbol);
    aot_vec_free(&c->constants);
    aot_strtab_free(c->strs);
    aot_arena_free(c->arena);
    free(c);
}

void aot_ctx_set_hint(aot_ctx *c, const char *symbol, int64_t value)
{
    aot_str s = aot_intern_z(c->strs, symbol);
    while (c->hint_of_symbol.n <= s) {
        aot_vec_push(&c->hint_of_symbol, AOT_HINT_NONE);
    }
    c->hint_of_symbol.d[s] = value;
}

void aot_ctx_set_constant(aot_ctx *c, const char *attr, aot_arg value)
{
    aot_vec_push(&c->constants, ((aot_constant){aot_intern_z(c->strs, attr), value}));
}

const aot_arg *aot_ctx_constant(const aot_ctx *c, aot_str attr)
{
    for (size_t i = 0; i < c->constants.n; i++) {
        if (c->constants.d[i].attr == attr) {
            return &c->constants.d[i].value;
        }
    }
    return NULL;
}

int64_t aot_ctx_hint(const aot_ctx *c, const char *symbol, size_t n)
{
    aot_str s = aot_intern_find(c->strs, symbol, n);
    return s != 0 && s < c->hint_of_symbol.n ? c->hint_of_symbol.d[s] : AOT_HINT_NONE;
}

aot_op_id aot_ctx_op(aot_ctx *c, aot_str target)
{
    while (c->op_of_text.n <= target) {
        aot_vec_push(&c->op_of_text, AOT_OP_UNKNOWN);
        aot_vec_push(&c->op_known, 0);
    }
    if (!c->op_known.d[target]) {
        c->op_known.d[target] = 1;
        c->op_of_text.d[target] = aot_op_find(aot_text(c, target), aot_str_len(c->strs, target));
    }
    return c->op_of_text.d[target];
}

/* ---- annotations ------------------------------------------------------------------------ */

/* Length of the bracketed list at p ("[4, s0*(s1 + 1)]"), brackets included; 0 if there is none. */
static size_t bracketed(const char *p, const char *end)
{
    int depth = 0;
    for (const char *q = p; q < end; q++) {
        if (*q == '[' || *q == '(') {
            depth++;
        } else if (*q == ']' || *q == ')') {
            if (--depth == 0) {
                return (size_t)(q + 1 - p);
            }
        }
        if (depth == 0) {
            return 0;
        }
    }
    return 0;
}

static aot_dim parse_dim(aot_ctx *c, const char *s, size_t n)
{
    int64_t v = 0;
    size_t i = n > 0 && s[0] == '-' ? 1 : 0;
    bool plain = i < n && n - i < 19;
    for (; i < n && plain; i++) {
        plain = isdigit((unsigned char)s[i]) != 0;
        v = v * 10 + (s[i] - '0');
    }
    if (plain) {
        return (aot_dim){s[0] == '-' ? -v : v, 0};
    }
    return (aot_dim){aot_sym_eval(c, s, n), aot_intern(c->strs, s, n)};
}

/* Appends the dims of "[a, b]" to c->dims; returns how many. */
static unsigned parse_dims(aot_ctx *c, const char *p, size_t n)
{
    const char *end = p + n - 1, *q = ++p;
    unsigned count = 0;
    int depth = 0;
    if (p >= end) {
        return 0;
    }
    for (;; q++) {
        if (q == end || (*q == ',' && depth == 0)) {
            aot_dim d = parse_dim(c, p, (size_t)(q - p));
            aot_vec_push(&c->dims, d);
            count++;
            if (q == end) {
                return count;
            }
            p = q + 1;
            while (p < end && *p == ' ') {
                p++;
            }
        } else if (*q == '(' || *q == '[') {
            depth++;
        } else if (*q == ')' || *q == ']') {
            depth--;
        }
    }
}

/* The kind of a symbolic value from its printed expression: relations are booleans, float symbols
 * are named zf.. or zuf.., true division and ToFloat make floats. */
static aot_sym sym_kind_of(const char *s, size_t n)
{
    static const char *const bools[] = {"Eq(", "Ne(", " < ", " > ", " <= ", " >= ", " == ", "Not("};
    static const char *const floats[] = {"zf",          "zuf",           "ToFloat(",
                                         "IntTrueDiv(", "FloatTrueDiv(", "FloatPow("};
    if ((n == 4 && memcmp(s, "True", n) == 0) || (n == 5 && memcmp(s, "False", n) == 0)) {
        return AOT_SYM_BOOL;
    }
    for (size_t k = 0; k < sizeof bools / sizeof *bools; k++) {
        if (memmem(s, n, bools[k], strlen(bools[k])) != NULL) {
            return AOT_SYM_BOOL;
        }
    }
    for (size_t k = 0; k < sizeof floats / sizeof *floats; k++) {
        if (memmem(s, n, floats[k], strlen(floats[k])) != NULL) {
            return AOT_SYM_FLOAT;
        }
    }
    for (size_t i = 0; i + 1 < n; i++) {
        if (s[i] == '.' && isdigit((unsigned char)s[i + 1])) {
            return AOT_SYM_FLOAT;
        }
    }
    return AOT_SYM_INT;
}

static bool parse_tensor(aot_ctx *c, aot_meta *m, const char *p, const char *end)
{
    const char *q = p;
    while (q < end && isalnum((unsigned char)*q)) {
        q++;
    }
    m->dtype = (uint8_t)aot_dtype_of_abbr(p, (size_t)(q - p));
    size_t n = bracketed(q, end);
    if (m->dtype == AOT_NO_DTYPE || n == 0) {
        return false;
    }
    m->val = AOT_VAL_TENSOR;
    m->dims = (uint32_t)c->dims.n;
    unsigned ndim = parse_dims(c, q, n);
    if (ndim > 255) {
        c->dims.n = m->dims;
        return false;
    }
    m->ndim = (uint8_t)ndim;
    q += n;
    n = bracketed(q, end);
    if (n != 0) {
        size_t before = c->dims.n;
        m->has_stride = parse_dims(c, q, n) == ndim;
        if (!m->has_stride) {
            c->dims.n = before;
        }
        q += n;
    }
    m->device = aot_intern(c->strs, q, (size_t)(end - q));
    return true;
}

static aot_meta parse_meta(aot_ctx *c, const char *text, size_t n)
{
    aot_meta m = {.dtype = AOT_NO_DTYPE};
    const char *end = text + n, *open = memchr(text, '(', n);
    if (n > 5 && memcmp(text, "Sym(", 4) == 0 && end[-1] == ')') {
        m.val = AOT_VAL_SYM;
        m.sym = parse_dim(c, text + 4, n - 5);
        m.sym_kind = (uint8_t)sym_kind_of(text + 4, n - 5);
        return m;
    }
    if (parse_tensor(c, &m, text, end)) {
        return m;
    }
    // a subclass: TwoTensor(f32[4, 8][8, 1]cpu), DTensor(f32[..]cpu, S(0))
    m = (aot_meta){.dtype = AOT_NO_DTYPE};
    if (open != NULL && open > text && end[-1] == ')') {
        const char *in = open + 1, *stop = end - 1, *q = in;
        int depth = 0;
        for (; q < stop && !(depth == 0 && *q == ','); q++) {
            depth += (*q == '[' || *q == '(') - (*q == ']' || *q == ')');
        }
        if (parse_tensor(c, &m, in, q)) {
            m.wrapper = aot_intern(c->strs, text, (size_t)(open - text));
            return m;
        }
        m = (aot_meta){.dtype = AOT_NO_DTYPE};
    }
    return m;
}

aot_meta_id aot_ctx_meta(aot_ctx *c, const char *text, size_t n)
{
    if (n == 0) {
        return 0;
    }
    aot_str s = aot_intern(c->strs, text, n);
    while (c->meta_of_text.n <= s) {
        aot_vec_push(&c->meta_of_text, 0);
    }
    if (c->meta_of_text.d[s] == 0) {
        // the interned text: the caller's may sit in memory that moves
        aot_meta m = parse_meta(c, aot_text(c, s), n);
        m.text = s;
        aot_vec_push(&c->metas, m);
        c->meta_of_text.d[s] = (aot_meta_id)(c->metas.n - 1);
    }
    return c->meta_of_text.d[s];
}

static void add_dims(aot_sb *b, const aot_ctx *c, const aot_dim *d, unsigned n)
{
    aot_sb_addc(b, '[');
    for (unsigned i = 0; i < n; i++) {
        if (i != 0) {
            aot_sb_addz(b, ", ");
        }
        if (d[i].expr != 0) {
            aot_sb_addz(b, aot_text(c, d[i].expr));
        } else {
            aot_sb_add_i64(b, d[i].value);
        }
    }
    aot_sb_addc(b, ']');
}

/* ---- types by their parts: most calls ask for one that is there, and need no text then ------- */

typedef struct tensor_parts {
    const aot_dim *sizes, *strides; /* strides NULL: none */
    aot_str device;
    uint8_t dtype, ndim;
} tensor_parts;

static uint64_t hash_parts(const tensor_parts *p)
{
    uint64_t h = aot_hash_mix((uint64_t)p->dtype << 8 | p->ndim, p->device);
    for (unsigned i = 0; i < p->ndim; i++) {
        h = aot_hash_mix(h, (uint64_t)p->sizes[i].value ^ (uint64_t)p->sizes[i].expr << 40);
    }
    for (unsigned i = 0; p->strides != NULL && i < p->ndim; i++) {
        h = aot_hash_mix(h, (uint64_t)p->strides[i].value ^ (uint64_t)p->strides[i].expr << 40);
    }
    return h;
}

static bool same_dims(const aot_dim *a, const aot_dim *b, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        if (a[i].value != b[i].value || a[i].expr != b[i].expr) {
            return false;
        }
    }
    return true;
}

static bool has_parts(const aot_ctx *c, aot_meta_id id, const tensor_parts *p)
{
    const aot_meta *m = aot_meta_get(c, id);
    return m->dtype == p->dtype && m->ndim == p->ndim && m->device == p->device &&
           m->has_stride == (p->strides != NULL) &&
           same_dims(aot_meta_sizes(c, m), p->sizes, p->ndim) &&
           (p->strides == NULL || same_dims(aot_meta_strides(c, m), p->strides, p->ndim));
}

static tensor_parts parts_of(const aot_ctx *c, aot_meta_id id)
{
    const aot_meta *m = aot_meta_get(c, id);
    return (tensor_parts){aot_meta_sizes(c, m), m->has_stride ? aot_meta_strides(c, m) : NULL,
                          m->device, m->dtype, m->ndim};
}

static aot_meta_id *slot_of_parts(aot_ctx *c, const tensor_parts *p)
{
    uint32_t mask = c->n_tensor_slots - 1, i = (uint32_t)hash_parts(p) & mask;
    while (c->tensor_slots[i] != 0 && !has_parts(c, c->tensor_slots[i], p)) {
        i = (i + 1) & mask;
    }
    return &c->tensor_slots[i];
}

static void grow_slots(aot_ctx *c)
{
    aot_meta_id *old = c->tensor_slots;
    uint32_t n_old = c->n_tensor_slots;
    c->n_tensor_slots = n_old == 0 ? 256 : 2 * n_old;
    c->tensor_slots = aot_xcalloc(c->n_tensor_slots, sizeof *c->tensor_slots);
    for (uint32_t i = 0; i < n_old; i++) {
        if (old[i] != 0) {
            tensor_parts p = parts_of(c, old[i]);
            *slot_of_parts(c, &p) = old[i];
        }
    }
    free(old);
}

static aot_meta_id meta_from_text_of(aot_ctx *c, const tensor_parts *p)
{
    aot_sb b = {0};
    aot_sb_addz(&b, aot_dtype_get((aot_dtype)p->dtype)->abbr);
    add_dims(&b, c, p->sizes, p->ndim);
    if (p->strides != NULL) {
        add_dims(&b, c, p->strides, p->ndim);
    }
    aot_sb_addz(&b, aot_text(c, p->device));
    aot_meta_id m = aot_ctx_meta(c, b.d, b.n);
    aot_sb_free(&b);
    return m;
}

aot_meta_id aot_ctx_tensor_meta(aot_ctx *c, aot_dtype dtype, const aot_dim *sizes,
                                const aot_dim *strides, unsigned ndim, aot_str device)
{
    tensor_parts p = {sizes, strides, device, (uint8_t)dtype, (uint8_t)ndim};
    if (2 * c->n_tensor_metas >= c->n_tensor_slots) {
        grow_slots(c);
    }
    aot_meta_id *slot = slot_of_parts(c, &p);
    if (*slot == 0) {
        aot_meta_id m = meta_from_text_of(c, &p);
        if (!has_parts(c, m, &p)) {
            return m; /* the text says less than the parts, as where a hint differs */
        }
        *slot = m;
        c->n_tensor_metas++;
    }
    return *slot;
}

/* Sizes of damaged input, or of symbols with an impossible hint, may be negative or huge; weights
 * and sums need what is neither. */
static int64_t product(int64_t a, int64_t b)
{
    int64_t n;
    if (a <= 0 || b <= 0) {
        return 0;
    }
    return __builtin_mul_overflow(a, b, &n) || n > INT64_MAX / 64 ? INT64_MAX / 64 : n;
}

int64_t aot_meta_numel(const aot_ctx *c, aot_meta_id id)
{
    const aot_meta *m = aot_meta_get(c, id);
    const aot_dim *d = aot_meta_sizes(c, m);
    int64_t n = 1;
    for (unsigned i = 0; i < m->ndim; i++) {
        n = product(n, aot_dim_size(c, &d[i]));
    }
    return n;
}

int64_t aot_meta_bytes(const aot_ctx *c, aot_meta_id id)
{
    const aot_meta *m = aot_meta_get(c, id);
    switch (m->val) {
    case AOT_VAL_TENSOR:
        return product(aot_meta_numel(c, id), aot_dtype_get(m->dtype)->bytes);
    case AOT_VAL_SYM:
        return 1;
    default:
        return 0;
    }
}
