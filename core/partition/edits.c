/* Lists of edits: parsing, policy files, undo, and the tags that a line puts on nodes. */
#include "partition/edits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "partition/internal.h"

static const aot_unit_edit_row kinds[AOT_N_UNIT_EDIT_KINDS] = {
#define EDIT(id, word, arg, doc) {word, arg, doc},
#include "partition/edit_kinds.def"
#undef EDIT
};

const aot_unit_edit_row *aot_unit_edit_kind_get(aot_unit_edit_kind k)
{
    return &kinds[k];
}

static void free_edit(aot_unit_edit *e)
{
    free(e->line);
    free(e->file);
    free(e->fate);
    aot_select_free(&e->select);
}

static void forget(aot_unit_edits *e, size_t from)
{
    for (size_t i = from; i < e->n_all; i++) {
        free_edit(&e->d[i]);
    }
    e->n_all = from;
    e->n = e->n < from ? e->n : from;
}

void aot_edits_free(aot_unit_edits *e)
{
    forget(e, 0);
    free(e->d);
    *e = (aot_unit_edits){0};
}

void aot_edits_drop(aot_unit_edits *e)
{
    forget(e, e->n > 0 ? e->n - 1 : 0);
}

void aot_edits_may_miss(aot_unit_edits *e)
{
    for (size_t i = 0; i < e->n; i++) {
        if (e->d[i].kind != AOT_UNIT_EDIT_SET && e->d[i].fate == NULL) {
            e->d[i].fate = aot_xcalloc(1, sizeof *e->d[i].fate);
        }
    }
}

bool aot_edits_undo(aot_unit_edits *e)
{
    bool any = e->n > 0;
    e->n -= any;
    return any;
}

bool aot_edits_redo(aot_unit_edits *e)
{
    bool any = e->n < e->n_all;
    e->n += any;
    return any;
}

static aot_status no_such_kind(const char *line, aot_err *err)
{
    char there[200];
    size_t n = 0;
    for (int k = 0; k < AOT_N_UNIT_EDIT_KINDS; k++) {
        n += (size_t)snprintf(there + n, sizeof there - n, "%s%s %s", k != 0 ? ", " : "",
                              kinds[k].word, kinds[k].arg);
    }
    return AOT_FAIL(err, AOT_E_USAGE, "'%.*s' is no edit; there are: %s", (int)strcspn(line, " \t"),
                    line, there);
}

static aot_status parse(aot_unit_edit *out, const char *line, aot_err *err)
{
    size_t n = strcspn(line, " \t");
    aot_unit_edit e = {.kind = AOT_N_UNIT_EDIT_KINDS};
    for (int k = 0; k < AOT_N_UNIT_EDIT_KINDS; k++) {
        if (strlen(kinds[k].word) == n && strncmp(line, kinds[k].word, n) == 0) {
            e.kind = (aot_unit_edit_kind)k;
        }
    }
    const char *arg = line + n + strspn(line + n, " \t");
    if (e.kind == AOT_N_UNIT_EDIT_KINDS) {
        return no_such_kind(line, err);
    }
    if (*arg == '\0') {
        return AOT_FAIL(
            err, AOT_E_USAGE, "'%s' needs %s behind it; %s", kinds[e.kind].word, kinds[e.kind].arg,
            e.kind == AOT_UNIT_EDIT_SET ? "`aotscope help settings` lists them"
                                        : "`aotscope help selection` says how it is written");
    }
    if (e.kind == AOT_UNIT_EDIT_SET) {
        aot_config scratch;
        aot_config_init(&scratch);
        AOT_TRY(aot_config_set(&scratch, arg, err));
    } else {
        AOT_TRY(aot_select_parse(&e.select, arg, err));
    }
    e.line = aot_xstrdup(line);
    e.arg = e.line + (arg - line);
    *out = e;
    return AOT_OK;
}

/* Says where an error is, if that is in a file. */
static aot_status in_file(aot_status s, const char *file, uint32_t at, aot_err *err)
{
    if (s != AOT_OK && err != NULL && file != NULL && err->file[0] == '\0') {
        err->at = (aot_pos){at, 0};
        aot_err_in_file(err, file);
    }
    return s;
}

aot_status aot_edits_add(aot_unit_edits *e, const char *line, const char *file, uint32_t at,
                         aot_err *err)
{
    aot_unit_edit edit;
    line += strspn(line, " \t\r");
    size_t n = strlen(line);
    while (n > 0 && strchr(" \t\r\n", line[n - 1]) != NULL) {
        n--;
    }
    char *text = aot_xstrndup(line, n);
    aot_status s = parse(&edit, text, err);
    free(text);
    if (s != AOT_OK) {
        return in_file(s, file, at, err);
    }
    edit.file = file != NULL ? aot_xstrdup(file) : NULL;
    edit.at = at;
    forget(e, e->n);
    if (e->n == e->cap) {
        e->cap = e->cap * 2 + 8;
        e->d = aot_xrealloc(e->d, e->cap * sizeof *e->d);
    }
    e->d[e->n++] = edit;
    e->n_all = e->n;
    return AOT_OK;
}

/* Length of a line without its comment: a # outside quotes, at its start or behind a blank. */
static size_t without_comment(const char *line, size_t n)
{
    bool inside = false;
    for (size_t i = 0; i < n; i++) {
        inside ^= line[i] == '"';
        if (line[i] == '#' && !inside && (i == 0 || line[i - 1] == ' ' || line[i - 1] == '\t')) {
            return i;
        }
    }
    return n;
}

aot_status aot_edits_parse(aot_unit_edits *e, const char *text, const char *name, aot_err *err)
{
    size_t before = e->n;
    for (uint32_t at = 1; *text != '\0'; at++) {
        size_t len = strcspn(text, "\n"), n = without_comment(text, len);
        char *line = aot_xstrndup(text, n);
        aot_status s = AOT_OK;
        if (strspn(line, " \t\r") < n) {
            s = aot_edits_add(e, line, name, at, err);
        }
        free(line);
        if (s != AOT_OK) {
            forget(e, before);
            return s;
        }
        text += len + (text[len] == '\n');
    }
    return AOT_OK;
}

aot_status aot_edits_read(aot_unit_edits *e, const char *path, aot_err *err)
{
    aot_sb text = {0};
    aot_status s = aot_file_read_text(&text, "policy", path, err);
    if (s == AOT_OK) {
        s = aot_edits_parse(e, aot_sb_text(&text), strcmp(path, "-") == 0 ? "standard input" : path,
                            err);
    }
    aot_sb_free(&text);
    return s;
}

aot_status aot_edits_copy(aot_unit_edits *e, const aot_unit_edits *from, aot_err *err)
{
    for (size_t i = 0; from != NULL && i < from->n; i++) {
        AOT_TRY(aot_edits_add(e, from->d[i].line, from->d[i].file, from->d[i].at, err));
    }
    return AOT_OK;
}

aot_status aot_edits_configure(const aot_unit_edits *e, aot_config *config, aot_err *err)
{
    for (size_t i = 0; e != NULL && i < e->n; i++) {
        if (e->d[i].kind == AOT_UNIT_EDIT_SET) {
            AOT_TRY(
                in_file(aot_config_set(config, e->d[i].arg, err), e->d[i].file, e->d[i].at, err));
        }
    }
    return AOT_OK;
}

/* ---- tags ------------------------------------------------------------------------------------ */

static const uint8_t policy_of[AOT_N_UNIT_EDIT_KINDS] = {
    [AOT_UNIT_EDIT_SAVE] = AOT_POLICY_MUST_SAVE,
    [AOT_UNIT_EDIT_RECOMPUTE] = AOT_POLICY_MUST_RECOMPUTE,
    [AOT_UNIT_EDIT_CLEAR] = AOT_POLICY_NONE,
};

static int by_name(const void *a, const void *b)
{
    const aot_what_if *x = a, *y = b;
    return x->name < y->name ? -1 : x->name > y->name;
}

void part_merge_tags(aot_what_if **list, uint32_t *n_list, const aot_what_if *newer, uint32_t n,
                     aot_arena *a)
{
    aot_what_if *old = *list, *all = AOT_NEW_ARRAY(a, aot_what_if, *n_list + n);
    uint32_t k = 0, i = 0, j = 0;
    while (i < *n_list || j < n) {
        if (j == n || (i < *n_list && old[i].name < newer[j].name)) {
            all[k++] = old[i++];
            continue;
        }
        all[k] = newer[j];
        if (i < *n_list && old[i].name == newer[j].name) {
            all[k].weight = newer[j].weight < 0 ? old[i].weight : newer[j].weight;
            all[k].policy = newer[j].sets_policy ? newer[j].policy : old[i].policy;
            all[k].sets_policy = newer[j].sets_policy || old[i].sets_policy;
            i++;
        }
        k++;
        j++;
    }
    *list = all;
    *n_list = k;
}

/* What a value of the backward trace is made of in the forward, by first inputs: a view's base. */
static aot_node_id forward_base(const aot_partition *p, aot_node_id id)
{
    const aot_graph *g = p->cut;
    while (p->nodes[id].backward_made) {
        const aot_node *x = aot_node_at(g, id);
        const aot_arg *first = x->n_args > 0 ? aot_node_args(g, x) : NULL;
        if (first == NULL || first->kind != AOT_ARG_NODE) {
            return AOT_NO_NODE;
        }
        id = first->u.node;
    }
    return id;
}

/* No operator of the forward is meant; made: one of the backward trace that is, or AOT_NO_NODE. */
static aot_status nothing_to_tag(const aot_unit_edit *e, const aot_partition *p, aot_node_id made,
                                 aot_err *err)
{
    aot_node_id base = made != AOT_NO_NODE ? forward_base(p, made) : AOT_NO_NODE;
    if (made == AOT_NO_NODE) {
        return AOT_FAIL(
            err, AOT_E_USAGE,
            "'%.120s': no operator of the forward matches; `aotscope show INPUT --stage joint_cse "
            "--filter` tries a selection",
            e->line);
    }
    if (base == AOT_NO_NODE) {
        return AOT_FAIL(err, AOT_E_USAGE,
                        "'%.120s': no operator of the forward matches: %.60s is made by the "
                        "backward, where nothing "
                        "can be tagged",
                        e->line, aot_node_name(p->cut, made));
    }
    return AOT_FAIL(err, AOT_E_USAGE,
                    "'%.120s': no operator of the forward matches: %.60s is made by the backward, "
                    "of %.60s of the "
                    "forward%s",
                    e->line, aot_node_name(p->cut, made), aot_node_name(p->cut, base),
                    aot_node_at(p->cut, base)->kind == AOT_CALL_FUNCTION
                        ? ", which can be tagged"
                        : ", an input, which needs no tag");
}

aot_status part_tag_edit(aot_what_if **tags, uint32_t *n_tags, const aot_unit_edit *e,
                         const aot_partition *p, const char *const *modules, aot_arena *a,
                         aot_err *err)
{
    const aot_graph *g = p->cut;
    aot_select_on on;
    AOT_VEC(aot_what_if) found = {0};
    aot_node_id made = AOT_NO_NODE;
    aot_select_begin(&on, g, p, modules);
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const aot_node *x = aot_node_at(g, i);
        if (x->kind != AOT_CALL_FUNCTION || !aot_select_match(&e->select, &on, i)) {
            continue;
        }
        if (p->nodes[i].backward_made) {
            made = made == AOT_NO_NODE ? i : made;
        } else {
            aot_vec_push(&found, ((aot_what_if){x->name, -1, true, policy_of[e->kind]}));
        }
    }
    aot_select_end(&on);
    if (e->fate != NULL) {
        *(found.n != 0 ? &e->fate->matched : &e->fate->missed) = true;
    }
    if (found.n == 0 && e->fate == NULL) {
        aot_status s = nothing_to_tag(e, p, made, err);
        return in_file(s, e->file, e->at, err);
    }
    if (found.n != 0) {
        qsort(found.d, found.n, sizeof *found.d, by_name);
        part_merge_tags(tags, n_tags, found.d, (uint32_t)found.n, a);
    }
    aot_vec_free(&found);
    return AOT_OK;
}

bool aot_edits_tag_any(const aot_unit_edits *e)
{
    for (size_t i = 0; e != NULL && i < e->n; i++) {
        if (e->d[i].kind != AOT_UNIT_EDIT_SET) {
            return true;
        }
    }
    return false;
}

bool aot_edits_need_modules(const aot_unit_edits *e)
{
    for (size_t i = 0; e != NULL && i < e->n; i++) {
        if (e->d[i].select.needs_modules) {
            return true;
        }
    }
    return false;
}
