/* Numbers and reasons in words: bytes, counts, times, types, operators, the class of a value, why
 * it was saved or recomputed, and how its weight came about. One place, so that the pictures, the
 * terminal and the commands say the same. */
#include "viewers/format.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "viewers/chart.h"

const char *aot_format_bytes(char *buf, size_t size, int64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double v = bytes < 0 ? -(double)bytes : (double)bytes;
    int u = 0;
    // 1023.95 KiB would print as 1024.0 KiB
    while (u < 6 && v >= (u == 0 ? 1024.0 : u == 1 ? 1023.95 : 1023.995)) {
        v /= 1024.0;
        u++;
    }
    snprintf(buf, size, "%s%.*f %s", bytes < 0 ? "-" : "",
             u == 0   ? 0
             : u == 1 ? 1
                      : 2,
             v, units[u]);
    return buf;
}

const char *aot_format_flops(char *buf, size_t size, double flops)
{
    return aot_chart_value(buf, size, AOT_CHART_FLOPS, flops);
}

const char *aot_format_change(char *buf, size_t size, int64_t bytes)
{
    char text[32];
    if (bytes == 0) {
        snprintf(buf, size, "no change");
    } else {
        snprintf(buf, size, "%c%s", bytes > 0 ? '+' : '-',
                 aot_format_bytes(text, sizeof text, bytes > 0 ? bytes : -bytes));
    }
    return buf;
}

const char *aot_format_count(char *buf, size_t size, int64_t n)
{
    char digits[32];
    int len = snprintf(digits, sizeof digits, "%lld", (long long)n);
    size_t o = 0;
    for (int i = 0; i < len && o + 1 < size; i++) {
        bool comma = i > 0 && digits[i - 1] != '-' && (len - i) % 3 == 0;
        if (comma && o + 2 < size) {
            buf[o++] = ',';
        }
        buf[o++] = digits[i];
    }
    if (size > 0) {
        buf[o] = 0;
    }
    return buf;
}

const char *aot_format_duration(char *buf, size_t size, double s)
{
    if (s < 0) {
        snprintf(buf, size, "?");
    } else if (s < 999.5e-9) {
        snprintf(buf, size, "%.0f ns", s * 1e9);
    } else if (s < 999.5e-6) {
        snprintf(buf, size, "%.3g µs", s * 1e6);
    } else if (s < 0.9995) {
        snprintf(buf, size, "%.3g ms", s * 1e3);
    } else if (s < 59.995) {
        snprintf(buf, size, "%.2f s", s);
    } else {
        long t = lround(s);
        if (t < 3600) {
            snprintf(buf, size, "%ld m %02ld s", t / 60, t % 60);
        } else {
            snprintf(buf, size, "%ld h %02ld m", t / 3600, t / 60 % 60);
        }
    }
    return buf;
}

const char *aot_format_type(char *buf, size_t size, const aot_ctx *c, aot_meta_id id)
{
    const aot_meta *m = aot_meta_get(c, id);
    const char *text = aot_text(c, m->text);
    if (m->val != AOT_VAL_TENSOR) {
        snprintf(buf, size, "%s", text);
        return buf;
    }
    // "f32[64, 128][128, 1]cpu": up to the first closing bracket
    const char *open = strchr(text, '[');
    const char *close = open ? strchr(open, ']') : NULL;
    int n = close ? (int)(close - text + 1) : (int)strlen(text);
    snprintf(buf, size, "%.*s", n, text);
    return buf;
}

const char *aot_format_op(char *buf, size_t size, const aot_graph *g, aot_node_id id)
{
    const aot_node *n = aot_node_at(g, id);
    const char *t = aot_node_target(g, id);
    if (n->kind == AOT_PLACEHOLDER || n->kind == AOT_OUTPUT) {
        snprintf(buf, size, "%s", aot_node_kind_name(n->kind));
        return buf;
    }
    static const char *const prefixes[] = {"torch.ops.higher_order.", "torch.ops."};
    for (size_t i = 0; i < 2; i++) {
        if (aot_starts_with(t, prefixes[i])) {
            t += strlen(prefixes[i]);
            break;
        }
    }
    size_t len = strlen(t);
    if (aot_ends_with(t, ".default")) {
        len -= strlen(".default");
    }
    snprintf(buf, size, "%s%.*s", n->kind == AOT_CALL_METHOD ? "." : "", (int)len, t);
    return buf;
}

const char *aot_format_source(char *buf, size_t size, const aot_graph *g, aot_node_id id)
{
    const aot_src *s = &g->srcs.d[aot_node_at(g, id)->src];
    const char *file = aot_text(g->ctx, s->file);
    if (!*file) {
        if (size > 0) {
            buf[0] = 0;
        }
        return buf;
    }
    snprintf(buf, size, "%s:%u", aot_file_name(file), s->line);
    return buf;
}

/* ---- classes -------------------------------------------------------------------------------- */

static const aot_class_info classes[] = {
#define CLASS(id, letter, name, style, light, dark, border, sentence) \
    {letter, name, AOT_STYLE_##style, light, dark, border, sentence},
#include "viewers/classes.def"
#undef CLASS
};

const aot_class_info *aot_class_get(aot_class c)
{
    return &classes[(unsigned)c < AOT_N_CLASSES ? c : AOT_CLASS_FORWARD];
}

aot_node_id *aot_view_map(const aot_graph *g, const aot_partition *p)
{
    if (!p || !p->cut) {
        return NULL;
    }
    const aot_graph *cut = p->cut;
    aot_strtab *strs = cut->ctx->strs;
    size_t n_strs = aot_strtab_count(strs);
    aot_node_id *by_name = aot_xmalloc((n_strs + 1) * sizeof *by_name);
    aot_node_id *map = aot_xmalloc((g->nodes.n + 1) * sizeof *map);
    memset(by_name, 0xff, (n_strs + 1) * sizeof *by_name); // AOT_NO_NODE
    for (size_t i = 0; i < cut->nodes.n && i < p->n_nodes; i++) {
        by_name[cut->nodes.d[i].name] = (aot_node_id)i;
    }
    for (size_t i = 0; i < g->nodes.n; i++) {
        aot_str s = g->nodes.d[i].name;
        if (g->ctx != cut->ctx) {
            const char *text = aot_text(g->ctx, s);
            s = aot_intern_find(strs, text, strlen(text));
        }
        bool known = s != 0 && s < n_strs && g->nodes.d[i].kind != AOT_OUTPUT;
        map[i] = known ? by_name[s] : AOT_NO_NODE;
    }
    free(by_name);
    return map;
}

// First value among the positional arguments, lists included.
static aot_node_id first_input(const aot_graph *g, const aot_node *n)
{
    const aot_arg *a = aot_node_args(g, n);
    for (uint32_t i = 0; i < n->n_args; i++) {
        const aot_arg *x = &a[i];
        while ((x->kind == AOT_ARG_LIST || x->kind == AOT_ARG_TUPLE) && x->n > 0) {
            x = aot_arg_items(g, x);
        }
        if (x->kind == AOT_ARG_NODE) {
            return x->u.node;
        }
    }
    return AOT_NO_NODE;
}

static bool is_view_op(const aot_node *n)
{
    const aot_op_info *op = aot_node_op(n);
    bool aliases = (op->flags & AOT_OPF_ALIASES) && !(op->flags & AOT_OPF_MUTATES);
    return n->kind == AOT_CALL_FUNCTION && ((op->part & AOT_PART_VIEW) || aliases);
}

aot_node_id aot_view_base(const aot_graph *g, aot_node_id id)
{
    const aot_node *n = aot_node_at(g, id);
    if (aot_is_getitem(g, n)) { // one output of split, unbind, chunk
        aot_node_id tuple = first_input(g, n);
        if (tuple == AOT_NO_NODE) {
            return AOT_NO_NODE;
        }
        n = aot_node_at(g, tuple);
    }
    return is_view_op(n) ? first_input(g, n) : AOT_NO_NODE;
}

bool aot_is_collective(const aot_graph *g, aot_node_id id)
{
    return aot_node_is_collective(g, id);
}

bool aot_is_mutation(const aot_graph *g, aot_node_id id)
{
    const aot_node *n = aot_node_at(g, id);
    const char *t = aot_node_target(g, id);
    size_t len = strlen(t);
    if (n->kind == AOT_CALL_METHOD) {
        return len > 1 && t[len - 1] == '_' && t[len - 2] != '_';
    }
    return n->kind == AOT_CALL_FUNCTION &&
           ((aot_node_op(n)->flags & AOT_OPF_MUTATES) || strcmp(t, "operator.setitem") == 0 ||
            strstr(t, "auto_functionalized"));
}

// In-place operators end with one underscore; "add_.Tensor" has an overload behind it.
bool aot_is_in_place(const aot_graph *g, aot_node_id id)
{
    static const char *const python[] = {"iadd",    "isub",    "imul",   "itruediv", "ifloordiv",
                                         "imod",    "ipow",    "iand",   "ior",      "ixor",
                                         "ilshift", "irshift", "imatmul"};
    const aot_node *n = aot_node_at(g, id);
    const char *t = aot_node_target(g, id), *base = strrchr(t, '.');
    size_t len = strlen(t);
    if (aot_starts_with(t, "operator.") || aot_starts_with(t, "_operator.")) {
        for (size_t i = 0; base && i < sizeof python / sizeof *python; i++) {
            if (strcmp(base + 1, python[i]) == 0) {
                return true;
            }
        }
        return false;
    }
    if (n->kind == AOT_CALL_FUNCTION && aot_starts_with(t, "torch.ops.") && base) {
        len = (size_t)(base - t);
    }
    bool named = len > 1 && t[len - 1] == '_' && t[len - 2] != '_';
    return named && (n->kind == AOT_CALL_FUNCTION || n->kind == AOT_CALL_METHOD);
}

int64_t aot_memory_of(const aot_graph *g, aot_node_id id, const aot_partition *p, aot_node_id cut)
{
    const aot_node_info *info = p && cut != AOT_NO_NODE ? &p->nodes[cut] : NULL;
    bool saved = info && info->verdict == AOT_V_SAVED;
    if (!saved && (aot_view_base(g, id) != AOT_NO_NODE || aot_is_in_place(g, id))) {
        return 0;
    }
    return info ? info->bytes : aot_meta_bytes(g->ctx, aot_node_at(g, id)->meta);
}

bool aot_is_random(const aot_graph *g, aot_node_id id)
{
    const aot_node *n = aot_node_at(g, id);
    return n->kind == AOT_CALL_FUNCTION &&
           ((aot_node_op(n)->part & AOT_PART_RANDOM) ||
            strstr(aot_node_target(g, id), "_rng_state") != NULL);
}

static aot_class placeholder_class(const aot_graph *g, aot_node_id id, const aot_node_info *info)
{
    const char *name = aot_node_name(g, id);
    const char *desc = aot_text(g->ctx, aot_node_at(g, id)->desc);
    if (aot_starts_with(name, "tangents_") || aot_starts_with(desc, "Tangent")) {
        return AOT_CLASS_TANGENT;
    }
    bool is_static =
        info ? info->is_static : strstr(name, "_parameters_") || strstr(name, "_buffers_");
    if (is_static || aot_starts_with(desc, "ParamAOTInput") ||
        aot_starts_with(desc, "BufferAOTInput")) {
        return AOT_CLASS_PARAMETER;
    }
    return AOT_CLASS_INPUT;
}

aot_class aot_class_of(const aot_graph *g, aot_node_id id, const aot_partition *p, aot_node_id cut)
{
    const aot_node *n = aot_node_at(g, id);
    const aot_node_info *info = p && cut != AOT_NO_NODE ? &p->nodes[cut] : NULL;
    if (n->kind == AOT_OUTPUT) {
        return AOT_CLASS_OUTPUT;
    }
    if (n->kind == AOT_PLACEHOLDER) {
        return info && p->cut->nodes.d[cut].kind != AOT_PLACEHOLDER ? AOT_CLASS_SAVED
                                                                   : placeholder_class(g, id, info);
    }
    if (n->kind == AOT_GET_ATTR) {
        return AOT_CLASS_PARAMETER;
    }
    if (info && info->verdict == AOT_V_SAVED) {
        return AOT_CLASS_SAVED;
    }
    if (aot_is_collective(g, id)) {
        return AOT_CLASS_COLLECTIVE;
    }
    if (aot_is_mutation(g, id)) {
        return AOT_CLASS_MUTATION;
    }
    if (aot_is_random(g, id)) {
        return AOT_CLASS_RANDOM;
    }
    if (info && info->verdict == AOT_V_RECOMPUTED) {
        return AOT_CLASS_RECOMPUTED; // views too: the letter V says that they cost nothing
    }
    if (aot_view_base(g, id) != AOT_NO_NODE) {
        return AOT_CLASS_VIEW;
    }
    return info && info->verdict == AOT_V_BACKWARD_ONLY ? AOT_CLASS_BACKWARD : AOT_CLASS_FORWARD;
}

char aot_side_mark(const aot_partition *p, aot_node_id cut)
{
    if (!p || cut == AOT_NO_NODE) {
        return ' ';
    }
    const aot_node_info *n = &p->nodes[cut];
    return n->backward_made || n->verdict == AOT_V_BACKWARD_ONLY ? 'B' : 'F';
}

const char *aot_mark_letters(char *buf, size_t size, const aot_graph *g, aot_node_id id,
                             const aot_partition *p, aot_node_id cut)
{
    const aot_node_info *info = p && cut != AOT_NO_NODE ? &p->nodes[cut] : NULL;
    bool call = aot_node_at(g, id)->kind != AOT_PLACEHOLDER;
    snprintf(buf, size, "%s%s%s%s%s", aot_view_base(g, id) != AOT_NO_NODE ? "V" : "",
             aot_is_random(g, id) ? "~" : "", aot_is_collective(g, id) ? "C" : "",
             aot_is_mutation(g, id) ? "M" : "", info && info->ban && call ? "!" : "");
    return buf;
}

/* ---- reasons --------------------------------------------------------------------------------- */

// The partitioner's own strings, cut to what fits a column.
static const char *ban_words(aot_ban b)
{
    switch (b) {
    case AOT_BAN_NOT_ALLOWED:
        return "not in allowlist";
    case AOT_BAN_RANDOM:
        return "random";
    case AOT_BAN_COMPUTE:
        return "compute intensive";
    case AOT_BAN_NON_BUILTIN:
        return "custom operator";
    case AOT_BAN_REDUCTION:
        return "reduction";
    default:
        return aot_ban_text(b);
    }
}

const char *aot_verdict_words(const aot_partition *p, aot_node_id id)
{
    switch ((aot_verdict)p->nodes[id].verdict) {
    case AOT_V_SAVED:
        return "saved for the backward";
    case AOT_V_RECOMPUTED:
        return "recomputed in the backward";
    case AOT_V_FORWARD_ONLY:
        return "forward only";
    case AOT_V_BACKWARD_ONLY:
        return "backward only";
    case AOT_V_DEAD:
        break;
    }
    return "dead";
}

static aot_node_id root_of_view(const aot_graph *g, aot_node_id id)
{
    aot_node_id root = id;
    for (aot_node_id b; (b = aot_view_base(g, root)) != AOT_NO_NODE && b < root;) {
        root = b;
    }
    return root;
}

const char *aot_reason_words(char *buf, size_t size, const aot_partition *p, aot_node_id id)
{
    const aot_graph *g = p->cut;
    const aot_node *n = aot_node_at(g, id);
    const aot_node_info *info = &p->nodes[id];
    aot_ban held = aot_ban_that_held(p, id);
    const char *words = "";
    if (n->kind == AOT_PLACEHOLDER) {
        words = aot_class_get(placeholder_class(g, id, info))->name;
        if (aot_meta_get(g->ctx, n->meta)->val == AOT_VAL_SYM) {
            words = "symbolic size";
        }
    } else if (n->kind == AOT_OUTPUT) {
        words = "";
    } else if (info->policy != AOT_POLICY_NONE && info->verdict != AOT_V_BACKWARD_ONLY) {
        snprintf(buf, size, "%s%s%s", aot_policy_name(info->policy), held ? ", " : "",
                 held && held != AOT_BAN_MUST_SAVE ? ban_words(held) : "");
        size_t len = strlen(buf);
        if (aot_ends_with(buf, ", ")) {
            buf[len - 2] = 0;
        }
        return buf;
    } else if (aot_view_base(g, id) != AOT_NO_NODE) {
        snprintf(buf, size, "view of %s", aot_node_name(g, root_of_view(g, id)));
        return buf;
    } else if (held != AOT_BAN_NONE) {
        words = ban_words(held);
    } else if (info->ban != AOT_BAN_NONE && info->verdict != AOT_V_SAVED) {
        snprintf(buf, size, "lifted: %s", ban_words(info->ban)); // by a later cut of the budget
        return buf;
    } else if (info->tangent_closure) {
        words = "gradient";
    } else if (aot_meta_get(g->ctx, n->meta)->val == AOT_VAL_SYM) {
        words = "symbolic size";
    } else if (aot_is_getitem(g, n)) {
        aot_node_id of = first_input(g, n);
        aot_ban ban = of != AOT_NO_NODE ? aot_ban_that_held(p, of) : AOT_BAN_NONE;
        snprintf(buf, size, "of %s%s%s", of != AOT_NO_NODE ? aot_node_name(g, of) : "?",
                 ban ? ", " : "", ban ? ban_words(ban) : "");
        return buf;
    } else if (info->verdict == AOT_V_SAVED) {
        words = "cheapest place to cut";
    } else if (info->verdict == AOT_V_BACKWARD_ONLY) {
        words = "only the backward uses it";
    } else {
        uint32_t part = aot_node_op(n)->part;
        words = part & AOT_PART_FUSIBLE ? "cheap, fusible"
              : part & AOT_PART_RECOMPUTABLE ? "cheap" : "may be recomputed";
    }
    snprintf(buf, size, "%s", words);
    return buf;
}

static void add_power(aot_sb *out, int n)
{
    static const char *const digits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
    char text[16];
    snprintf(text, sizeof text, "%d", n);
    for (const char *p = text; *p; p++) {
        aot_sb_addz(out, digits[*p - '0']);
    }
}

const char *aot_weight_words(char *buf, size_t size, const aot_partition *p, aot_node_id id)
{
    const aot_node_info *info = &p->nodes[id];
    const aot_meta *m = aot_meta_get(p->cut->ctx, aot_node_at(p->cut, id)->meta);
    char total[32], base[32];
    aot_format_count(total, sizeof total, info->weight);
    if (info->weight < 0) {
        snprintf(buf, size, "none: %s",
                 info->tangent_closure       ? "computed in the backward"
                 : info->sink == AOT_SINK_IN ? "must be recomputed"
                                             : "not in the network");
        return buf;
    }
    if (info->weight == AOT_WEIGHT_INF) {
        bool view = m->val == AOT_VAL_TENSOR && p->config.recompute_views;
        snprintf(buf, size, "infinite: %s", view ? "views are never saved (recompute_views)"
                          : m->val == AOT_VAL_SYM ? "a symbolic number that is no integer"
                                                  : "not a tensor, cannot be saved");
        return buf;
    }
    int d = info->dist < 1 ? 1 : info->dist > 100 ? 100 : (int)info->dist;
    int64_t near = (int64_t)((double)info->bytes * pow(1.1, d));
    int64_t all = info->materialized ? near : near * 2;
    if (info->weight == 0 && info->is_static) {
        snprintf(buf, size, "0: parameters are free to save");
    } else if (all != info->weight || m->val != AOT_VAL_TENSOR) {
        snprintf(buf, size, "%s", total);
    } else {
        aot_sb s = {0};
        aot_sb_addf(&s, "%s = %s × 1.1", total, aot_format_count(base, sizeof base, info->bytes));
        add_power(&s, d);
        aot_sb_addz(&s, info->materialized ? "" : " × 2");
        snprintf(buf, size, "%s", aot_sb_text(&s));
        aot_sb_free(&s);
    }
    return buf;
}
