/* Redacting a graph: it is read, its names and comments are replaced, and it is printed again.
 *
 * A value is the user's if Dynamo or export named it after a variable or an input; in the graphs
 * below, values are named after operators. So names stay where the base is the node's own operator,
 * and below Dynamo also where it is any operator or word of FX. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/text.h"
#include "session/redact_internal.h"

typedef struct job {
    aot_redactor *r;
    aot_ctx *c;
    bool users;       /* values may be named after the user's variables */
    aot_str *renamed; /* by the old name's id; 0: not renamed */
    size_t n_renamed;
} job;

static const char *text_of(const job *j, aot_str s)
{
    return aot_text(j->c, s);
}

static size_t len_of(const job *j, aot_str s)
{
    return aot_str_len(j->c->strs, s);
}

static aot_str intern(job *j, const char *text)
{
    return aot_intern_z(j->c->strs, text);
}

static bool starts(const char *s, const char *with)
{
    return strncmp(s, with, strlen(with)) == 0;
}

/* ---- values -----------------------------------------------------------------------------------
 */

/* Whether a name is the last part of the target with a number behind: dropout_1 of
 * torch.nn.functional.dropout. */
static bool named_after_target(const job *j, const aot_node *n)
{
    const char *name = text_of(j, n->name), *target = text_of(j, n->target);
    if (n->op != AOT_OP_UNKNOWN) {
        target = aot_node_op(n)->packet;
    }
    const char *dot = strrchr(target, '.');
    target = dot != NULL ? dot + 1 : target;
    size_t len = strlen(target);
    while (len > 0 && target[len - 1] == '_') {
        len--;
    }
    if (strncmp(name, target, len) != 0) {
        return false;
    }
    name += len;
    name += *name == '_' && !isdigit((unsigned char)name[1]); // add_ of operator.add_
    while (*name == '_' && isdigit((unsigned char)name[1])) {
        name += 1 + strspn(name + 1, "0123456789");
    }
    return *name == '\0';
}

/* A placeholder whose source nobody described: L_self_modules_MINE_parameters_MINE_. Words of such
 * expressions and numbers stay, what is between them is one name. */
static const char *structural_name(job *j, const char *s)
{
    static const char *const words[] = {"L",    "l",      "G",       "g",          "self",
                                        "args", "kwargs", "modules", "parameters", "buffers"};
    aot_sb b = {0};
    const char *name = NULL, *p = s;
    for (size_t n;; p += n + 1) {
        n = strcspn(p, "_");
        bool stays = n == 0 || strspn(p, "0123456789") >= n;
        for (size_t i = 0; i < sizeof words / sizeof *words && !stays; i++) {
            stays = strlen(words[i]) == n && memcmp(p, words[i], n) == 0;
        }
        name = name == NULL && !stays ? p : name;
        if (name != NULL && (stays || p[n] == '\0')) {
            size_t length = (size_t)((stays ? p - 1 : p + n) - name);
            aot_sb_addf(&b, "%s%s", red_name(j->r, name, length), stays ? "_" : "");
            name = NULL;
        }
        if (stays) {
            aot_sb_addf(&b, "%.*s%s", (int)n, p, p[n] == '_' ? "_" : "");
        }
        if (p[n] == '\0') {
            break;
        }
    }
    const char *text = aot_arena_strndup(j->c->arena, aot_sb_text(&b), b.n);
    aot_sb_free(&b);
    return text;
}

static const char *placeholder_name(job *j, const aot_node *n)
{
    const char *name = text_of(j, n->name), *known = red_of_source(j->r, name, strlen(name));
    const char *target = red_of_source(j->r, text_of(j, n->target), len_of(j, n->target));
    if (known != NULL) {
        return known;
    }
    if (target != NULL) { // its alias in lower case
        const char *low = red_lower(j->r, target);
        red_remember(j->r, name, strlen(name), low);
        return low;
    }
    bool mangled = strchr("lLgG", name[0]) != NULL && name[1] == '_';
    return mangled ? structural_name(j, name) : red_name(j->r, name, strlen(name));
}

static const char *const methods[] = {
#define LOWER(name, function) name,
#include "lower/methods.def"
#undef LOWER
};

/* Whether a call is of PyTorch's. */
static bool target_stays(job *j, const aot_node *n)
{
    const char *t = text_of(j, n->target);
    size_t len = len_of(j, n->target);
    char op[160];
    if (n->kind != AOT_CALL_METHOD) {
        return strcmp(red_target(j->r, t, len), t) == 0;
    }
    int k = snprintf(op, sizeof op, "aten.%s", t);
    bool known = aot_op_packet_part(op, (size_t)k) != 0 || red_is_value_word(j->r, t, len);
    for (size_t i = 0; i < sizeof methods / sizeof *methods && !known; i++) {
        known = strcmp(methods[i], t) == 0;
    }
    return known;
}

static bool name_stays(job *j, const aot_node *n)
{
    const char *name = text_of(j, n->name);
    size_t len = len_of(j, n->name);
    if (n->kind == AOT_OUTPUT || !j->users) {
        return red_is_value_word(j->r, name, len);
    }
    bool symbol = len > 1 && (name[0] == 's' || name[0] == 'u') && isdigit((unsigned char)name[1]);
    if (n->kind == AOT_PLACEHOLDER || n->kind == AOT_GET_ATTR) {
        return symbol && red_is_value_word(j->r, name, len);
    }
    return n->kind != AOT_CALL_MODULE && target_stays(j, n) && named_after_target(j, n);
}

static void rename_values(job *j, aot_graph *g)
{
    for (size_t i = 0; i < g->nodes.n; i++) {
        aot_node *n = &g->nodes.d[i];
        aot_str old = n->name;
        const char *name = text_of(j, old);
        if (!name_stays(j, n)) {
            name = n->kind == AOT_PLACEHOLDER ? placeholder_name(j, n)
                   : red_is_value_word(j->r, name, len_of(j, old)) && n->kind == AOT_GET_ATTR
                       ? name
                       : red_name(j->r, name, len_of(j, old));
        }
        n->name = intern(j, name);
        if (old < j->n_renamed) {
            j->renamed[old] = n->name;
        }
    }
}

static const char *renamed_value(void *arg, const char *s, size_t n)
{
    const job *j = arg;
    aot_str id = aot_intern_find(j->c->strs, s, n);
    return id != 0 && id < j->n_renamed && j->renamed[id] != 0 ? text_of(j, j->renamed[id]) : NULL;
}

/* ---- targets ----------------------------------------------------------------------------------
 */

/* Attributes that FX made keep their names; numbers of nn.ModuleList stay in any case. */
static const char *attribute(job *j, const char *s, size_t n)
{
    return red_is_value_word(j->r, s, n) ? aot_arena_strndup(j->c->arena, s, n)
                                         : red_path(j->r, s, n);
}

static aot_str new_target(job *j, const aot_node *n)
{
    const char *t = text_of(j, n->target);
    size_t len = len_of(j, n->target);
    switch ((aot_node_kind)n->kind) {
    case AOT_PLACEHOLDER: {
        const char *of_source = red_of_source(j->r, t, len);
        bool same = n->target < j->n_renamed && j->renamed[n->target] != 0;
        bool mangled = strchr("lLgG", t[0]) != NULL && len > 1 && t[1] == '_';
        return of_source != NULL ? intern(j, of_source)
               : same            ? j->renamed[n->target]
               : mangled         ? intern(j, structural_name(j, t))
                                 : n->name;
    }
    case AOT_GET_ATTR:
        return intern(j, attribute(j, t, len));
    case AOT_CALL_MODULE:
        return intern(j, red_path(j->r, t, len));
    case AOT_CALL_FUNCTION:
        return intern(j, red_target(j->r, t, len));
    case AOT_CALL_METHOD:
        return target_stays(j, n) ? n->target : intern(j, red_name(j->r, t, len));
    default:
        return n->target;
    }
}

/* ---- arguments --------------------------------------------------------------------------------
 */

typedef enum texts {                 /* what text arguments of a call are */
                     TEXTS_WORDS,    /* of an operator: words of PyTorch, 'mean' */
                     TEXTS_EQUATION, /* einsum's: 'bhqk,bhkd->bhqd' */
                     /* of Python and higher-order operators: also names of values */
                     TEXTS_MIXED,
} texts;

static texts texts_of(const job *j, const aot_node *n)
{
    const char *t = text_of(j, n->target);
    bool python = n->op == AOT_OP_UNKNOWN ||
                  (aot_node_op(n)->flags & (AOT_OPF_PYTHON | AOT_OPF_HIGHER_ORDER)) != 0;
    bool labels = starts(t, "torch.ops.profiler.") || starts(t, "torch.ops._c10d") ||
                  starts(t, "torch.ops.c10d") || (starts(t, "torch.") && !starts(t, "torch.ops."));
    bool einsum = strcmp(t, "torch.functional.einsum") == 0 || strcmp(t, "torch.einsum") == 0 ||
                  starts(t, "torch.ops.aten.einsum.");
    return einsum ? TEXTS_EQUATION
           : n->kind == AOT_CALL_FUNCTION && python && !labels ? TEXTS_MIXED
                                                               : TEXTS_WORDS;
}

static bool is_equation(const char *s)
{
    bool alone = true; // dimensions are single letters: no word stands here that says something
    for (; *s != '\0' && alone; s++) {
        alone = isalpha((unsigned char)*s) || strchr(",.-> ", *s) != NULL;
    }
    return alone;
}

static const char *new_string(job *j, const char *s, texts kind)
{
    size_t n = strlen(s);
    bool stays = red_is_text_word(j->r, s, n) || (kind == TEXTS_EQUATION && is_equation(s)) ||
                 (kind == TEXTS_MIXED && red_is_value_word(j->r, s, n));
    return stays ? s : red_path(j->r, s, n);
}

static void redact_arg(job *j, aot_arg *a, texts kind)
{
    const char *s;
    switch ((aot_arg_kind)a->kind) {
    case AOT_ARG_STR:
        a->u.s = intern(j, new_string(j, text_of(j, a->u.s), kind));
        break;
    case AOT_ARG_NAME:
        s = text_of(j, a->u.s);
        if (strchr(s, '.') != NULL) {
            a->u.s = intern(j, red_target(j->r, s, strlen(s)));
        } else if (!isdigit((unsigned char)s[0])) {
            a->u.s = intern(j, red_repr(j->r, s, strlen(s), renamed_value, j));
        }
        break;
    case AOT_ARG_RAW:
        s = text_of(j, a->u.s);
        a->u.s = intern(j, red_repr(j->r, s, strlen(s), renamed_value, j));
        break;
    default:
        break;
    }
}

/* Keys of calls are PyTorch's unless the callee is the user's; auto_functionalized takes a custom
 * operator's, and adds to them: _x_base_index. */
static void redact_key(job *j, aot_arg *key, bool of_user, bool functionalized)
{
    static const char *const ends[] = {"_base_index",  "_alias",          "_size",
                                       "_stride",      "_storage_offset", "_slice_dim",
                                       "_slice_start", "_slice_end"};
    const char *s = text_of(j, key->u.s);
    if (functionalized && s[0] == '_' && strcmp(s, "_all_bases") != 0) {
        for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
            if (aot_ends_with(s, ends[i])) {
                size_t n = strlen(s) - strlen(ends[i]) - 1;
                key->u.s = intern(
                    j, aot_arena_printf(j->c->arena, "_%s%s", red_name(j->r, s + 1, n), ends[i]));
                return;
            }
        }
    }
    if ((of_user || functionalized) && strcmp(s, "_all_bases") != 0) {
        key->u.s = intern(j, red_name(j->r, s, strlen(s)));
    }
}

static void redact_args(job *j, aot_graph *g, const aot_arg *first, size_t n, texts kind)
{
    aot_arg *a = g->args.d + (first - g->args.d);
    for (size_t i = 0; i < n; i++) {
        if (a[i].kind >= AOT_ARG_LIST) { // nesting is bounded by the parser
            redact_args(j, g, aot_arg_items(g, &a[i]), a[i].n, kind);
        } else {
            redact_arg(j, &a[i], kind);
        }
    }
}

static void redact_call(job *j, aot_graph *g, aot_node *n)
{
    texts kind = texts_of(j, n);
    const char *t = text_of(j, n->target);
    bool functionalized = strstr(t, "higher_order.auto_functionalized") != NULL;
    bool of_user = n->kind == AOT_CALL_FUNCTION && !target_stays(j, n);
    redact_args(j, g, aot_node_args(g, n), n->n_args, kind);
    for (uint32_t k = 0; k < n->n_kwargs; k++) {
        aot_arg *pair = &g->args.d[n->kwargs + 2 * k];
        redact_key(j, &pair[0], of_user, functionalized);
        redact_args(j, g, &pair[1], 1, kind);
    }
}

/* ---- the rest ---------------------------------------------------------------------------------
 */

static void redact_comment(job *j, aot_src *s)
{
    static const char no_trace[] = "No stacktrace found for following nodes";
    const char *old = text_of(j, s->text);
    aot_sb b = {0};
    if (s->ac_graph_id >= 0) {
        aot_sb_addf(&b, "ac_graph_id: %d - %s ", s->ac_graph_id,
                    aot_policy_name((aot_policy)s->policy));
    } else if (s->policy != AOT_POLICY_NONE) {
        aot_sb_addf(&b, "recompute: %s ", aot_policy_name((aot_policy)s->policy));
    }
    if (s->is_backward) {
        aot_sb_addz(&b, "Backward of forward node: ? ");
    }
    if (s->file != 0) {
        s->file = intern(j, red_file(j->r, text_of(j, s->file)));
        s->func = intern(j, red_function(j->r, text_of(j, s->func), len_of(j, s->func)));
        s->code = intern(j, s->code != 0 ? "..." : "");
        aot_sb_addf(&b, "File: %s:%u%s%s%s%s", text_of(j, s->file), s->line,
                    s->func != 0 ? " in " : "", text_of(j, s->func), s->code != 0 ? ", code: " : "",
                    text_of(j, s->code));
    } else if (strstr(old, no_trace) != NULL) {
        aot_sb_addz(&b, no_trace);
    }
    while (b.n > 0 && b.d[b.n - 1] == ' ') {
        b.d[--b.n] = '\0';
    }
    s->text = old[0] != '\0' ? intern(j, b.n > 0 ? aot_sb_text(&b) : "...") : 0;
    aot_sb_free(&b);
}

static aot_str repr(job *j, aot_str s)
{
    return s == 0 ? 0 : intern(j, red_repr(j->r, text_of(j, s), len_of(j, s), renamed_value, j));
}

static void redact_one(job *j, aot_graph *g)
{
    static const char *const classes[] = {"GraphModule", "<lambda>", "inner_f", "joint_helper"};
    for (size_t i = 0; i < g->nodes.n; i++) {
        aot_node *n = &g->nodes.d[i];
        redact_call(j, g, n);
        n->target = new_target(j, n);
        n->desc = repr(j, n->desc);
    }
    for (size_t i = 1; i < g->srcs.n; i++) {
        redact_comment(j, &g->srcs.d[i]);
    }
    for (size_t i = 0; i < g->out_descs.n; i++) {
        g->out_descs.d[i] = repr(j, g->out_descs.d[i]);
    }
    bool known = false;
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        known |= strcmp(text_of(j, g->class_name), classes[i]) == 0;
    }
    aot_str attr = g->attr_name;
    g->attr_name = attr == 0 ? 0 : intern(j, attribute(j, text_of(j, attr), len_of(j, attr)));
    g->class_name = attr != 0 && attr == g->class_name ? g->attr_name
                    : known                            ? g->class_name
                                                       : intern(j, "GraphModule");
    g->layout.in_args = repr(j, g->layout.in_args);
    g->layout.flatten_spec = repr(j, g->layout.flatten_spec);
}

/* Annotations that are no tensor and no number may name a class. */
static void redact_types(job *j)
{
    for (size_t i = 1; i < j->c->metas.n; i++) {
        aot_meta *m = &j->c->metas.d[i];
        if (m->val == AOT_VAL_NONE) {
            m->text = repr(j, m->text);
        }
    }
}

bool red_graph(aot_redactor *r, aot_record *rec, aot_arena *a)
{
    aot_ctx *c = aot_ctx_new();
    aot_graph *g = NULL;
    aot_sb text = {0};
    bool read = rec->text != NULL && aot_parse_graph(&g, c, rec->text, rec->len, 1, NULL) == AOT_OK;
    if (read) {
        job j = {.r = r,
                 .c = c,
                 .users = rec->stage == AOT_STAGE_DYNAMO || rec->stage == AOT_STAGE_EXPORT};
        j.n_renamed = aot_strtab_count(c->strs);
        j.renamed = aot_xcalloc(j.n_renamed, sizeof *j.renamed);
        for (size_t i = 0; i < c->graphs.n; i++) {
            rename_values(&j, c->graphs.d[i]);
        }
        for (size_t i = 0; i < c->graphs.n; i++) {
            redact_one(&j, c->graphs.d[i]);
        }
        redact_types(&j);
        aot_print_graph(&text, g, AOT_PRINT_PLAIN);
        rec->text = aot_arena_strndup(a, aot_sb_text(&text), text.n);
        rec->len = text.n;
        free(j.renamed);
    }
    aot_sb_free(&text);
    aot_ctx_free(c);
    return read;
}
