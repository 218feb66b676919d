/* Statements: "name: type = right side;  freed = None", calls, methods, operators, in-place forms.
 * Mirrors: torch/fx/graph.py:_gen_python_code (emit_node). */
#include "ir/parse_internal.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/pyops.h"

/* ---- statements -------------------------------------------------------------------------- */

/* name[: "type"] = ; the type's text is kept, with its blanks if it is not a quoted one. */
aot_status ps_parse_assign(parser *ps, aot_node *n)
{
    size_t len = ps_ident_len(ps, ps->p);
    if (len == 0) {
        return ps_fail(ps, "a statement");
    }
    n->name = aot_intern(ps->c->strs, ps->p, len);
    ps->p += len;
    if (ps_looking_at(ps, ": \"") || ps_looking_at(ps, " : \"")) {
        ps->p = memchr(ps->p, '"', (size_t)(ps->end - ps->p));
        const char *start = ++ps->p;
        while (!ps_at_line_end(ps) && *ps->p != '"') {
            ps->p++;
        }
        if (ps_at_line_end(ps)) {
            return ps_fail(ps, "'\"' after the type");
        }
        n->meta = aot_ctx_meta(ps->c, start, (size_t)(ps->p - start));
        ps->p++;
    } else if (ps_looking_at(ps, " : ")) {
        const char *start = ps->p;
        for (int depth = 0; !ps_at_line_end(ps) && !ps_looking_at(ps, " = "); ps->p++) {
            if (depth == 0 && (*ps->p == ',' || *ps->p == ')')) {
                break; // a parameter among others
            }
            depth += (*ps->p == '[' || *ps->p == '(') - (*ps->p == ']' || *ps->p == ')');
        }
        n->meta = aot_ctx_meta(ps->c, start, (size_t)(ps->p - start));
    }
    return AOT_OK;
}

void ps_set_args(parser *ps, aot_node *n, const aot_arg *a, uint16_t count)
{
    n->args = aot_graph_add_args(ps->g, a, count);
    n->n_args = count;
}

static void set_function(parser *ps, aot_node *n, const char *target)
{
    n->kind = AOT_CALL_FUNCTION;
    n->target = aot_intern_z(ps->c->strs, target);
    n->op = aot_ctx_op(ps->c, n->target);
}

/* (a, b, k = v): positional arguments, then keyword ones. first: receiver of a method, or NULL. */
static aot_status parse_call_args(parser *ps, aot_node *n, const aot_arg *first)
{
    size_t base = ps->stack_args.n;
    AOT_VEC(aot_arg) kw = {0};
    aot_status status = AOT_OK;
    if (first != NULL) {
        aot_vec_push(&ps->stack_args, *first);
    }
    ps->p++;
    while (!ps_take(ps, ")")) {
        aot_arg v, key = {.kind = AOT_ARG_NAME};
        size_t len = ps_ident_len(ps, ps->p);
        bool keyword = len != 0 && ps->p + len + 3 < ps->end && memcmp(ps->p + len, " = ", 3) == 0;
        if (keyword) {
            key.u.s = aot_intern(ps->c->strs, ps->p, len);
            ps->p += len + 3;
        }
        status = ps_parse_value(ps, &v);
        if (status == AOT_OK && keyword) {
            aot_vec_push(&kw, key);
            aot_vec_push(&kw, v);
        } else if (status == AOT_OK) {
            aot_vec_push(&ps->stack_args, v);
        }
        if (status == AOT_OK && !ps_take(ps, ", ") && !ps_looking_at(ps, ")")) {
            status = ps_fail(ps, "',' or ')' after an argument");
        }
        if (status != AOT_OK) {
            break;
        }
    }
    size_t n_args = ps->stack_args.n - base;
    if (status == AOT_OK && (n_args > UINT16_MAX || kw.n / 2 > UINT16_MAX)) {
        status = ps_fail(ps, "at most 65,535 arguments");
    }
    if (status == AOT_OK) {
        ps_set_args(ps, n, ps->stack_args.d + base, (uint16_t)n_args);
        n->kwargs = aot_graph_add_args(ps->g, kw.d, (uint32_t)kw.n);
        n->n_kwargs = (uint16_t)(kw.n / 2);
    }
    ps->stack_args.n = base;
    aot_vec_free(&kw);
    return status;
}

/* self.a.b, getattr(self.layers, "0").weight ...: the dotted target goes to path. False (and
 * nothing consumed) if this is no path from self. */
static bool parse_self_path(parser *ps, aot_sb *path, int depth)
{
    const char *start = ps->p;
    if (depth < MAX_NEST && ps_take(ps, "getattr(")) {
        if (!parse_self_path(ps, path, depth + 1) || !ps_take(ps, ", \"")) {
            ps->p = start;
            return false;
        }
        const char *q = memchr(ps->p, '"', (size_t)(ps->end - ps->p));
        if (q == NULL || q + 1 >= ps->end || q[1] != ')') {
            ps->p = start;
            return false;
        }
        aot_sb_addf(path, "%s%.*s", path->n != 0 ? "." : "", (int)(q - ps->p), ps->p);
        ps->p = q + 2;
    } else if (!ps_take(ps, "self")) {
        return false;
    }
    while (ps->p < ps->end && *ps->p == '.') {
        size_t n = ps_ident_len(ps, ps->p + 1);
        if (n == 0) {
            break;
        }
        aot_sb_addf(path, "%s%.*s", path->n != 0 ? "." : "", (int)n, ps->p + 1);
        ps->p += n + 1;
    }
    return true;
}

/* After the left operand: " + b", "[i]" or nothing. */
static aot_status parse_operator(parser *ps, aot_node *n, const aot_arg *left)
{
    size_t count;
    const aot_pyop *ops = aot_pyops(&count);
    aot_arg a[2] = {*left};
    for (size_t i = 0; i < count; i++) {
        if (ops[i].operands == 2 && !ops[i].inplace && ps_take(ps, ops[i].between)) {
            char target[64];
            AOT_TRY(ps_parse_value(ps, &a[1]));
            if (!ps_take(ps, ops[i].after)) {
                return ps_fail(ps, "']'");
            }
            snprintf(target, sizeof target, "operator.%s", ops[i].name);
            ps_set_args(ps, n, a, 2);
            set_function(ps, n, target);
            return AOT_OK;
        }
    }
    return ps_fail(ps, "an operator");
}

/* -x, ~x, +x of a value (a negative number is a number). */
static bool parse_unary(parser *ps, aot_node *n, aot_status *status)
{
    size_t count;
    const aot_pyop *ops = aot_pyops(&count);
    for (size_t i = 0; i < count; i++) {
        if (ops[i].operands == 1 && *ps->p == ops[i].before[0] && ps->p + 1 < ps->end &&
            ps_ident_char(ps->p[1]) && !isdigit((unsigned char)ps->p[1]) &&
            !ps_looking_at(ps, "-inf")) {
            char target[64];
            aot_arg a;
            ps->p++;
            *status = ps_parse_value(ps, &a);
            snprintf(target, sizeof target, "operator.%s", ops[i].name);
            ps_set_args(ps, n, &a, 1);
            set_function(ps, n, target);
            return true;
        }
    }
    return false;
}

/* x.method(...), x.attribute, or an operator on x. */
static aot_status parse_on_value(parser *ps, aot_node *n, const aot_arg *x)
{
    if (ps->p < ps->end && *ps->p == '.') {
        size_t len = ps_ident_len(ps, ps->p + 1);
        const char *name = ps->p + 1;
        if (len == 0) {
            return ps_fail(ps, "a method or attribute");
        }
        ps->p = name + len;
        if (ps_looking_at(ps, "(")) {
            n->kind = AOT_CALL_METHOD;
            n->target = aot_intern(ps->c->strs, name, len);
            return parse_call_args(ps, n, x);
        }
        aot_arg a[2] = {*x, {.kind = AOT_ARG_STR, .quote = '\''}};
        a[1].u.s = aot_intern(ps->c->strs, name, len);
        ps_set_args(ps, n, a, 2);
        set_function(ps, n, "getattr");
        return AOT_OK;
    }
    return parse_operator(ps, n, x);
}

static aot_status parse_rhs(parser *ps, aot_node *n)
{
    aot_status status = AOT_OK;
    aot_sb path = {0};
    const char *start = ps->p;
    if ((ps_looking_at(ps, "self") || ps_looking_at(ps, "getattr(")) &&
        parse_self_path(ps, &path, 0) && path.n != 0) {
        n->kind = ps_looking_at(ps, "(") ? AOT_CALL_MODULE : AOT_GET_ATTR;
        n->target = aot_intern(ps->c->strs, path.d, path.n);
        aot_sb_free(&path);
        return n->kind == AOT_CALL_MODULE ? parse_call_args(ps, n, NULL) : AOT_OK;
    }
    aot_sb_free(&path);
    ps->p = start;
    size_t head = ps_ident_len(ps, start), len = ps_path_len(ps, start);
    aot_node_id value = head != 0 ? ps_lookup(ps, start, head) : AOT_NO_NODE;
    if (value == AOT_NO_NODE && len != 0 && start + len < ps->end && start[len] == '(') {
        n->kind = AOT_CALL_FUNCTION;
        n->target = aot_intern(ps->c->strs, start, len);
        n->op = aot_ctx_op(ps->c, n->target);
        ps->p = start + len;
        return parse_call_args(ps, n, NULL);
    }
    if (ps_at_line_end(ps)) {
        return ps_fail(ps, "a value after '='");
    }
    if (parse_unary(ps, n, &status)) {
        return status;
    }
    aot_arg x;
    if (value != AOT_NO_NODE) {
        x = (aot_arg){.kind = AOT_ARG_NODE};
        x.u.node = value;
        ps->p = start + head;
    } else {
        AOT_TRY(ps_parse_value(ps, &x));
    }
    return parse_on_value(ps, n, &x);
}

/* Names are unique in a module; FX never gives one twice. */
aot_status ps_add_node(parser *ps, aot_node *n)
{
    if (n->kind != AOT_OUTPUT && ps_binding_of(ps, n->name)->scope == ps->scope) {
        aot_pos at = {ps->line, 0};
        return AOT_FAIL_POS(ps->err, AOT_E_PARSE, at,
                            "expected a new name, found '%s' a second time",
                            aot_text(ps->c, n->name));
    }
    n->src = n->kind == AOT_PLACEHOLDER || n->kind == AOT_OUTPUT ? 0 : ps->src;
    n->policy = ps->g->srcs.d[n->src].policy;
    aot_node_id id = aot_graph_add(ps->g, n);
    ps_bind(ps, n->name, id);
    return AOT_OK;
}

/* What follows a statement: ";  a = b = None", which printing makes anew. */
aot_status ps_end_statement(parser *ps)
{
    ps_blanks(ps);
    if (!ps_at_line_end(ps) && *ps->p != ';' && *ps->p != '#') {
        return ps_fail(ps, "the end of the statement");
    }
    if (!ps_at_line_end(ps) && *ps->p == ';' && ps->g->nodes.n != 0) {
        // is the value itself freed at once? Older printers never did that
        const aot_node *n = &ps->g->nodes.d[ps->g->nodes.n - 1];
        size_t len = aot_str_len(ps->c->strs, n->name);
        const char *nl = memchr(ps->p, '\n', (size_t)(ps->end - ps->p));
        const char *end = nl != NULL ? nl : ps->end;
        while (end > ps->p && (end[-1] == ' ' || end[-1] == '\r')) {
            end--;
        }
        ps->frees_unused |= (size_t)(end - ps->p) > len + 8 && memcmp(end - 7, " = None", 7) == 0 &&
                            memcmp(end - 7 - len, aot_text(ps->c, n->name), len) == 0 &&
                            end[-8 - (ptrdiff_t)len] == ' ';
    }
    ps_next_line(ps);
    return AOT_OK;
}

/* a += b;  x: "type" = a   and   a[i] = v;  setitem = a */
static aot_status parse_inplace(parser *ps, const aot_pyop *op, aot_arg *a, uint16_t n_args)
{
    aot_node n = {0};
    char target[64];
    AOT_TRY(ps_parse_value(ps, &a[n_args - 1]));
    if (!ps_take(ps, ";  ")) {
        return ps_fail(ps, "';' and the name of the result");
    }
    AOT_TRY(ps_parse_assign(ps, &n));
    if (!ps_take(ps, " = ")) {
        return ps_fail(ps, "'='");
    }
    aot_arg again;
    AOT_TRY(ps_parse_value(ps, &again));
    snprintf(target, sizeof target, "operator.%s", op != NULL ? op->name : "setitem");
    ps_set_args(ps, &n, a, n_args);
    set_function(ps, &n, target);
    AOT_TRY(ps_add_node(ps, &n));
    return ps_end_statement(ps);
}

/* True (with *status) if the line mutates a value. */
static bool try_inplace(parser *ps, aot_status *status)
{
    const char *start = ps->p;
    size_t len = ps_ident_len(ps, start), count;
    const aot_pyop *ops = aot_pyops(&count);
    aot_arg a[3];
    if (len == 0 || ps_lookup(ps, start, len) == AOT_NO_NODE) {
        return false;
    }
    a[0] = (aot_arg){.kind = AOT_ARG_NODE};
    a[0].u.node = ps_lookup(ps, start, len);
    ps->p = start + len;
    for (size_t i = 0; i < count; i++) {
        if (ops[i].inplace && ps_take(ps, ops[i].between)) {
            *status = parse_inplace(ps, &ops[i], a, 2);
            return true;
        }
    }
    if (ps_take(ps, "[")) {
        *status = ps_parse_value(ps, &a[1]);
        if (*status == AOT_OK && ps_take(ps, "] = ")) {
            *status = parse_inplace(ps, NULL, a, 3);
        } else if (*status == AOT_OK) {
            *status = ps_fail(ps, "'] = '");
        }
        return true;
    }
    ps->p = start;
    return false;
}

aot_status ps_parse_statement(parser *ps)
{
    aot_status status;
    aot_node n = {0};
    if (try_inplace(ps, &status)) {
        return status;
    }
    AOT_TRY(ps_parse_assign(ps, &n));
    if (!ps_take(ps, " = ")) {
        return ps_fail(ps, "'='");
    }
    size_t len = ps_ident_len(ps, ps->p);
    const char *after = ps->p + len;
    if (len != 0 && (after >= ps->end || *after == '\n' || *after == '\r' || *after == ';')) {
        // l_x_ = L_x_: the value's own name for a placeholder
        aot_node_id id = ps_lookup(ps, ps->p, len);
        if (id != AOT_NO_NODE && aot_node_at(ps->g, id)->kind == AOT_PLACEHOLDER) {
            aot_node_at(ps->g, id)->name = n.name;
            ps_bind(ps, n.name, id);
            ps->p = after;
            return ps_end_statement(ps);
        }
        if (after < ps->end && *after == ';' && id == AOT_NO_NODE) {
            return ps_fail(ps, "a value that was defined before");
        }
    }
    AOT_TRY(parse_rhs(ps, &n));
    AOT_TRY(ps_add_node(ps, &n));
    return ps_end_statement(ps);
}
