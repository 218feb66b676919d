/* Graph -> PyTorch's readable text.
 *
 *   add: "f32[4][1]cpu" = torch.ops.aten.add.Tensor(x, 1);  x = None
 *
 * The part after the semicolon frees values after their last use: it follows from the graph and is
 * made here, never stored.
 * Mirrors: torch/fx/graph.py:_gen_python_code, _PyTreeCodeGen,
 * torch/fx/graph_module.py:_print_readable. Differs: a node whose comment was never seen prints
 * none, where FX says that it found no stack. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/pyops.h"
#include "ir/text.h"

typedef struct printer {
    aot_sb *out;
    const aot_graph *g;
    size_t indent;
    unsigned flags;
    uint32_t *free_off, *free_ids; /* values whose last use is node i, in FX's order */
} printer;

/* A power of two lies off the middle of what reads back as it: where the nearest decimal (of two,
 * the even one) does not, the next one away from zero may. */
static bool one_digit_up(char *buf, double v)
{
    char next[40];
    strcpy(next, buf);
    char *last = strchr(next, 'e') - 1;
    if (*last < '0' || *last > '8') {
        return false; // a carry: with one digit less it would have been found
    }
    ++*last;
    if (strtod(next, NULL) != v) {
        return false;
    }
    strcpy(buf, next);
    return true;
}

void aot_print_float(aot_sb *out, double v)
{
    char buf[40];
    if (isnan(v)) {
        aot_sb_addz(out, "nan");
        return;
    }
    if (isinf(v)) {
        aot_sb_addz(out, v > 0 ? "inf" : "-inf");
        return;
    }
    int digits = 1;
    do {
        snprintf(buf, sizeof buf, "%.*e", digits - 1, v);
    } while (strtod(buf, NULL) != v && !one_digit_up(buf, v) && ++digits <= 17);
    // Python writes exponents from 1e16 up and below 1e-4, with two digits at least
    char *e = strchr(buf, 'e');
    int exp10 = atoi(e + 1);
    if (exp10 >= 16 || exp10 < -4) {
        *e = '\0';
        aot_sb_addf(out, "%se%c%02d", buf, exp10 < 0 ? '-' : '+', abs(exp10));
        return;
    }
    int decimals = digits - 1 - exp10;
    aot_sb_addf(out, "%.*f", decimals > 0 ? decimals : 1, v);
}

static void print_items(aot_sb *out, const aot_graph *g, const aot_arg *a, uint32_t n,
                        const char *sep)
{
    for (uint32_t i = 0; i < n; i++) {
        if (i != 0) {
            aot_sb_addz(out, sep);
        }
        aot_print_arg(out, g, &a[i]);
    }
}

static void print_container(aot_sb *out, const aot_graph *g, const aot_arg *a)
{
    const aot_arg *items = aot_arg_items(g, a);
    switch (a->kind) {
    case AOT_ARG_LIST:
        aot_sb_addc(out, '[');
        print_items(out, g, items, a->n, ", ");
        aot_sb_addc(out, ']');
        break;
    case AOT_ARG_TUPLE:
        aot_sb_addc(out, '(');
        print_items(out, g, items, a->n, ", ");
        aot_sb_addz(out, a->n == 1 ? ",)" : ")");
        break;
    case AOT_ARG_DICT:
        aot_sb_addc(out, '{');
        for (uint32_t i = 0; i + 1 < a->n; i += 2) {
            aot_sb_addz(out, i != 0 ? ", " : "");
            aot_print_arg(out, g, &items[i]);
            aot_sb_addz(out, ": ");
            aot_print_arg(out, g, &items[i + 1]);
        }
        aot_sb_addc(out, '}');
        break;
    case AOT_ARG_SLICE:
        aot_sb_addz(out, "slice(");
        print_items(out, g, items, a->n, ", ");
        aot_sb_addc(out, ')');
        break;
    default: // AOT_ARG_CALL
        aot_print_arg(out, g, &items[0]);
        aot_sb_addc(out, '(');
        print_items(out, g, items + 1, a->n - 1, ", ");
        aot_sb_addz(out, a->n == 2 && a->quote != 0 ? ",)" : ")");
        break;
    }
}

void aot_print_arg(aot_sb *out, const aot_graph *g, const aot_arg *a)
{
    switch (a->kind) {
    case AOT_ARG_NONE:
        aot_sb_addz(out, "None");
        break;
    case AOT_ARG_NODE:
        aot_sb_addz(out, aot_node_name(g, a->u.node));
        break;
    case AOT_ARG_INT:
        aot_sb_add_i64(out, a->u.i);
        break;
    case AOT_ARG_FLOAT:
        aot_print_float(out, a->u.f);
        break;
    case AOT_ARG_BOOL:
        aot_sb_addz(out, a->u.i != 0 ? "True" : "False");
        break;
    case AOT_ARG_STR:
        aot_sb_addc(out, (char)(a->quote != 0 ? a->quote : '\''));
        aot_sb_addz(out, aot_text(g->ctx, a->u.s));
        aot_sb_addc(out, (char)(a->quote != 0 ? a->quote : '\''));
        break;
    case AOT_ARG_NAME:
    case AOT_ARG_COMPLEX:
    case AOT_ARG_RAW:
        aot_sb_addz(out, aot_text(g->ctx, a->u.s));
        break;
    default:
        print_container(out, g, a);
        break;
    }
}

static bool is_identifier(const char *s, size_t n)
{
    if (n == 0 || isdigit((unsigned char)s[0])) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (!isalnum((unsigned char)s[i]) && s[i] != '_' && (unsigned char)s[i] < 128) {
            return false;
        }
    }
    return true;
}

/* base.a.b, and getattr(base, "0") for parts that are no identifiers. */
static void print_path(aot_sb *out, const char *base, const char *path)
{
    aot_sb r = {0};
    aot_sb_addz(&r, base);
    while (path != NULL) {
        const char *dot = strchr(path, '.');
        size_t n = dot != NULL ? (size_t)(dot - path) : strlen(path);
        if (is_identifier(path, n)) {
            aot_sb_addf(&r, ".%.*s", (int)n, path);
        } else {
            aot_sb inner = r;
            r = (aot_sb){0};
            aot_sb_addf(&r, "getattr(%s, \"%.*s\")", inner.d, (int)n, path);
            aot_sb_free(&inner);
        }
        path = dot != NULL ? dot + 1 : NULL;
    }
    aot_sb_add(out, r.d, r.n);
    aot_sb_free(&r);
}

static void print_call_args(aot_sb *out, const aot_graph *g, const aot_node *n, uint32_t skip)
{
    const aot_arg *args = aot_node_args(g, n), *kw = aot_node_kwargs(g, n);
    aot_sb_addc(out, '(');
    print_items(out, g, args + skip, n->n_args - skip, ", ");
    for (uint32_t i = 0; i < n->n_kwargs; i++) {
        aot_sb_addz(out, i == 0 && n->n_args == skip ? "" : ", ");
        aot_sb_addf(out, "%s = ", aot_text(g->ctx, kw[2 * i].u.s));
        aot_print_arg(out, g, &kw[2 * i + 1]);
    }
    aot_sb_addc(out, ')');
}

static void print_annotation(aot_sb *out, const aot_graph *g, const aot_node *n)
{
    const char *text = aot_text(g->ctx, aot_meta_get(g->ctx, n->meta)->text);
    if (text[0] == ' ') { // a plain Python type: kept with its blanks
        aot_sb_addz(out, text);
    } else if (text[0] != '\0') {
        aot_sb_addf(out, ": \"%s\"", text);
    }
}

static void print_operator(aot_sb *out, const aot_graph *g, const aot_node *n, const aot_pyop *op)
{
    const aot_arg *a = aot_node_args(g, n);
    if (n->n_args < op->operands) { // not what FX would hold; kept readable
        aot_sb_addz(out, aot_text(g->ctx, n->target));
        print_call_args(out, g, n, 0);
        return;
    }
    aot_sb_addz(out, op->before);
    aot_print_arg(out, g, &a[0]);
    if (op->operands == 2) {
        aot_sb_addz(out, op->between);
        aot_print_arg(out, g, &a[1]);
    }
    aot_sb_addz(out, op->after);
}

static void print_assign(aot_sb *out, const aot_graph *g, const aot_node *n)
{
    aot_sb_addz(out, aot_text(g->ctx, n->name));
    print_annotation(out, g, n);
    aot_sb_addz(out, " = ");
}

static void print_function(aot_sb *out, const aot_graph *g, const aot_node *n)
{
    const char *target = aot_text(g->ctx, n->target);
    const aot_arg *a = aot_node_args(g, n);
    const aot_pyop *op = aot_pyop_of_target(target);
    bool setitem = strcmp(target, "operator.setitem") == 0 && n->n_args == 3;
    if (setitem || (op != NULL && op->inplace)) {
        if (setitem) {
            aot_print_arg(out, g, &a[0]);
            aot_sb_addc(out, '[');
            aot_print_arg(out, g, &a[1]);
            aot_sb_addz(out, "] = ");
            aot_print_arg(out, g, &a[2]);
        } else {
            print_operator(out, g, n, op);
        }
        aot_sb_addz(out, ";  ");
        print_assign(out, g, n);
        aot_print_arg(out, g, &a[0]);
        return;
    }
    print_assign(out, g, n);
    if (op != NULL) {
        print_operator(out, g, n, op);
    } else if (strcmp(target, "getattr") == 0 && n->n_args == 2 && a[1].kind == AOT_ARG_STR &&
               is_identifier(aot_text(g->ctx, a[1].u.s), aot_str_len(g->ctx->strs, a[1].u.s))) {
        aot_print_arg(out, g, &a[0]);
        aot_sb_addf(out, ".%s", aot_text(g->ctx, a[1].u.s));
    } else {
        aot_sb_addz(out, target);
        print_call_args(out, g, n, 0);
    }
}

static void print_output(aot_sb *out, const aot_graph *g, const aot_node *n)
{
    aot_sb_addz(out, g->layout.out_spec ? "return pytree.tree_unflatten(" : "return ");
    aot_print_arg(out, g, aot_node_args(g, n));
    aot_sb_addz(out, g->layout.out_spec ? ", self._out_spec)" : "");
}

void aot_print_node(aot_sb *out, const aot_graph *g, aot_node_id id)
{
    const aot_node *n = aot_node_at(g, id);
    const char *target = aot_text(g->ctx, n->target);
    switch (n->kind) {
    case AOT_PLACEHOLDER:
        aot_sb_addz(out, target);
        print_annotation(out, g, n);
        if (n->n_args != 0) {
            aot_sb_addz(out, " = ");
            aot_print_arg(out, g, aot_node_args(g, n));
        }
        break;
    case AOT_GET_ATTR:
        print_assign(out, g, n);
        print_path(out, "self", target);
        break;
    case AOT_CALL_MODULE:
        print_assign(out, g, n);
        print_path(out, "self", target);
        print_call_args(out, g, n, 0);
        break;
    case AOT_CALL_METHOD:
        print_assign(out, g, n);
        if (n->n_args != 0) {
            aot_print_arg(out, g, aot_node_args(g, n));
        }
        aot_sb_addf(out, ".%s", target);
        print_call_args(out, g, n, n->n_args != 0 ? 1 : 0);
        break;
    case AOT_CALL_FUNCTION:
        print_function(out, g, n);
        break;
    default:
        print_output(out, g, n);
        break;
    }
}

/* ---- freeing ----------------------------------------------------------------------------- */

typedef struct last_use {
    uint32_t *user;  /* 1 + last user of a value; 0 = none seen yet */
    uint32_t *count; /* per user */
    uint32_t self, n_inputs;
    uint32_t *order; /* values in the order they were registered */
    uint32_t n_order;
    bool *used;
} last_use;

static void register_use(void *arg, aot_node_id id)
{
    last_use *s = arg;
    if (s->user[id] == 0) {
        s->user[id] = s->self + 1;
        s->count[s->self + 1]++;
        s->order[s->n_order++] = id;
    }
}

/* Walks backwards; the first user seen is the last one. A node that nobody uses is freed by
 * itself. */
static void find_last_uses(printer *p)
{
    uint32_t n = (uint32_t)p->g->nodes.n;
    last_use s = {.user = aot_xcalloc(n, sizeof(uint32_t)),
                  .count = aot_xcalloc(n + 2, sizeof(uint32_t)),
                  .order = aot_xcalloc(n, sizeof(uint32_t))};
    for (uint32_t i = n; i-- > 0;) {
        s.self = i;
        aot_node_each_input(p->g, aot_node_at(p->g, i), register_use, &s);
    }
    for (uint32_t i = 0; i < n; i++) {
        if (s.user[i] == 0) {
            s.count[i + 1]++;
        }
    }
    for (uint32_t i = 1; i <= n; i++) {
        s.count[i] += s.count[i - 1];
    }
    p->free_off = s.count;
    p->free_ids = aot_xcalloc(n, sizeof(uint32_t));
    uint32_t *fill = aot_xcalloc(n, sizeof(uint32_t));
    for (uint32_t k = 0; k < s.n_order; k++) {
        uint32_t u = s.user[s.order[k]] - 1;
        p->free_ids[s.count[u] + fill[u]++] = s.order[k];
    }
    for (uint32_t i = 0; i < n; i++) {
        if (s.user[i] == 0) {
            p->free_ids[s.count[i] + fill[i]++] = i;
        }
    }
    free(fill);
    free(s.user);
    free(s.order);
}

/* ---- modules ----------------------------------------------------------------------------- */

static void line_start(printer *p, size_t extra)
{
    aot_sb_pad(p->out, ' ', p->indent + extra);
}

static void print_signature(printer *p, bool expanded)
{
    const aot_graph *g = p->g;
    const aot_layout *l = &g->layout;
    line_start(p, 4);
    aot_sb_addz(p->out, "def forward(");
    aot_sb_addz(p->out, expanded ? "\n" : "self");
    if (expanded) {
        line_start(p, 8);
        aot_sb_addz(p->out, "self,\n");
    }
    if (l->bindings) {
        const char *a = aot_text(g->ctx, l->in_args);
        while (*a != '\0') {
            const char *comma = strstr(a, ", ");
            size_t n = comma != NULL ? (size_t)(comma - a) : strlen(a);
            if (expanded) {
                line_start(p, 8);
                aot_sb_addf(p->out, "%.*s,\n", (int)n, a);
            } else {
                aot_sb_addf(p->out, ", %.*s", (int)n, a);
            }
            a += n + (comma != NULL ? 2 : 0);
        }
    }
    for (uint32_t i = 0; i < g->nodes.n && !l->bindings; i++) {
        const aot_node *n = aot_node_at(g, i);
        if (n->kind != AOT_PLACEHOLDER) {
            continue;
        }
        if (expanded) {
            line_start(p, 8);
            aot_print_node(p->out, g, i);
            aot_sb_addf(p->out, n->desc != 0 ? ",  # %s\n" : ",\n", aot_text(g->ctx, n->desc));
        } else {
            aot_sb_addz(p->out, ", ");
            aot_print_node(p->out, g, i);
        }
    }
    if (expanded) {
        line_start(p, 4);
    }
    aot_sb_addz(p->out, "):\n");
}

/* The pytree lines: annotated names, then the call that unpacks them. */
static void print_bindings(printer *p, bool expanded)
{
    const aot_graph *g = p->g;
    bool any = false;
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < g->nodes.n; i++) {
            const aot_node *n = aot_node_at(g, i);
            if (n->kind != AOT_PLACEHOLDER) {
                continue;
            }
            if (pass == 1) {
                if (any) {
                    line_start(p, 8);
                    any = false;
                }
                aot_sb_addf(p->out, "%s, ", aot_text(g->ctx, n->target));
            } else if (n->meta != 0 && expanded) {
                line_start(p, 8);
                aot_print_node(p->out, g, i);
                aot_sb_addf(p->out, n->desc != 0 ? "  # %s\n" : "\n", aot_text(g->ctx, n->desc));
            } else if (n->meta != 0) {
                if (!any) {
                    line_start(p, 8);
                }
                any = true;
                aot_print_node(p->out, g, i);
                aot_sb_addz(p->out, "; ");
            }
        }
        if (pass == 0) {
            aot_sb_addz(p->out, any ? "\n\n" : "");
            any = true;
        }
    }
    p->out->n -= p->out->n > 0 && p->out->d[p->out->n - 1] == ' ' ? 1 : 0;
    aot_sb_addf(p->out, " = fx_pytree.tree_flatten_spec(%s)\n",
                aot_text(g->ctx, g->layout.flatten_spec));
}

static void print_described_output(printer *p, const aot_node *n)
{
    const aot_graph *g = p->g;
    const aot_arg *ret = aot_node_args(g, n), *items = aot_arg_items(g, ret);
    const char *open = ret->kind == AOT_ARG_TUPLE ? "(" : "[",
               *close = ret->kind == AOT_ARG_TUPLE ? ")" : "]";
    line_start(p, 8);
    aot_sb_addf(p->out, "return %s%s\n", g->layout.out_spec ? "pytree.tree_unflatten(" : "", open);
    for (uint32_t i = 0; i < ret->n; i++) {
        line_start(p, 12);
        aot_print_arg(p->out, g, &items[i]);
        aot_sb_addf(p->out, ",  # %s\n",
                    i < g->out_descs.n ? aot_text(g->ctx, g->out_descs.d[i]) : "None");
    }
    line_start(p, 8);
    aot_sb_addf(p->out, "%s%s\n", close, g->layout.out_spec ? ", self._out_spec)" : "");
}

static void print_free(printer *p, uint32_t id)
{
    uint32_t first = p->free_off[id], last = p->free_off[id + 1];
    if (p->g->layout.keeps_unused && last > first && p->free_ids[last - 1] == id) {
        last--;
    }
    for (uint32_t k = first; k < last; k++) {
        aot_sb_addf(p->out, k == first ? ";  %s" : " = %s", aot_node_name(p->g, p->free_ids[k]));
    }
    aot_sb_addz(p->out, first < last ? " = None\n" : "\n");
}

static void print_body(printer *p, bool expanded)
{
    const aot_graph *g = p->g;
    aot_str shown = 0;
    bool first = true;
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const aot_node *n = aot_node_at(g, i);
        if (n->kind == AOT_PLACEHOLDER) {
            if (n->name != n->target && !g->layout.bindings) {
                const char *t = aot_text(g->ctx, n->target);
                line_start(p, 8);
                aot_sb_addf(p->out, "%s = %s\n", aot_text(g->ctx, n->name), t + strspn(t, "*"));
                first = false;
            }
            continue;
        }
        aot_str text = g->srcs.d[n->src].text;
        if (n->kind != AOT_OUTPUT && text != 0 && text != shown &&
            !(p->flags & AOT_PRINT_NO_COMMENTS)) {
            shown = text;
            aot_sb_addz(p->out, first ? "" : "\n");
            line_start(p, 8);
            aot_sb_addf(p->out, "# %s\n", aot_text(g->ctx, text));
        }
        first = false;
        if (n->kind == AOT_OUTPUT && expanded && g->layout.has_out_descs && n->n_args != 0 &&
            (aot_node_args(g, n)->kind == AOT_ARG_TUPLE ||
             aot_node_args(g, n)->kind == AOT_ARG_LIST)) {
            print_described_output(p, n);
            continue;
        }
        line_start(p, 8);
        aot_print_node(p->out, g, i);
        if (n->kind == AOT_OUTPUT) {
            aot_sb_addc(p->out, '\n');
        } else {
            print_free(p, i);
        }
    }
}

static void print_module(aot_sb *out, const aot_graph *g, unsigned flags, size_t indent)
{
    printer p = {.out = out, .g = g, .indent = indent, .flags = flags};
    bool expanded =
        (g->layout.expanded || (flags & AOT_PRINT_EXPANDED) != 0) && !(flags & AOT_PRINT_ONE_LINE);
    find_last_uses(&p);
    line_start(&p, 0);
    aot_str name = g->attr_name != 0 ? g->attr_name : g->class_name;
    aot_sb_addf(out, "class %s(torch.nn.Module):\n", aot_text(g->ctx, name));
    print_signature(&p, expanded);
    if (g->layout.bindings) {
        print_bindings(&p, expanded);
    }
    print_body(&p, expanded);
    free(p.free_off);
    free(p.free_ids);
    // submodules nest as deep as higher-order operators do; the parser bounds the depth
    for (size_t i = 0; i < g->subgraphs.n; i++) {
        aot_sb_addz(out, flags & AOT_PRINT_NO_COMMENTS ? "" : "\n");
        print_module(out, g->subgraphs.d[i], flags & ~(unsigned)AOT_PRINT_EXPANDED, indent + 4);
    }
}

void aot_print_graph(aot_sb *out, const aot_graph *g, unsigned flags)
{
    print_module(out, g, flags, 0);
}
