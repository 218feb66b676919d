/* The overloads of a packet in the order of PyTorch's generated parser: sorted by signature, then
 * those with Tensors before those with numbers.
 * Mirrors torchgen/packaged/autograd/gen_python_functions.py:sort_overloads. */
#include "lower/internal.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/hash.h"
#include "ops/op_ids.h"

/* ---- packets --------------------------------------------------------------------------------- */

/* All rows with a schema, chained by the hash of their packet's name; made once, then only read. */
enum { CHAINS = 1 << 12 };
static aot_op_id chain_first[CHAINS], chain_next[AOT_N_OPS];
static pthread_once_t chains_once = PTHREAD_ONCE_INIT;

static unsigned chain_of(const char *packet, size_t n)
{
    return (unsigned)(aot_hash64(packet, n) % CHAINS);
}

/* TorchScript's functions on numbers, lists and strings; aten::add has some of these too. */
static bool is_script_only(aot_op_id id)
{
    size_t family = aot_op_family(id);
    const char *name = family < aot_family_count() ? aot_family_name(family) : "";
    return strncmp(name, "script_", 7) == 0 || strcmp(name, "test") == 0;
}

static void make_chains(void)
{
    for (aot_op_id id = AOT_N_OPS - 1; id > AOT_OP_UNKNOWN; id--) {
        const aot_op_info *o = aot_op(id);
        if (o->schema != NULL) {
            unsigned c = chain_of(o->packet, strlen(o->packet));
            chain_next[id] = chain_first[c];
            chain_first[c] = id;
        }
    }
}

/* What is kept for a trace. */
typedef struct lower_cache {
    const aot_packet *packet[AOT_N_OPS]; /* by the packet's first row */
} lower_cache;

static lower_cache *cache_of(aot_tracer *t)
{
    void **slot = aot_tracer_lower_slot(t);
    if (*slot == NULL) {
        *slot = AOT_NEW(aot_tracer_arena(t), lower_cache);
    }
    return *slot;
}

/* ---- the order of overloads ------------------------------------------------------------------ */

/* The type of an argument as torchgen writes it, without alias sets: "SymInt[2]?". */
static void type_text(char buf[48], const aot_schema_arg *a)
{
    int n = snprintf(buf, 48, "%s%s", aot_type_name(a->kind), a->item_optional ? "?" : "");
    if (a->is_list && a->list_size > 0) {
        n += snprintf(buf + n, 48 - (size_t)n, "[%d]", (int)a->list_size);
    } else if (a->is_list) {
        n += snprintf(buf + n, 48 - (size_t)n, "[]");
    }
    snprintf(buf + n, 48 - (size_t)n, "%s", a->optional ? "?" : "");
}

/* The type as Python signatures write it. */
static void signature_type(aot_sb *b, const aot_schema_arg *a)
{
    static const struct {
        aot_type kind;
        const char *one, *list;
    } names[] = {
        {AOT_TYPE_TENSOR, "Tensor", "TensorList"},
        {AOT_TYPE_INT, "int64_t", "IntArrayRef"},
        {AOT_TYPE_SYM_INT, "SymInt", "SymIntArrayRef"},
        {AOT_TYPE_FLOAT, "double", "ArrayRef<double>"},
        {AOT_TYPE_BOOL, "bool", "::std::array<bool>"},
        {AOT_TYPE_SCALAR, "Scalar", "ScalarList"},
        {AOT_TYPE_DIMNAME, "Dimname", "DimnameList"},
        {AOT_TYPE_STR, "c10::string_view", "ArrayRef<c10::string_view>"},
    };
    const char *name = aot_type_name(a->kind);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (names[i].kind == a->kind) {
            name = a->is_list ? names[i].list : names[i].one;
        }
    }
    aot_sb_addz(b, name);
    if (a->is_list && a->list_size > 0) {
        aot_sb_addf(b, "[%d]", (int)a->list_size);
    }
    aot_sb_addz(b, a->optional ? "?" : "");
}

/* "Tensor self, *, Scalar alpha=1)": what overloads are sorted by, out= left out. */
static const char *signature_of_schema(aot_arena *arena, const aot_schema *s)
{
    aot_sb b = {0};
    bool star = false;
    for (unsigned i = 0; i < s->n_args; i++) {
        const aot_schema_arg *a = &s->args[i];
        if (aot_l_is_out(a)) {
            continue;
        }
        aot_sb_addz(&b, b.n > 0 ? ", " : "");
        if (a->kwarg_only && !star) {
            aot_sb_addz(&b, "*, ");
            star = true;
        }
        signature_type(&b, a);
        aot_sb_addf(&b, " %.*s", (int)a->name.n, a->name.s);
        if (a->def.n > 0) {
            aot_sb_addf(&b, "=%.*s", (int)a->def.n, a->def.s);
        }
    }
    aot_sb_addc(&b, ')');
    const char *text = aot_arena_strndup(arena, b.d, b.n);
    aot_sb_free(&b);
    return text;
}

static bool has(const char *text, const char *part)
{
    return strstr(text, part) != NULL;
}

/* Schemas print names of dimensions as strings. */
static bool is_dimname(const char *type)
{
    return has(type, "Dimname") || aot_starts_with(type, "str[");
}

static bool is_type_smaller(const char *a, const char *b)
{
    return (strcmp(a, "Scalar") == 0 && strcmp(b, "Tensor") == 0) ||
           (strcmp(a, "Scalar?") == 0 && strcmp(b, "Tensor?") == 0) ||
           (is_dimname(a) && !is_dimname(b)) ||
           (strcmp(a, "int[]") == 0 && (strcmp(b, "int") == 0 || strcmp(b, "int?") == 0)) ||
           (strcmp(a, "Tensor[]") == 0 && has(b, "[]")) ||
           (strcmp(a, "SymInt[]") == 0 && strcmp(b, "int[]") == 0) ||
           ((strcmp(a, "SymInt") == 0 || strcmp(a, "int") == 0) && strcmp(b, "Tensor") == 0);
}

/* Whether x comes after y in PyTorch's partial order. */
static bool is_smaller(const aot_overload *x, const aot_overload *y)
{
    bool equal = true;
    if (x->schema->n_args != y->schema->n_args) {
        return false;
    }
    for (unsigned i = 0; i < x->schema->n_args; i++) {
        char a[48], b[48];
        type_text(a, &x->schema->args[i]);
        type_text(b, &y->schema->args[i]);
        if (strcmp(a, b) != 0) {
            equal = false;
            if (!is_type_smaller(a, b)) {
                return false;
            }
        }
    }
    return !equal;
}

/* Topological: an overload is placed when all that it is smaller than are placed. */
static void sort_overloads(aot_arena *arena, aot_overload *o, unsigned n)
{
    for (unsigned i = 1; i < n; i++) {
        aot_overload x = o[i];
        unsigned j = i;
        for (; j > 0 && strcmp(x.signature, o[j - 1].signature) < 0; j--) {
            o[j] = o[j - 1];
        }
        o[j] = x;
    }
    unsigned *waits = AOT_NEW_ARRAY(arena, unsigned, n), placed = 0;
    aot_overload *sorted = AOT_NEW_ARRAY(arena, aot_overload, n);
    unsigned *order = AOT_NEW_ARRAY(arena, unsigned, n);
    for (unsigned i = 0; i < n; i++) {
        for (unsigned j = 0; j < n; j++) {
            waits[i] += is_smaller(&o[i], &o[j]);
        }
        if (waits[i] == 0) {
            order[placed++] = i;
        }
    }
    for (unsigned k = 0; k < placed; k++) {
        sorted[k] = o[order[k]];
        for (unsigned j = 0; j < n; j++) {
            if (waits[j] != 0 && is_smaller(&o[j], &o[order[k]]) && --waits[j] == 0) {
                order[placed++] = j;
            }
        }
    }
    memcpy(o, sorted, placed * sizeof *o);
}

/* torchgen's SKIP_PYTHON_BINDINGS_SIGNATURES, and operators that only the code generator made. */
static bool is_bound(aot_op_id id)
{
    static const aot_op_id skipped[] = {
        AOT_OP_aten_add_Scalar, AOT_OP_aten_add__Scalar, AOT_OP_aten_sub_Scalar,
        AOT_OP_aten_sub__Scalar, AOT_OP_aten_mul_Scalar, AOT_OP_aten_mul__Scalar,
        AOT_OP_aten_div_Scalar, AOT_OP_aten_div__Scalar,
    };
    for (unsigned i = 0; i < sizeof skipped / sizeof *skipped; i++) {
        if (skipped[i] == id) {
            return false;
        }
    }
    uint32_t tags = aot_op(id)->tags;
    return (tags & AOT_TAG_GENERATED) == 0 || (tags & AOT_TAG_VIEW_COPY) != 0;
}

static const aot_packet *new_packet(aot_tracer *t, aot_op_id first, unsigned n, bool script)
{
    aot_packet *p = AOT_NEW(aot_tracer_arena(t), aot_packet);
    p->name = aot_op(first)->packet;
    p->overloads = AOT_NEW_ARRAY(aot_tracer_arena(t), aot_overload, n);
    for (aot_op_id id = first; id != 0; id = chain_next[id]) {
        if (strcmp(aot_op(id)->packet, p->name) == 0 && is_script_only(id) == script) {
            const aot_value *defaults;
            const aot_schema *s = aot_op_schema(t, id, &defaults);
            aot_overload o = {.op = id, .schema = s, .defaults = defaults, .bound = is_bound(id)};
            o.signature = signature_of_schema(aot_tracer_arena(t), s);
            for (unsigned i = 0; i < s->n_args; i++) {
                o.takes_out |= aot_l_is_out(&s->args[i]);
            }
            p->overloads[p->n++] = o;
        }
    }
    if (p->n > 1) {
        sort_overloads(aot_tracer_arena(t), p->overloads, p->n);
    }
    return p;
}

const aot_packet *aot_l_packet(aot_tracer *t, const char *name)
{
    char dotted[160];
    const char *colons = strstr(name, "::");
    if (colons != NULL) {
        snprintf(dotted, sizeof dotted, "%.*s.%s", (int)(colons - name), name, colons + 2);
        name = dotted;
    }
    pthread_once(&chains_once, make_chains);
    aot_op_id first[2] = {0};
    unsigned n[2] = {0};
    for (aot_op_id id = chain_first[chain_of(name, strlen(name))]; id != 0; id = chain_next[id]) {
        if (strcmp(aot_op(id)->packet, name) == 0) {
            bool script = is_script_only(id);
            first[script] = first[script] != 0 ? first[script] : id;
            n[script]++;
        }
    }
    bool script = n[0] == 0; /* what has no tensor form: aten::_print */
    if (n[script] == 0) {
        return NULL;
    }
    lower_cache *c = cache_of(t);
    if (c->packet[first[script]] == NULL) {
        c->packet[first[script]] = new_packet(t, first[script], n[script], script);
    }
    return c->packet[first[script]];
}
