/* PyTorch's readable text -> graph.
 *
 *   class GraphModule(torch.nn.Module):
 *       def forward(self, x: "f32[4][1]cpu"):
 *           # File: model.py:3 in f, code: return x.sin() + 1
 *           sin: "f32[4][1]cpu" = torch.ops.aten.sin.default(x);  x = None
 *           return (sin,)
 *
 * One pass, line by line; a statement is a small recursive descent with bounded nesting. Both
 * layouts are read: one-line signatures (TORCH_LOGS) and expanded ones with descriptors
 * (TORCH_TRACE).
 * Mirrors: the printer, torch/fx/graph.py:_gen_python_code. */
#include "ir/parse_internal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/progress.h"

/* ---- comments ---------------------------------------------------------------------------- */

static void source_facts(aot_ctx *c, aot_src *s, const char *p, const char *end)
{
#define FIND(from, text)                                                                           \
    ((const char *)memmem((from), (size_t)(end - (from)), text, sizeof(text) - 1))
    const char *ac = FIND(p, "ac_graph_id: "), *file = FIND(p, "File: "),
               *rec = FIND(p, "recompute: ");
    s->is_backward = FIND(p, "Backward of forward node: ") != NULL;
    if (ac != NULL && (file == NULL || ac < file)) {
        char *after;
        char num[16] = "";
        size_t n =
            (size_t)(end - ac - 13) < sizeof num - 1 ? (size_t)(end - ac - 13) : sizeof num - 1;
        memcpy(num, ac + 13, n);
        s->ac_graph_id = (int32_t)strtol(num, &after, 10);
        const char *q = ac + 13 + (after - num);
        if ((size_t)(end - q) > 3 && memcmp(q, " - ", 3) == 0) {
            rec = q - 8;
        }
    }
    if (rec != NULL && (file == NULL || rec < file)) {
        const char *word = rec + 11, *q = word;
        while (q < end && (isupper((unsigned char)*q) || *q == '_')) {
            q++;
        }
        s->policy = (uint8_t)aot_policy_of(word, (size_t)(q - word));
    }
    if (file == NULL) {
        return;
    }
    file += 6;
    const char *code = FIND(file, ", code: ");
    const char *in = FIND(file, " in ");
    const char *stop = in != NULL ? in : code != NULL ? code : end, *colon = stop;
    while (colon > file && colon[-1] != ':') {
        colon--;
    }
    s->file = aot_intern(c->strs, file, (size_t)((colon > file ? colon - 1 : stop) - file));
    for (const char *q = colon; colon > file && q < stop && isdigit((unsigned char)*q); q++) {
        s->line = s->line * 10 + (uint32_t)(*q - '0');
    }
    if (in != NULL) {
        const char *fn_end = code != NULL && code > in ? code : end;
        s->func = aot_intern(c->strs, in + 4, (size_t)(fn_end - in - 4));
    }
    if (code != NULL) {
        s->code = aot_intern(c->strs, code + 8, (size_t)(end - code - 8));
    }
#undef FIND
}

/* A comment holds for every node until the next one; it is printed only when it changes. */
static void parse_comment(parser *ps)
{
    const char *p = ps->p + 1, *end = p;
    while (end < ps->end && *end != '\n') {
        end++;
    }
    while (p < end && *p == ' ') {
        p++;
    }
    const char *stop = end;
    while (stop > p && isspace((unsigned char)stop[-1])) {
        stop--;
    }
    bool directive = (size_t)(stop - p) >= 9 && memcmp(p, "aotscope:", 9) == 0;
    aot_str text = directive ? 0 : aot_intern(ps->c->strs, p, (size_t)(stop - p));
    ps_next_line(ps);
    if (text == 0) {
        return;
    }
    while (ps->src_of_text.n <= text) {
        aot_vec_push(&ps->src_of_text, 0);
        aot_vec_push(&ps->src_scope, 0);
    }
    if (ps->src_scope.d[text] != ps->scope) {
        aot_src s = {.text = text, .ac_graph_id = -1};
        const char *t = aot_text(ps->c, text);
        source_facts(ps->c, &s, t, t + aot_str_len(ps->c->strs, text));
        aot_vec_push(&ps->g->srcs, s);
        ps->src_scope.d[text] = ps->scope;
        ps->src_of_text.d[text] = (uint32_t)(ps->g->srcs.n - 1);
    }
    ps->src = ps->src_of_text.d[text];
}

/* "  # PlainAOTInput(idx=0)" at the end of a line; 0 if there is none. */
static aot_str take_descriptor(parser *ps)
{
    ps_blanks(ps);
    if (ps->p >= ps->end || *ps->p != '#') {
        return 0;
    }
    ps->p++;
    ps_blanks(ps);
    const char *start = ps->p, *stop;
    while (!ps_at_line_end(ps)) {
        ps->p++;
    }
    for (stop = ps->p; stop > start && stop[-1] == ' '; stop--) {
    }
    return aot_intern(ps->c->strs, start, (size_t)(stop - start));
}

/* ---- signature and output ----------------------------------------------------------------- */

/* One parameter: target[: "type"][ = default]. In a binding line of a pytree too. */
static aot_status parse_parameter(parser *ps, aot_node *n)
{
    *n = (aot_node){.kind = AOT_PLACEHOLDER};
    const char *start = ps->p;
    while (ps->p < ps->end && *ps->p == '*') {
        ps->p++;
    }
    size_t stars = (size_t)(ps->p - start);
    AOT_TRY(ps_parse_assign(ps, n));
    n->target = n->name;
    if (stars != 0) {
        n->target = aot_intern(ps->c->strs, start, stars + aot_str_len(ps->c->strs, n->name));
    }
    if (ps_take(ps, " = ")) {
        aot_arg v;
        AOT_TRY(ps_parse_value(ps, &v));
        ps_set_args(ps, n, &v, 1);
    }
    return AOT_OK;
}

typedef struct params {
    AOT_VEC(aot_node) v;
} params;

static aot_status parse_def_line(parser *ps, params *out)
{
    aot_node n;
    bool first = true;
    while (!ps_take(ps, ")")) {
        if (!first && !ps_take(ps, ", ") && !ps_take(ps, ",")) {
            return ps_fail(ps, "',' or ')' after a parameter");
        }
        if (first && ps_take(ps, "self")) {
            first = false;
            continue;
        }
        first = false;
        AOT_TRY(parse_parameter(ps, &n));
        aot_vec_push(&out->v, n);
    }
    return AOT_OK;
}

static aot_status parse_def_expanded(parser *ps, params *out)
{
    aot_node n;
    for (;;) {
        ps_next_line(ps);
        ps_blanks(ps);
        if (ps->p >= ps->end) {
            return ps_fail(ps, "')' after the parameters");
        }
        if (ps_take(ps, ")")) {
            return AOT_OK;
        }
        if (ps_take(ps, "self,") || ps_at_line_end(ps)) {
            continue;
        }
        AOT_TRY(parse_parameter(ps, &n));
        if (!ps_take(ps, ",")) {
            return ps_fail(ps, "',' after a parameter");
        }
        n.desc = take_descriptor(ps);
        aot_vec_push(&out->v, n);
    }
}

static aot_status parse_def(parser *ps)
{
    params ps_out = {0};
    aot_layout *l = &ps->g->layout;
    aot_status status;
    l->expanded = ps_at_line_end(ps);
    status = l->expanded ? parse_def_expanded(ps, &ps_out) : parse_def_line(ps, &ps_out);
    while (status == AOT_OK && !ps_at_line_end(ps) && *ps->p != ':') {
        ps->p++; // a return annotation
    }
    if (status == AOT_OK && !ps_take(ps, ":")) {
        status = ps_fail(ps, "':' after the signature");
    }
    for (size_t i = 0; status == AOT_OK && i < ps_out.v.n; i++) {
        status = ps_add_node(ps, &ps_out.v.d[i]);
    }
    if (status == AOT_OK) {
        ps_next_line(ps);
    }
    aot_vec_free(&ps_out.v);
    return status;
}

/* The parameters turn out to be trees: what was taken for placeholders are their names. */
static void switch_to_bindings(parser *ps)
{
    aot_sb names = {0};
    aot_graph *g = ps->g;
    if (g->layout.bindings) {
        return;
    }
    for (size_t i = 0; i < g->nodes.n; i++) {
        aot_sb_addf(&names, "%s%s", i != 0 ? ", " : "", aot_text(ps->c, g->nodes.d[i].target));
    }
    g->layout.bindings = true;
    g->layout.in_args = aot_intern(ps->c->strs, aot_sb_text(&names), names.n);
    g->nodes.n = 0;
    ps->scope++;
    aot_sb_free(&names);
}

/* primals_1: "f32[4]"; primals_2: "..."; (one line) or primals_1: "..."  # descriptor (one
 * each). */
static aot_status parse_binding_line(parser *ps)
{
    aot_node n;
    switch_to_bindings(ps);
    for (;;) {
        AOT_TRY(parse_parameter(ps, &n));
        bool more = ps_take(ps, ";");
        ps_blanks(ps);
        n.desc = more ? 0 : take_descriptor(ps);
        AOT_TRY(ps_add_node(ps, &n));
        if (!more || ps_at_line_end(ps)) {
            break;
        }
    }
    if (!ps_at_line_end(ps)) {
        return ps_fail(ps, "the end of the line");
    }
    ps_next_line(ps);
    return AOT_OK;
}

/* a, b, = fx_pytree.tree_flatten_spec(...): gives the order, and the values without a type. */
static aot_status parse_flatten_line(parser *ps, const char *call)
{
    switch_to_bindings(ps);
    aot_graph *g = ps->g;
    AOT_VEC(aot_node) order = {0};
    aot_status status = AOT_OK;
    while (ps->p < call) {
        size_t n = ps_ident_len(ps, ps->p);
        if (n == 0 || ps->p[n] != ',') {
            status = ps_fail(ps, "a name and ','");
            break;
        }
        aot_node_id id = ps_lookup(ps, ps->p, n);
        aot_node node = {.kind = AOT_PLACEHOLDER};
        node.name = node.target = aot_intern(ps->c->strs, ps->p, n);
        aot_vec_push(&order, id != AOT_NO_NODE && id < g->nodes.n ? g->nodes.d[id] : node);
        ps->p += n + 1;
        ps_blanks(ps);
        if (ps_take(ps, "= ")) {
            break;
        }
    }
    const char *open = memchr(ps->p, '(', (size_t)(ps->end - ps->p));
    const char *close = open != NULL ? ps_balanced(ps, open) : NULL;
    if (status == AOT_OK && close == NULL) {
        status = ps_fail(ps, "tree_flatten_spec(...)");
    }
    if (status == AOT_OK) {
        g->layout.flatten_spec = aot_intern(ps->c->strs, open + 1, (size_t)(close - open - 2));
        g->nodes.n = 0;
        ps->scope++;
        for (size_t i = 0; i < order.n && status == AOT_OK; i++) {
            status = ps_add_node(ps, &order.d[i]);
        }
        ps_next_line(ps);
    }
    aot_vec_free(&order);
    return status;
}

/* One value a line with its descriptor, up to the closing bracket. */
static aot_status parse_described_output(parser *ps, aot_arg *out, char close)
{
    size_t base = ps->stack_args.n;
    for (;;) {
        ps_next_line(ps);
        ps_blanks(ps);
        if (ps->p >= ps->end) {
            return ps_fail(ps, "the end of the returned values");
        }
        if (*ps->p == close) {
            ps->p++;
            break;
        }
        if (ps_at_line_end(ps)) {
            continue;
        }
        aot_arg v;
        AOT_TRY(ps_parse_value(ps, &v));
        aot_vec_push(&ps->stack_args, v);
        if (!ps_take(ps, ",")) {
            return ps_fail(ps, "',' after a returned value");
        }
        aot_str desc = take_descriptor(ps);
        aot_vec_push(&ps->g->out_descs, desc);
    }
    *out = (aot_arg){.kind = close == ')' ? AOT_ARG_TUPLE : AOT_ARG_LIST};
    out->n = (uint32_t)(ps->stack_args.n - base);
    out->u.first = aot_graph_add_args(ps->g, ps->stack_args.d + base, out->n);
    ps->stack_args.n = base;
    ps->g->layout.has_out_descs = true;
    return AOT_OK;
}

static aot_status parse_return(parser *ps)
{
    aot_graph *g = ps->g;
    aot_arg v;
    aot_node n = {.kind = AOT_OUTPUT};
    n.name = n.target = aot_intern_z(ps->c->strs, "output");
    g->layout.out_spec = ps_take(ps, "pytree.tree_unflatten(");
    char open = ps->p < ps->end ? *ps->p : '\0';
    if ((open == '(' || open == '[') && ps->p + 1 < ps->end &&
        (ps->p[1] == '\n' || ps->p[1] == '\r')) {
        ps->p++;
        AOT_TRY(parse_described_output(ps, &v, open == '(' ? ')' : ']'));
    } else {
        AOT_TRY(ps_parse_value(ps, &v));
    }
    if (g->layout.out_spec && !ps_take(ps, ", self._out_spec)")) {
        return ps_fail(ps, "', self._out_spec)'");
    }
    ps_set_args(ps, &n, &v, 1);
    AOT_TRY(ps_add_node(ps, &n));
    return ps_end_statement(ps);
}

/* ---- modules ----------------------------------------------------------------------------- */

static aot_status begin_module(parser *ps, size_t indent)
{
    const char *open = memchr(ps->p, '(', (size_t)(ps->end - ps->p));
    const char *nl = memchr(ps->p, '\n', (size_t)(ps->end - ps->p));
    ps->p += 6;
    if (open == NULL || (nl != NULL && open > nl)) {
        return ps_fail(ps, "class NAME(torch.nn.Module):");
    }
    while (ps->depth > 0 && ps->stack[ps->depth - 1].indent >= indent) {
        ps->depth--;
    }
    if (ps->depth == MAX_MODULE_NEST) {
        return ps_fail(ps, "at most 64 levels of modules");
    }
    aot_graph *g = aot_graph_new(ps->c);
    g->class_name = aot_intern(ps->c->strs, ps->p, (size_t)(open - ps->p));
    if (ps->depth > 0) {
        aot_graph *parent = ps->stack[ps->depth - 1].g;
        g->attr_name = g->class_name;
        aot_vec_push(&parent->subgraphs, g);
    }
    ps->stack[ps->depth++] = (module){g, indent};
    ps->g = g;
    ps->scope++;
    ps->src = 0;
    ps_next_line(ps);
    return AOT_OK;
}

/* Values that nobody reads, and no line that freed one: an older printer. */
static void note_older_printer(const parser *ps, aot_graph *g)
{
    uint8_t *read = aot_xcalloc(g->nodes.n + 1, 1);
    for (size_t i = 0; i < g->args.n; i++) {
        if (g->args.d[i].kind == AOT_ARG_NODE) {
            read[g->args.d[i].u.node] = 1;
        }
    }
    for (size_t i = 0; i < g->nodes.n && !ps->frees_unused; i++) {
        uint8_t kind = g->nodes.d[i].kind;
        g->layout.keeps_unused |= !read[i] && kind != AOT_PLACEHOLDER && kind != AOT_OUTPUT;
    }
    free(read);
}

/* get_attr nodes that name a submodule learn which one. */
static void link_subgraphs(aot_ctx *c, aot_graph *g)
{
    for (size_t i = 0; i < g->nodes.n; i++) {
        aot_node *n = &g->nodes.d[i];
        for (size_t k = 0; n->kind == AOT_GET_ATTR && k < g->subgraphs.n; k++) {
            if (g->subgraphs.d[k]->attr_name == n->target) {
                n->subgraph = (uint32_t)k + 1;
                break;
            }
        }
    }
    (void)c;
}

static bool is_binding_line(const parser *ps)
{
    size_t n = ps_ident_len(ps, ps->p);
    const char *q = ps->p + n;
    if (n == 0 || (size_t)(ps->end - q) < 4 || memcmp(q, ": \"", 3) != 0) {
        return false;
    }
    q = memchr(q + 3, '"', (size_t)(ps->end - q - 3));
    return q != NULL && (q + 1 >= ps->end || q[1] == '\n' || q[1] == '\r' || q[1] == ';' ||
                         ((size_t)(ps->end - q) > 3 && q[1] == ' ' && q[2] == ' ' && q[3] == '#'));
}

static aot_status parse_line(parser *ps, bool *stop)
{
    const char *line = ps->p;
    ps_blanks(ps);
    size_t indent = (size_t)(ps->p - line);
    if (ps_at_line_end(ps)) {
        ps_next_line(ps);
        return AOT_OK;
    }
    if (ps_looking_at(ps, "class ")) {
        if (ps->depth > 0 && indent <= ps->stack[0].indent) {
            *stop = true; // another graph: not ours
            return AOT_OK;
        }
        return begin_module(ps, indent);
    }
    if (ps->depth > 0 && indent <= ps->stack[0].indent && *ps->p != '#' &&
        !ps_looking_at(ps, "def forward(")) {
        *stop = true; // what follows the graph: "Graph signature:", other output
        return AOT_OK;
    }
    if (ps->g == NULL) {
        if (ps_looking_at(ps, "ExportedProgram:")) {
            ps_next_line(ps);
            return AOT_OK;
        }
        if (!ps_looking_at(ps, "def forward(")) {
            return ps_fail(ps, "class NAME(torch.nn.Module): or def forward(");
        }
        ps->g = aot_graph_new(ps->c);
        ps->g->class_name = aot_intern_z(ps->c->strs, "GraphModule");
        ps->stack[ps->depth++] = (module){ps->g, indent};
        ps->scope++;
    }
    if (*ps->p == '#') {
        parse_comment(ps);
        return AOT_OK;
    }
    if (ps_take(ps, "def forward(")) {
        return parse_def(ps);
    }
    if (ps_take(ps, "return ")) {
        return parse_return(ps);
    }
    if (ps_take(ps, "pass")) {
        return ps_end_statement(ps);
    }
    const char *nl = memchr(ps->p, '\n', (size_t)(ps->end - ps->p));
    size_t rest = (size_t)((nl != NULL ? nl : ps->end) - ps->p);
    const char *call = memmem(ps->p, rest, ", = ", 4);
    if (call != NULL && memmem(ps->p, rest, "tree_flatten_spec(", 18) != NULL) {
        return parse_flatten_line(ps, call + 1);
    }
    return is_binding_line(ps) ? parse_binding_line(ps) : ps_parse_statement(ps);
}

aot_status aot_parse_graph(aot_graph **out, aot_ctx *c, const char *text, size_t n,
                           uint32_t first_line, aot_err *err)
{
    parser *ps = aot_xcalloc(1, sizeof *ps);
    size_t first_graph = c->graphs.n;
    bool stop = false;
    aot_status status = AOT_OK;
    *ps = (parser){.c = c, .p = text, .end = text + n, .line_start = text, .err = err};
    ps->line = first_line != 0 ? first_line : 1;
    aot_vec_grow(&ps->stack_args, 16);
    while (status == AOT_OK && !stop && ps->p < ps->end) {
        status = aot_progress_at((uint64_t)(ps->p - text))
                     ? parse_line(ps, &stop)
                     : AOT_FAIL(err, AOT_E_PIPELINE, "reading was stopped");
    }
    if (status == AOT_OK && c->graphs.n == first_graph) {
        status = ps_fail(ps, "a graph");
    }
    for (size_t i = first_graph; status == AOT_OK && i < c->graphs.n; i++) {
        link_subgraphs(c, c->graphs.d[i]);
        note_older_printer(ps, c->graphs.d[i]);
        if (aot_graph_output(c->graphs.d[i]) == AOT_NO_NODE) {
            status =
                AOT_FAIL_POS(err, AOT_E_PARSE, ((aot_pos){ps->line, 0}),
                             "class %s: expected a return statement, found the end of the graph",
                             aot_text(c, c->graphs.d[i]->class_name));
        }
    }
    if (status == AOT_OK) {
        *out = c->graphs.d[first_graph];
    }
    // it may be read again
    while (aot_progress_stopped() && status != AOT_OK && c->graphs.n > first_graph) {
        aot_graph_free(c->graphs.d[c->graphs.n - 1]);
    }
    aot_vec_free(&ps->names);
    aot_vec_free(&ps->src_of_text);
    aot_vec_free(&ps->src_scope);
    aot_vec_free(&ps->stack_args);
    free(ps);
    return status;
}
