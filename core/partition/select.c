/* The selection language: a text becomes a list of terms, each a row of select_terms.def with its
 * value; a node is meant if all of them hold.
 *
 *     op:mm !saved   ->   {op, "mm"}, {not, saved}
 *
 * A term that fits no row is a regular expression on name and operator. */
#include "partition/select.h"

#include <ctype.h>
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/regexp.h"
#include "partition/internal.h"
#include "partition/rng_sites.h"
#include "rules/flops.h"
#include "rules/sizes.h"

/* A node as the functions of the table see it. */
typedef struct seen {
    const aot_select_on *on;
    const aot_graph *g;
    const aot_node *n;
    aot_node_id id;
    const aot_node_info *info; /* NULL: no partition, or not in its graph */
} seen;

typedef bool text_fn(const seen *x, const char *value);
typedef double number_fn(const seen *x);
typedef bool word_fn(const seen *x);

#define TEXT(name, arg, fn, needs, doc) static text_fn fn;
#define NUMBER(name, arg, fn, needs, doc) static number_fn fn;
#define WORD(name, fn, needs, doc) static word_fn fn;
#include "partition/select_terms.def"
#undef TEXT
#undef NUMBER
#undef WORD

static const struct row {
    aot_select_kind kind;
    const char *name, *arg, *doc;
    bool needs_partition;
    text_fn *text;
    number_fn *number;
    word_fn *word;
} rows[] = {
#define TEXT(name, arg, fn, needs, doc) {AOT_SELECT_TEXT, name, arg, doc, needs, fn, NULL, NULL},
#define NUMBER(name, arg, fn, needs, doc)                                                          \
    {AOT_SELECT_NUMBER, name, arg, doc, needs, NULL, fn, NULL},
#define WORD(name, fn, needs, doc) {AOT_SELECT_WORD, name, "", doc, needs, NULL, NULL, fn},
#include "partition/select_terms.def"
#undef TEXT
#undef NUMBER
#undef WORD
};
enum { N_ROWS = sizeof rows / sizeof *rows };

typedef enum compare { LESS, LESS_EQUAL, EQUAL, MORE_EQUAL, MORE } compare;

struct aot_select_term {
    const struct row *row; /* NULL: a regular expression */
    bool negated;
    char **values; /* TEXT: alternatives, NULL-terminated */
    compare compare;
    double number;
    regex_t regex;
};

/* ---- what the rows ask ----------------------------------------------------------------------- */

static bool contains(const char *text, const char *part)
{
    return strcasestr(text, part) != NULL;
}

static bool has_name(const seen *x, const char *value)
{
    const char *name = aot_node_name(x->g, x->id);
    // most are no patterns, and what a key forces is asked of every node
    return strcmp(value, name) == 0 ||
           (strpbrk(value, "*?[\\") != NULL && fnmatch(value, name, 0) == 0);
}

/* "aten.mm.default" of torch.ops.aten.mm.default, else the target as it is; "" for inputs. */
static const char *op_text(const seen *x)
{
    const char *t = aot_text(x->g->ctx, x->n->target);
    if (x->n->kind == AOT_PLACEHOLDER || x->n->kind == AOT_OUTPUT || x->n->kind == AOT_GET_ATTR) {
        return "";
    }
    return aot_starts_with(t, "torch.ops.") ? t + 10 : t;
}

/* mm of aten.mm.default is its packet, getitem of operator.getitem its last part. */
static bool has_op(const seen *x, const char *value)
{
    const char *t = op_text(x), *v = aot_starts_with(value, "torch.ops.") ? value + 10 : value;
    const char *last = strrchr(t, '.'), *first = strchr(t, '.');
    bool overload =
        aot_starts_with(aot_text(x->g->ctx, x->n->target), "torch.ops.") && last != first;
    char part[160];
    if (t[0] == '\0' || fnmatch(v, t, 0) == 0) {
        return t[0] != '\0';
    }
    size_t end = overload ? (size_t)(last - t) : strlen(t);
    snprintf(part, sizeof part, "%.*s", (int)(end < 150 ? end : 150), t);
    const char *dot = overload ? strchr(part, '.') : strrchr(part, '.');
    return fnmatch(v, part, 0) == 0 || (dot != NULL && fnmatch(v, dot + 1, 0) == 0);
}

static bool file_ends(const char *file, const char *value, size_t n)
{
    size_t len = strlen(file);
    return n <= len && strncmp(file + len - n, value, n) == 0 &&
           (n == len || file[len - n - 1] == '/');
}

static bool on_line(const seen *x, const char *value)
{
    const aot_src *src = &x->g->srcs.d[x->n->src];
    const char *colon = strrchr(value, ':');
    char *end;
    if (src->file == 0) {
        return false;
    }
    const char *file = aot_text(x->g->ctx, src->file);
    if (colon == NULL || !isdigit((unsigned char)colon[1])) {
        return file_ends(file, value, strlen(value));
    }
    unsigned long from = strtoul(colon + 1, &end, 10),
                  to = *end == '-' ? strtoul(end + 1, NULL, 10) : from;
    return src->line >= from && src->line <= to &&
           (colon == value || file_ends(file, value, (size_t)(colon - value)));
}

/* Do the pattern's parts follow one another in the path, from its start or behind a dot? */
static bool in_module(const seen *x, const char *value)
{
    const char *path = x->on->modules != NULL ? x->on->modules[x->id] : NULL;
    size_t n_dots = 0;
    for (const char *q = value; *q != '\0'; q++) {
        n_dots += *q == '.';
    }
    while (path != NULL && path[0] != '\0') {
        const char *end = path;
        for (size_t k = 0; k <= n_dots && end != NULL; k++) {
            end = strchr(k == 0 ? end : end + 1, '.');
        }
        char part[400];
        size_t n = end != NULL ? (size_t)(end - path) : strlen(path);
        snprintf(part, sizeof part, "%.*s", (int)(n < 390 ? n : 390), path);
        if (fnmatch(value, part, 0) == 0) {
            return true;
        }
        path = strchr(path, '.');
        path = path != NULL ? path + 1 : NULL;
    }
    return false;
}

static bool in_region(const seen *x, const char *value)
{
    int32_t region = x->g->srcs.d[x->n->src].ac_graph_id;
    return region < 0 ? strcmp(value, "none") == 0
                      : isdigit((unsigned char)value[0]) && strtol(value, NULL, 10) == region;
}

static bool has_type(const seen *x, const char *value)
{
    const char *t = aot_text(x->g->ctx, aot_meta_get(x->g->ctx, x->n->meta)->text), *v = value;
    for (; *t != '\0'; t++) { // blanks do not count
        const char *a = t;
        for (v = value; *v != '\0'; v++) {
            a += strspn(a, " ");
            if (*v != ' ' && *a++ != *v) {
                break;
            }
        }
        if (*v == '\0') {
            return true;
        }
    }
    return false;
}

static bool has_ban(const seen *x, const char *value)
{
    const char *text = x->info->ban != AOT_BAN_NONE ? aot_ban_text((aot_ban)x->info->ban) : NULL;
    return text != NULL ? contains(text, value) : strcmp(value, "none") == 0;
}

static bool has_tag(const seen *x, const char *value)
{
    aot_policy tag = (aot_policy)(x->info != NULL ? x->info->policy : x->n->policy);
    return tag == AOT_POLICY_NONE ? strcmp(value, "none") == 0
                                  : contains(aot_policy_name(tag), value);
}

static double count_bytes(const seen *x)
{
    if (x->info != NULL) {
        return (double)x->info->bytes;
    }
    return (double)aot_meta_bytes(x->g->ctx, x->n->meta);
}

static double count_weight(const seen *x)
{
    return x->info->weight < 0                  ? NAN
           : x->info->weight == AOT_WEIGHT_INF ? INFINITY
                                               : (double)x->info->weight;
}

static double count_dist(const seen *x)
{
    return x->info->dist >= 1000000000 ? INFINITY : (double)x->info->dist;
}

static double count_flops(const seen *x)
{
    return aot_node_flops(x->g, x->id);
}

static double count_users(const seen *x)
{
    return x->g->user_off != NULL ? aot_n_users(x->g, x->id) : NAN;
}

static bool is_saved(const seen *x)
{
    return x->info->verdict == AOT_V_SAVED;
}

static bool is_recomputed(const seen *x)
{
    return x->info->verdict == AOT_V_RECOMPUTED;
}

static bool is_forward(const seen *x)
{
    return !x->info->backward_made && x->n->kind != AOT_OUTPUT;
}

static bool is_backward(const seen *x)
{
    return x->info->backward_made && x->n->kind != AOT_OUTPUT;
}

static bool is_input(const seen *x)
{
    return x->n->kind == AOT_PLACEHOLDER;
}

static bool is_static(const seen *x)
{
    return x->info->is_static;
}

static bool is_symbol(const seen *x)
{
    return part_is_sym(x->g, x->n);
}

static bool is_view(const seen *x)
{
    return x->n->kind == AOT_CALL_FUNCTION && ((aot_node_op(x->n)->part & AOT_PART_VIEW) != 0 ||
                                               (aot_node_op(x->n)->flags & AOT_OPF_ALIASES) != 0);
}

static bool is_random(const seen *x)
{
    return x->n->kind == AOT_CALL_FUNCTION &&
           (part_is_seeded(x->g, x->n) || (aot_node_op(x->n)->part & AOT_PART_RANDOM) != 0 ||
            aot_rng_is_computed(x->n->op));
}

static bool is_mutation(const seen *x)
{
    return x->n->kind == AOT_CALL_FUNCTION && (aot_node_op(x->n)->flags & AOT_OPF_MUTATES) != 0;
}

static bool is_collective(const seen *x)
{
    const char *t = op_text(x);
    return aot_starts_with(t, "_c10d_functional.") ||
           aot_starts_with(t, "_c10d_functional_autograd.") || aot_starts_with(t, "c10d.");
}

/* ---- parsing --------------------------------------------------------------------------------- */

static void free_term(aot_select_term *t)
{
    for (char **v = t->values; v != NULL && *v != NULL; v++) {
        free(*v);
    }
    free(t->values);
    if (t->row == NULL) {
        regfree(&t->regex);
    }
}

void aot_select_free(aot_select *s)
{
    for (size_t i = 0; i < s->n_terms; i++) {
        free_term(&s->terms[i]);
    }
    free(s->terms);
    *s = (aot_select){0};
}

/* "a:VALUE,VALUE ..." for the message that names what there is. */
static void list_rows(char *buf, size_t size)
{
    size_t n = 0;
    for (size_t i = 0; i < N_ROWS && n < size; i++) {
        const char *sign = rows[i].kind == AOT_SELECT_TEXT     ? ":"
                           : rows[i].kind == AOT_SELECT_NUMBER ? ">"
                                                               : "";
        n += (size_t)snprintf(buf + n, size - n, "%s%s%s", i != 0 ? " " : "", rows[i].name, sign);
    }
}

static const struct row *find_row(aot_select_kind kind, const char *name, size_t n)
{
    for (size_t i = 0; i < N_ROWS; i++) {
        if (rows[i].kind == kind && strlen(rows[i].name) == n &&
            strncmp(rows[i].name, name, n) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

/* "a,b" as a NULL-terminated list. */
static char **split(const char *text)
{
    size_t n = 1;
    for (const char *q = text; *q != '\0'; q++) {
        n += *q == ',';
    }
    char **list = aot_xcalloc(n + 1, sizeof *list);
    for (size_t i = 0; i < n; i++) {
        size_t len = strcspn(text, ",");
        list[i] = aot_xstrndup(text, len);
        text += len + (text[len] == ',');
    }
    return list;
}

/* What stands behind the number: powers of 1024, of 1000 before B. */
static bool take_unit(double *number, const char *unit)
{
    static const char letters[] = "KMGT";
    const char *at = unit[0] != '\0' ? strchr(letters, toupper((unsigned char)unit[0])) : NULL;
    if (at == NULL) {
        return unit[0] == '\0' || strcmp(unit, "B") == 0;
    }
    const char *rest = unit + 1;
    if (rest[0] != '\0' && strcmp(rest, "B") != 0 && strcmp(rest, "iB") != 0) {
        return false;
    }
    *number *= pow(strcmp(rest, "B") == 0 ? 1000 : 1024, (double)(at - letters + 1));
    return true;
}

static aot_status parse_number(aot_select_term *t, const char *word, const char *at, aot_err *err)
{
    bool equal = at[0] != '=' && at[1] == '=';
    const char *value = at + 1 + equal;
    char *end;
    t->compare = at[0] == '<'   ? (equal ? LESS_EQUAL : LESS)
                 : at[0] == '>' ? (equal ? MORE_EQUAL : MORE)
                                : EQUAL;
    t->number = strtod(value, &end);
    if (end == value || isnan(t->number) || !take_unit(&t->number, end)) {
        return AOT_FAIL(err, AOT_E_USAGE,
                        "'%.80s': '%.40s' is no number; write one such as 4096, 1.5M or inf", word,
                        value);
    }
    return AOT_OK;
}

static aot_status parse_regex(aot_select_term *t, const char *word, aot_err *err)
{
    bool capital = false;
    for (const char *q = word; *q != '\0'; q++) {
        capital |= isupper((unsigned char)*q) != 0;
    }
    return aot_regexp_compile(&t->regex, word, !capital, err);
}

/* "node:a,node:b" would look for a value that is called node:b. */
static aot_status check_values(const aot_select_term *t, const char *word, aot_err *err)
{
    for (size_t i = 1; t->values[i] != NULL; i++) {
        const char *v = t->values[i];
        size_t n = strcspn(v, ":<>=");
        bool text = v[n] == ':' && find_row(AOT_SELECT_TEXT, v, n) != NULL;
        if (text || (v[n] != ':' && v[n] != '\0' && find_row(AOT_SELECT_NUMBER, v, n) != NULL)) {
            return AOT_FAIL(
                err, AOT_E_USAGE,
                "'%.80s': terms stand apart by blanks and all must hold; %s:A,B is any of A and B",
                word, t->row->name);
        }
    }
    return AOT_OK;
}

/* word: without its `!`; quoted: it began with ". */
static aot_status parse_term(aot_select_term *t, const char *word, bool quoted, aot_err *err)
{
    size_t n = strcspn(word, ":<>=");
    char there[400];
    if (!quoted && word[n] == '\0' && (t->row = find_row(AOT_SELECT_WORD, word, n)) != NULL) {
        return AOT_OK;
    }
    if (!quoted && word[n] == ':' && (t->row = find_row(AOT_SELECT_TEXT, word, n)) != NULL) {
        if (word[n + 1] == '\0') {
            return AOT_FAIL(err, AOT_E_USAGE, "'%.80s' says nothing: write %s:%s", word,
                            t->row->name, t->row->arg);
        }
        t->values = split(word + n + 1);
        aot_status s = check_values(t, word, err);
        if (s != AOT_OK) {
            free_term(t);
        }
        return s;
    }
    if (!quoted && word[n] != ':' && word[n] != '\0' &&
        (t->row = find_row(AOT_SELECT_NUMBER, word, n)) != NULL) {
        return parse_number(t, word, word + n, err);
    }
    if (!quoted && word[n] != '\0' && n != 0) {
        list_rows(there, sizeof there);
        return AOT_FAIL(err, AOT_E_USAGE,
                        "'%.80s': there is no such term; there are %s, and \"...\" is a plain text",
                        word, there);
    }
    return parse_regex(t, word, err);
}

/* The next term of *text: blanks and quotes dropped. False at the end. */
static bool next_word(const char **text, aot_sb *out, bool *negated, bool *quoted)
{
    const char *s = *text + strspn(*text, " \t");
    bool inside = false;
    aot_sb_clear(out);
    *negated = *s == '!';
    s += *negated;
    *quoted = *s == '"';
    if (*s == '\0' && !*negated) {
        return false;
    }
    for (; *s != '\0' && (inside || (*s != ' ' && *s != '\t')); s++) {
        if (*s == '"') {
            inside = !inside;
        } else {
            aot_sb_addc(out, *s);
        }
    }
    *text = s;
    return true;
}

aot_status aot_select_parse(aot_select *out, const char *text, aot_err *err)
{
    aot_select s = {0};
    aot_sb word = {0};
    aot_status status = AOT_OK;
    bool negated, quoted;
    while (status == AOT_OK && next_word(&text, &word, &negated, &quoted)) {
        aot_select_term t = {.negated = negated};
        if (word.n == 0) {
            status = AOT_FAIL(err, AOT_E_USAGE, "a term is missing%s",
                              negated ? " behind '!'" : " between the quotes");
            break;
        }
        status = parse_term(&t, word.d, quoted, err);
        if (status == AOT_OK) {
            s.terms = aot_xrealloc(s.terms, (s.n_terms + 1) * sizeof *s.terms);
            s.terms[s.n_terms++] = t;
            s.needs_partition |= t.row != NULL && t.row->needs_partition;
            s.needs_modules |= t.row != NULL && t.row->text == in_module;
        }
    }
    aot_sb_free(&word);
    if (status != AOT_OK) {
        aot_select_free(&s);
        return status;
    }
    *out = s;
    return AOT_OK;
}

/* ---- matching -------------------------------------------------------------------------------- */

static bool holds(const aot_select_term *t, const seen *x)
{
    if (t->row == NULL) {
        return regexec(&t->regex, aot_node_name(x->g, x->id), 0, NULL, 0) == 0 ||
               regexec(&t->regex, op_text(x), 0, NULL, 0) == 0;
    }
    if (t->row->needs_partition && x->info == NULL) {
        return false;
    }
    if (t->row->kind == AOT_SELECT_WORD) {
        return t->row->word(x);
    }
    for (char **v = t->values; t->row->kind == AOT_SELECT_TEXT && *v != NULL; v++) {
        if (t->row->text(x, *v)) {
            return true;
        }
    }
    double n = t->row->kind == AOT_SELECT_NUMBER ? t->row->number(x) : NAN;
    switch (t->compare) {
    case LESS: return n < t->number;
    case LESS_EQUAL: return n <= t->number;
    case EQUAL: return n == t->number;
    case MORE_EQUAL: return n >= t->number;
    case MORE: return n > t->number;
    }
    return false;
}

bool aot_select_match(const aot_select *s, const aot_select_on *on, aot_node_id id)
{
    aot_node_id cut = on->cut != NULL ? on->cut[id] : id;
    seen x = {.on = on, .g = on->g, .n = aot_node_at(on->g, id), .id = id};
    x.info = on->p != NULL && cut != AOT_NO_NODE ? &on->p->nodes[cut] : NULL;
    for (size_t i = 0; i < s->n_terms; i++) {
        if (holds(&s->terms[i], &x) == s->terms[i].negated) {
            return false;
        }
    }
    return true;
}

/* ---- a graph --------------------------------------------------------------------------------- */

void aot_select_begin(aot_select_on *out, const aot_graph *g, const aot_partition *p,
                      const char *const *modules)
{
    *out = (aot_select_on){.g = g, .p = p, .modules = modules};
    aot_graph_link_once(g);
    if (p == NULL || p->cut == g) {
        return;
    }
    const aot_graph *cut = p->cut;
    uint32_t n_strs = aot_strtab_count(cut->ctx->strs);
    aot_node_id *of_name = aot_xcalloc(n_strs + 1, sizeof *of_name);
    for (uint32_t i = 0; i < cut->nodes.n; i++) {
        of_name[aot_node_at(cut, i)->name] = i + 1;
    }
    out->cut = aot_xmalloc((g->nodes.n + 1) * sizeof *out->cut);
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        aot_str s = aot_node_at(g, i)->name;
        if (g->ctx != cut->ctx) {
            const char *name = aot_node_name(g, i);
            s = aot_intern_find(cut->ctx->strs, name, strlen(name));
        }
        out->cut[i] = s != 0 && s < n_strs && of_name[s] != 0 ? of_name[s] - 1 : AOT_NO_NODE;
    }
    free(of_name);
}

void aot_select_end(aot_select_on *on)
{
    free(on->cut);
    *on = (aot_select_on){0};
}

/* ---- the table ------------------------------------------------------------------------------- */

size_t aot_select_count(void)
{
    return N_ROWS;
}

aot_select_row aot_select_row_at(size_t i)
{
    return (aot_select_row){rows[i].kind, rows[i].name, rows[i].arg, rows[i].doc};
}
