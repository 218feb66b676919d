/* The operator table and its look-up.
 *
 * ops.def is read once here into an array of rows with designated initialisers. A row's text
 * "aten::mul.Tensor(Tensor self, ...) -> ..." is the only place where its name stands; names as FX
 * writes them ("aten.mul.Tensor", "aten.relu.default") and the two hash tables (full names,
 * packets) are made from it at first use, in about a millisecond.
 *
 * Mirrors: torch/_functorch/partitioners.py:get_default_op_list, torch/fx/node.py
 * (_side_effectful_functions), the schemas and tags of torch.ops. */
#include "ops/optab.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/arena.h"
#include "base/hash.h"
#include "ops/op_ids.h"
#include "ops/schema.h"

/* The words that cells use. */
enum {
    /* TAGS */
    CORE = AOT_TAG_CORE,
    POINTWISE = AOT_TAG_POINTWISE,
    INPLACE_VIEW = AOT_TAG_INPLACE_VIEW,
    VIEW_COPY = AOT_TAG_VIEW_COPY,
    RANDOM_SEEDED = AOT_TAG_NONDETERMINISTIC_SEEDED,
    NONDETERMINISTIC = AOT_TAG_NONDETERMINISTIC_BITWISE,
    DYNAMIC_SHAPE = AOT_TAG_DYNAMIC_OUTPUT_SHAPE,
    DATA_DEPENDENT = AOT_TAG_DATA_DEPENDENT_OUTPUT,
    GENERATED = AOT_TAG_GENERATED,
    NOT_PT2 = AOT_TAG_PT2_COMPLIANT, /* flips the bit that is set by default */
    CONTIGUOUS_STRIDES = AOT_TAG_NEEDS_CONTIGUOUS_STRIDES,
    FIXED_STRIDE_ORDER = AOT_TAG_NEEDS_FIXED_STRIDE_ORDER,
    EXACT_STRIDES = AOT_TAG_NEEDS_EXACT_STRIDES,
    FLEXIBLE_LAYOUT = AOT_TAG_FLEXIBLE_LAYOUT,
    CUDAGRAPH_UNSAFE = AOT_TAG_CUDAGRAPH_UNSAFE,
    REDUCTION = AOT_TAG_REDUCTION,
    MAYBE_ALIASING = AOT_TAG_MAYBE_ALIASING_OR_MUTATING,
    /* PART */
    FUSIBLE = AOT_PART_FUSIBLE,
    RECOMPUTABLE = AOT_PART_RECOMPUTABLE,
    COMPUTE_INTENSIVE = AOT_PART_COMPUTE_INTENSIVE,
    RANDOM = AOT_PART_RANDOM,
    VIEW = AOT_PART_VIEW,
    CSE_RANDOM = AOT_PART_CSE_RANDOM,
    /* FLAGS */
    SIDE_EFFECT = AOT_OPF_SIDE_EFFECT,
    CORE_DECOMP = AOT_OPF_CORE_DECOMP,
    INDUCTOR_DECOMP = AOT_OPF_INDUCTOR_DECOMP,
    COMPOSITE_IMPLICIT = AOT_OPF_COMPOSITE_IMPLICIT,
    COMPOSITE_EXPLICIT = AOT_OPF_COMPOSITE_EXPLICIT,
    PYTHON = AOT_OPF_PYTHON,
    HIGHER_ORDER = AOT_OPF_HIGHER_ORDER,
    AUTOGRAD_DECOMP = AOT_OPF_AUTOGRAD_DECOMP,
    EFFECTFUL = AOT_OPF_EFFECTFUL,
    INDUCTOR_RANDOM = AOT_OPF_INDUCTOR_DECOMP | AOT_OPF_RANDOM_DECOMP
};

typedef struct row {
    const char *text; /* "aten::mul.Tensor(...) -> Tensor" */
    const char *doc;
    const char *rule[AOT_N_RULES];
    uint32_t tags;
    uint16_t flags, models;
    aot_op_id functional;
    uint8_t part;
    uint8_t gap[AOT_N_RULES];
} row;

#define RULE_CELL(kind, fn) .rule[AOT_RULE_##kind] = #fn, .gap[AOT_RULE_##kind] = AOT_GAP_written,
#define GAP_CELL(kind, reason) .gap[AOT_RULE_##kind] = AOT_GAP_##reason,

static const row rows[AOT_N_OPS] = {
    [AOT_OP_UNKNOWN] = {.text = "?"},
#define OP(id, text_, cells) [AOT_OP_##id] = {.text = text_, cells},
#define DOC(sentence) .doc = sentence,
#define TAGS(bits) .tags = (bits) ^ AOT_TAG_PT2_COMPLIANT,
#define PART(bits) .part = bits,
#define FLAGS(bits) .flags = bits,
#define FREQ(n) .models = n,
#define FUNCTIONAL_ROW(id) .functional = AOT_OP_##id,
#define META(fn) RULE_CELL(META, fn)
#define VJP(fn) RULE_CELL(VJP, fn)
#define DECOMP(fn) RULE_CELL(DECOMP, fn)
#define KERN(fn) RULE_CELL(KERN, fn)
#define NO_META(reason) GAP_CELL(META, reason)
#define NO_VJP(reason) GAP_CELL(VJP, reason)
#define NO_DECOMP(reason) GAP_CELL(DECOMP, reason)
#define NO_KERN(reason) GAP_CELL(KERN, reason)
#include "ops/op_cells.h"
};

_Static_assert(AOT_OP_GETITEM == (int)AOT_OP_operator_getitem, "graph.h relies on the first row");
_Static_assert(AOT_N_OPS < UINT16_MAX, "aot_op_id has 16 bits");

static const struct {
    const char *name, *title;
    aot_op_id first;
} families[] = {
#define FAMILY(id, title) {#id, title, AOT_FAMILY_##id},
#include "ops/op_cells.h"
};

/* Kernels are listed apart: they are made for a few hundred operators only. */
static const char *const kernels[AOT_N_OPS] = {
#define KERNEL(op, fn) [AOT_OP_##op] = #fn,
#include "ops/kernels.def"
#undef KERNEL
#define HOP(op, fn) [AOT_OP_##op] = #fn,
#define NO_HOP(op, reason)
#include "ops/hops.def"
#undef HOP
#undef NO_HOP
#define BY_PYTHON(op) [AOT_OP_##op] = "ex_python",
#define NO_KERNEL(op, gap)
#define NO_KERNELS(family, gap)
#include "ops/kernel_gaps.def"
#undef BY_PYTHON
#undef NO_KERNEL
};

/* Why others have none: of an operator, else of its family by its first row. */
static const struct {
    aot_op_id op, first;
    aot_gap gap;
} kernel_gaps[] = {
#define BY_PYTHON(op)
#define NO_KERNEL(op, gap) {AOT_OP_##op, 0, AOT_GAP_##gap},
#undef NO_KERNELS
#define NO_KERNELS(family, gap) {0, AOT_FAMILY_##family, AOT_GAP_##gap},
#include "ops/kernel_gaps.def"
#undef BY_PYTHON
#undef NO_KERNEL
#undef NO_KERNELS
#define HOP(op, fn)
#define NO_HOP(op, reason) {AOT_OP_##op, 0, AOT_GAP_textless},
#include "ops/hops.def"
#undef HOP
#undef NO_HOP
};

enum {
    N_FAMILIES = sizeof families / sizeof families[0],
    NAME_SLOTS = 1 << 14, /* powers of two, at most half full */
    PACKET_SLOTS = 1 << 13
};
_Static_assert(AOT_N_OPS < NAME_SLOTS / 2, "grow NAME_SLOTS");

static aot_op_info infos[AOT_N_OPS];
static aot_op_id by_name[NAME_SLOTS];
static aot_op_id by_packet[PACKET_SLOTS]; /* the packet's first row */
static char *names; /* texts of names and packets; lives as long as the program */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static atomic_bool ready;

/* Appends s[0..n) with :: as a dot and a 0 after it; returns the place behind. */
static char *put_dotted(char *at, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (s[i] == ':' && i + 1 < n && s[i + 1] == ':') {
            i++;
            *at++ = '.';
        } else {
            *at++ = s[i];
        }
    }
    *at++ = '\0';
    return at;
}

/* "aten::mul.Tensor(" gives name aten.mul.Tensor, packet aten.mul; at is where the texts go. */
static char *put_names(char *at, aot_op_info *o, const row *r)
{
    const char *paren = strchr(r->text, '(');
    const char *op = strstr(r->text, "::");
    o->name = at;
    if (!paren) {
        o->packet = at;
        return put_dotted(at, r->text, strlen(r->text));
    }
    assert(op && op < paren);
    op += 2;
    o->schema = op;
    const char *dot = memchr(op, '.', (size_t)(paren - op));
    at = put_dotted(at, r->text, (size_t)(paren - r->text));
    if (!dot) {
        memcpy(at - 1, ".default", sizeof ".default");
        at += sizeof ".default" - 1;
    }
    o->packet = at;
    return put_dotted(at, r->text, (size_t)((dot ? dot : paren) - r->text));
}

/* The slot that holds this text, or the empty one where it belongs. */
static aot_op_id *slot_of(aot_op_id *slots, size_t n_slots, bool packets, const char *s, size_t n)
{
    for (size_t i = aot_hash64(s, n) & (n_slots - 1);; i = (i + 1) & (n_slots - 1)) {
        if (slots[i] == AOT_OP_UNKNOWN) {
            return &slots[i];
        }
        const aot_op_info *o = &infos[slots[i]];
        const char *text = packets ? o->packet : o->name;
        if (strncmp(text, s, n) == 0 && text[n] == '\0') {
            return &slots[i];
        }
    }
}

static void build(void)
{
    size_t room = 0, n_packets = 0;
    for (size_t i = 0; i < AOT_N_OPS; i++) {
        room += 2 * (strcspn(rows[i].text, "(") + sizeof ".default");
    }
    char *at = names = aot_xmalloc(room);
    for (size_t i = 0; i < AOT_N_OPS; i++) {
        const row *r = &rows[i];
        aot_op_info *o = &infos[i];
        *o = (aot_op_info){.doc = r->doc, .tags = r->tags, .part = r->part, .flags = r->flags};
        at = put_names(at, o, r);
        if (o->schema) {
            bool writes, aliases;
            aot_schema_effects(o->schema, &writes, &aliases);
            o->flags |= (writes ? AOT_OPF_MUTATES : 0) | (aliases ? AOT_OPF_ALIASES : 0);
        }
        if (i == AOT_OP_UNKNOWN) {
            continue;
        }
        *slot_of(by_name, NAME_SLOTS, false, o->name, strlen(o->name)) = (aot_op_id)i;
        aot_op_id *p = slot_of(by_packet, PACKET_SLOTS, true, o->packet, strlen(o->packet));
        if (*p == AOT_OP_UNKNOWN) {
            *p = (aot_op_id)i;
            n_packets++;
        }
    }
    assert((size_t)(at - names) <= room && n_packets < PACKET_SLOTS / 2);
    atomic_store_explicit(&ready, true, memory_order_release);
}

static void need_table(void)
{
    if (!atomic_load_explicit(&ready, memory_order_acquire)) {
        pthread_once(&once, build);
    }
}

static const row *row_of(aot_op_id id)
{
    return &rows[id < AOT_N_OPS ? id : AOT_OP_UNKNOWN];
}

size_t aot_op_count(void)
{
    return AOT_N_OPS;
}

const aot_op_info *aot_op(aot_op_id id)
{
    need_table();
    return &infos[id < AOT_N_OPS ? id : AOT_OP_UNKNOWN];
}

/* Drops a leading "torch.ops.". */
static void drop_prefix(const char **s, size_t *n)
{
    static const char prefix[] = "torch.ops.";
    size_t k = sizeof prefix - 1;
    if (*n > k && memcmp(*s, prefix, k) == 0) {
        *s += k;
        *n -= k;
    }
}

aot_op_id aot_op_find(const char *name, size_t n)
{
    need_table();
    drop_prefix(&name, &n);
    return *slot_of(by_name, NAME_SLOTS, false, name, n);
}

uint32_t aot_op_packet_part(const char *packet, size_t n)
{
    need_table();
    drop_prefix(&packet, &n);
    return infos[*slot_of(by_packet, PACKET_SLOTS, true, packet, n)].part;
}

/* ---- rules and gaps ---------------------------------------------------------------------- */

const char *aot_rule_name(aot_rule r)
{
    static const char *const text[AOT_N_RULES] = {"meta", "vjp", "decomp", "kern"};
    return text[r];
}

static const struct {
    const char *name, *sentence;
} gaps[AOT_N_GAPS] = {
    [AOT_GAP_unstated] = {"unstated", "The row says nothing: a defect."},
    [AOT_GAP_written] = {"written", "There is a rule."},
#define GAP(id, sentence) [AOT_GAP_##id] = {#id, sentence},
#include "ops/gaps.def"
#undef GAP
};

const char *aot_gap_name(aot_gap g)
{
    return gaps[g].name;
}

const char *aot_gap_sentence(aot_gap g)
{
    return gaps[g].sentence;
}

/* An operator without a kernel is run by its decomposition, if it has one. */
static aot_gap kernel_gap(aot_op_id id)
{
    const row *r = row_of(id);
    if (id < AOT_N_OPS && kernels[id] != NULL) {
        return AOT_GAP_written;
    }
    if (r->gap[AOT_RULE_KERN] != AOT_GAP_todo || r->gap[AOT_RULE_DECOMP] == AOT_GAP_written) {
        return r->gap[AOT_RULE_KERN] != AOT_GAP_todo ? (aot_gap)r->gap[AOT_RULE_KERN]
                                                     : AOT_GAP_decomposed;
    }
    aot_op_id first = families[aot_op_family(id)].first;
    aot_gap of_family = AOT_GAP_todo;
    for (size_t i = 0; i < sizeof kernel_gaps / sizeof *kernel_gaps; i++) {
        if (kernel_gaps[i].op == id && id != 0) {
            return kernel_gaps[i].gap;
        }
        of_family = kernel_gaps[i].op == 0 && kernel_gaps[i].first == first ? kernel_gaps[i].gap
                                                                            : of_family;
    }
    return of_family;
}

aot_gap aot_op_gap(aot_op_id id, aot_rule r)
{
    return r == AOT_RULE_KERN ? kernel_gap(id) : (aot_gap)row_of(id)->gap[r];
}

const char *aot_op_rule(aot_op_id id, aot_rule r)
{
    return r == AOT_RULE_KERN && id < AOT_N_OPS ? kernels[id] : row_of(id)->rule[r];
}

aot_op_id aot_op_next_gap(aot_op_id id, aot_rule r, aot_gap g)
{
    for (size_t i = (size_t)id + 1; i < AOT_N_OPS; i++) {
        if (aot_op_gap((aot_op_id)i, r) == g) {
            return (aot_op_id)i;
        }
    }
    return AOT_OP_UNKNOWN;
}

aot_op_id aot_op_functional(aot_op_id id)
{
    return row_of(id)->functional;
}

unsigned aot_op_models(aot_op_id id)
{
    return row_of(id)->models;
}

/* ---- families ---------------------------------------------------------------------------- */

size_t aot_family_count(void)
{
    return N_FAMILIES;
}

const char *aot_family_name(size_t family)
{
    return families[family].name;
}

const char *aot_family_title(size_t family)
{
    return families[family].title;
}

void aot_family_rows(size_t family, aot_op_id *first, aot_op_id *end)
{
    *first = families[family].first;
    *end = family + 1 < N_FAMILIES ? families[family + 1].first : (aot_op_id)AOT_N_OPS;
}

size_t aot_op_family(aot_op_id id)
{
    size_t low = 0;
    for (size_t high = N_FAMILIES; high - low > 1;) {
        size_t mid = low + (high - low) / 2;
        *(families[mid].first <= id ? &low : &high) = mid;
    }
    return low;
}

/* ---- names of bits ----------------------------------------------------------------------- */

static void each_bit(uint32_t bits, const char *const *text, size_t n,
                     void (*fn)(void *, const char *), void *arg)
{
    for (size_t i = 0; i < n; i++) {
        if (bits >> i & 1) {
            fn(arg, text[i]);
        }
    }
}

void aot_op_each_tag(uint32_t tags, void (*fn)(void *, const char *), void *arg)
{
    // clang-format off
    static const char *const text[] = {
        "core", "pointwise", "inplace_view", "view_copy", "nondeterministic_seeded",
        "nondeterministic_bitwise", "dynamic_output_shape", "data_dependent_output", "generated",
        "pt2_compliant_tag", "needs_contiguous_strides", "needs_fixed_stride_order",
        "needs_exact_strides", "flexible_layout", "cudagraph_unsafe", "reduction", "other",
        "maybe_aliasing_or_mutating"};
    // clang-format on
    each_bit(tags, text, sizeof text / sizeof text[0], fn, arg);
}

void aot_op_each_part(uint32_t part, void (*fn)(void *, const char *), void *arg)
{
    static const char *const text[] = {"fusible", "recomputable", "compute_intensive",
                                       "random",  "view",         "cse_random"};
    each_bit(part, text, sizeof text / sizeof text[0], fn, arg);
}

void aot_op_each_flag(uint32_t flags, void (*fn)(void *, const char *), void *arg)
{
    static const char *const text[] = {"mutates",
                                       "aliases",
                                       "side_effect",
                                       "core_decomp",
                                       "inductor_decomp",
                                       "composite_implicit",
                                       "composite_explicit",
                                       "python",
                                       "higher_order"};
    each_bit(flags, text, sizeof text / sizeof text[0], fn, arg);
}
