/* The pane of one node: operator, type, bytes, verdict with its reason, weight with how it came
 * about, source, arguments by the schema's names, users. Nodes among them are links. It is made
 * when the selection changes, in time of that node's degree; long lists of users are cut. */
#include <stdio.h>
#include <string.h>

#include "ir/text.h"
#include "session/marks.h"
#include "session/saved.h"
#include "tui/graph_view.h"
#include "viewers/format.h"
#include "viewers/node_tags.h"

enum { LABEL_COLS = 11, MAX_USERS = 100 };

/* What all parts of the pane need. */
typedef struct pane {
    graph_view *gv;
    aot_lines *l;
    const graph_stage *st;
    const aot_graph *g;
    const aot_node *n;
    aot_node_id id, cut; /* cut: AOT_NO_NODE if there is no partition to ask */
    const aot_node_info *info; /* NULL then */
    int cols;
} pane;

static const char *shape_words(aot_sb *out, const aot_graph *g, const aot_node *n)
{
    const aot_meta *m = aot_meta_get(g->ctx, n->meta);
    char buf[256];
    if (m->val == AOT_VAL_NONE) {
        aot_sb_addz(out, m->text ? aot_text(g->ctx, m->text) : "not a tensor");
        return aot_sb_text(out);
    }
    aot_sb_addz(out, aot_format_type(buf, sizeof buf, g->ctx, n->meta));
    if (m->val == AOT_VAL_TENSOR && m->has_stride) {
        aot_sb_addz(out, "  stride [");
        for (int i = 0; i < m->ndim; i++) {
            const aot_dim *d = &aot_meta_strides(g->ctx, m)[i];
            aot_sb_addz(out, i ? ", " : "");
            if (d->expr) {
                aot_sb_addz(out, aot_text(g->ctx, d->expr));
            } else {
                aot_sb_add_i64(out, d->value);
            }
        }
        aot_sb_addc(out, ']');
    }
    if (m->device) {
        aot_sb_addf(out, "  %s", aot_text(g->ctx, m->device));
    }
    if (m->wrapper) {
        aot_sb_addf(out, "  %s", aot_text(g->ctx, m->wrapper));
    }
    return aot_sb_text(out);
}

static void add_what(pane *p)
{
    const aot_op_info *op = aot_node_op(p->n);
    aot_sb sb = {0};
    char buf[256];
    if (p->n->kind == AOT_CALL_FUNCTION) {
        aot_sb_addz(&sb, aot_format_op(buf, sizeof buf, p->g, p->id));
    } else {
        aot_sb_addf(&sb, "%s %s", aot_node_kind_name((aot_node_kind)p->n->kind),
                    aot_node_target(p->g, p->id));
    }
    aot_lines_pair(p->l, p->cols, "operator", AOT_STYLE_BOLD, aot_sb_text(&sb));
    if (p->n->kind == AOT_CALL_FUNCTION && p->n->op == AOT_OP_UNKNOWN) {
        if (strncmp(aot_node_target(p->g, p->id), "torch.ops.", 10) == 0) {
            aot_lines_pair(p->l, p->cols, "", AOT_STYLE_NOTICE,
                           "not in the operator table: kept as it is, treated as opaque");
        } else {
            aot_lines_pair(p->l, p->cols, "", AOT_STYLE_DIM,
                           "a Python function: the stage aten has its operators");
        }
    } else if (op->doc && p->n->kind == AOT_CALL_FUNCTION) {
        aot_lines_pair(p->l, p->cols, "", AOT_STYLE_DIM, op->doc);
    }
    aot_sb_clear(&sb);
    aot_lines_pair(p->l, p->cols, "type", AOT_STYLE_TYPE, shape_words(&sb, p->g, p->n));
    if (p->n->desc) {
        aot_lines_pair(p->l, p->cols, "descriptor", AOT_STYLE_NORMAL,
                       aot_text(p->g->ctx, p->n->desc));
    }
    int64_t bytes = p->info ? p->info->bytes : aot_meta_bytes(p->g->ctx, p->n->meta);
    char count[40];
    aot_sb_clear(&sb);
    aot_sb_addz(&sb, aot_format_bytes(buf, sizeof buf, bytes));
    if (bytes >= 1024) {
        aot_sb_addf(&sb, " (%s)", aot_format_count(count, sizeof count, bytes));
    }
    aot_node_id base = aot_view_base(p->g, p->id);
    if (base != AOT_NO_NODE) {
        aot_sb_addf(&sb, ", shared: view of %s", aot_node_name(p->g, base));
    } else if (aot_is_in_place(p->g, p->id)) {
        aot_sb_addz(&sb, ", none of it new: works in place");
    }
    if (p->n->kind != AOT_OUTPUT) {
        aot_lines_pair(p->l, p->cols, "bytes", AOT_STYLE_BYTES, aot_sb_text(&sb));
    }
    aot_sb_free(&sb);
}

static aot_style verdict_style(const aot_node_info *info)
{
    switch (info->verdict) {
    case AOT_V_SAVED: return AOT_STYLE_SAVED;
    case AOT_V_RECOMPUTED: return AOT_STYLE_RECOMPUTED;
    case AOT_V_BACKWARD_ONLY: return AOT_STYLE_BACKWARD;
    default: return AOT_STYLE_FORWARD;
    }
}

static void add_ban(pane *p)
{
    const aot_node_info *i = p->info;
    if (i->ban != AOT_BAN_NONE) {
        bool holds = aot_ban_that_held(p->gv->part, p->cut) != AOT_BAN_NONE;
        aot_lines_pair(p->l, p->cols, "ban", holds ? AOT_STYLE_BANNED : AOT_STYLE_DIM,
                       aot_ban_text((aot_ban)i->ban));
        aot_lines_pair(p->l, p->cols, "", AOT_STYLE_DIM,
                       holds ? aot_ban_sentence((aot_ban)i->ban)
                             : "Lifted by a later cut of the budget.");
    } else if (i->ban_asked != AOT_BAN_NONE) {
        aot_lines_pair(p->l, p->cols, "ban", AOT_STYLE_DIM,
                       aot_ban_text((aot_ban)i->ban_asked));
        aot_lines_pair(p->l, p->cols, "", AOT_STYLE_DIM, aot_ban_overruled(p->gv->part, p->cut));
    }
}

static void add_partition(pane *p)
{
    char buf[512];
    if (!p->info) {
        return;
    }
    const aot_node_info *i = p->info;
    aot_lines_pair(p->l, p->cols, "verdict", verdict_style(i),
                   aot_verdict_words(p->gv->part, p->cut));
    if (i->ban == AOT_BAN_NONE && *aot_reason_words(buf, sizeof buf, p->gv->part, p->cut)) {
        aot_lines_pair(p->l, p->cols, "why", AOT_STYLE_NORMAL, buf);
    }
    add_ban(p);
    aot_lines_pair(p->l, p->cols, "weight", AOT_STYLE_NORMAL,
                   aot_weight_words(buf, sizeof buf, p->gv->part, p->cut));
    if (i->dist >= 1000000000) {
        snprintf(buf, sizeof buf, "never used by the backward");
    } else {
        snprintf(buf, sizeof buf, "%lld step%s from the backward", (long long)i->dist,
                 i->dist == 1 ? "" : "s");
    }
    aot_lines_pair(p->l, p->cols, "distance", AOT_STYLE_NORMAL, buf);
    if (i->sink != AOT_SINK_NONE) {
        aot_lines_pair(p->l, p->cols, "sink", AOT_STYLE_NORMAL,
                       i->sink == AOT_SINK_IN ? "its input side: the backward computes it"
                                              : "its output side: the backward needs it");
    }
    aot_sb sb = {0};
    aot_sb_addz(&sb, i->backward_made ? "made by the backward trace" : "made by the forward");
    aot_sb_addz(&sb, i->required_fw ? ", required in the forward" : "");
    aot_sb_addz(&sb, i->required_bw ? ", required in the backward" : "");
    aot_sb_addz(&sb, i->is_static ? ", parameter or buffer" : "");
    aot_lines_pair(p->l, p->cols, "side", AOT_STYLE_NORMAL, aot_sb_text(&sb));
    aot_sb_free(&sb);
}

static void add_note(pane *p)
{
    aot_marks *k = aot_app_marks(p->gv->v->app);
    const char *name = aot_node_name(p->g, p->id),
               *note = aot_marks_note_of(k, p->gv->v->unit, name);
    char letter[2] = {aot_marks_letter_of(k, p->gv->v->unit, name), 0};
    if (letter[0]) {
        aot_lines_pair(p->l, p->cols, "mark", AOT_STYLE_NOTICE, letter);
    }
    if (note) {
        aot_lines_pair(p->l, p->cols, "note", AOT_STYLE_NOTICE, note);
    }
}

/* What node.meta holds for the partitioner, by its names. */
static void add_tags(pane *p)
{
    char value[64], buf[160];
    const char *label = "tags";
    for (int t = 0; t < AOT_N_NODE_TAGS; t++) {
        aot_node_tag tag = (aot_node_tag)t;
        if (*aot_node_tag_value(value, sizeof value, tag, p->g, p->id, p->info)) {
            snprintf(buf, sizeof buf, "%s = %s", aot_node_tag_name(tag), value);
            aot_lines_pair(p->l, p->cols, label, AOT_STYLE_NORMAL, buf);
            label = "";
        }
    }
}

static void add_source(pane *p)
{
    const aot_src *src = &p->g->srcs.d[p->n->src];
    char buf[600];
    if (src->file) {
        const char *func = aot_text(p->g->ctx, src->func);
        snprintf(buf, sizeof buf, "%s:%u%s%s", aot_text(p->g->ctx, src->file), src->line,
                 *func ? " in " : "", func);
        aot_lines_pair(p->l, p->cols, "source", AOT_STYLE_SOURCE, buf);
        aot_lines_pair(p->l, p->cols, "", AOT_STYLE_NORMAL, aot_text(p->g->ctx, src->code));
    } else if (src->text) {
        aot_lines_pair(p->l, p->cols, "comment", AOT_STYLE_SOURCE, aot_text(p->g->ctx, src->text));
    }
}

/* ---- arguments ---- */

/* Name of the k-th positional argument in "mul.Tensor(Tensor self, Tensor other=1) -> Tensor". */
static void schema_arg(const char *schema, int k, char *buf, size_t size)
{
    *buf = 0;
    const char *s = schema ? strchr(schema, '(') : NULL;
    int depth = 0;
    for (s = s ? s + 1 : NULL; s && *s; s++) {
        depth += (*s == '(' || *s == '[') - (*s == ')' || *s == ']');
        bool end = depth < 0 || (depth == 0 && *s == ',');
        if (end && k == 0) {
            const char *from = s;
            while (from[-1] != ' ' && from[-1] != '(') {
                from--;
            }
            snprintf(buf, size, "%.*s", (int)strcspn(from, ",=)"), from);
            return;
        }
        k -= end;
        if (depth < 0) {
            return;
        }
    }
}

/* "self  addmm  f32[64, 128]  saved"; label NULL: a user. */
static void add_node_line(pane *p, const char *label, aot_node_id id)
{
    char buf[256];
    aot_sb sb = {0};
    aot_node_id cut = aot_listing_cut_node(p->st->listing, id);
    aot_sb_addf(&sb, "%s%s", label ? "" : "  ", aot_node_name(p->g, id));
    aot_format_type(buf, sizeof buf, p->g->ctx, aot_node_at(p->g, id)->meta);
    aot_sb_addf(&sb, "  %s", buf);
    aot_style style = aot_class_get(aot_class_of(p->g, id, p->st->p, cut))->style;
    if (cut != AOT_NO_NODE && p->st->p) {
        uint8_t v = p->st->p->nodes[cut].verdict;
        aot_sb_addz(&sb, v == AOT_V_SAVED        ? "  saved"
                         : v == AOT_V_RECOMPUTED ? "  recomputed"
                                                 : "");
    }
    aot_lines_link(p->l, id, label, style, aot_sb_text(&sb));
    aot_sb_free(&sb);
}


static void add_arg(pane *p, const char *label, const aot_arg *a)
{
    if (a->kind == AOT_ARG_NODE) {
        add_node_line(p, label, a->u.node);
        return;
    }
    aot_sb sb = {0};
    aot_print_arg(&sb, p->g, a);
    aot_lines_pair(p->l, p->cols, label, AOT_STYLE_NORMAL, aot_sb_text(&sb));
    aot_sb_free(&sb);
    bool nested = a->kind == AOT_ARG_LIST || a->kind == AOT_ARG_TUPLE || a->kind == AOT_ARG_DICT;
    for (uint32_t i = 0; nested && i < a->n && i < MAX_USERS; i++) {
        const aot_arg *item = &aot_arg_items(p->g, a)[i];
        if (item->kind == AOT_ARG_NODE) {
            add_node_line(p, "", item->u.node);
        }
    }
}

static void add_args(pane *p)
{
    const aot_op_info *op = aot_node_op(p->n);
    char label[LABEL_COLS];
    if (p->n->n_args + p->n->n_kwargs == 0) {
        return;
    }
    aot_lines_add(p->l, AOT_STYLE_NORMAL, "");
    aot_lines_add(p->l, AOT_STYLE_TITLE, p->n->kind == AOT_OUTPUT ? "Returns" : "Arguments");
    for (int i = 0; i < p->n->n_args; i++) {
        schema_arg(op->schema, i, label, sizeof label);
        if (aot_is_getitem(p->g, p->n)) {
            snprintf(label, sizeof label, "%s", i ? "index" : "of");
        }
        add_arg(p, label, &aot_node_args(p->g, p->n)[i]);
    }
    for (int i = 0; i < p->n->n_kwargs; i++) {
        const aot_arg *kw = &aot_node_kwargs(p->g, p->n)[2 * i];
        snprintf(label, sizeof label, "%s", aot_text(p->g->ctx, kw->u.s));
        add_arg(p, label, kw + 1);
    }
}

static void add_users(pane *p)
{
    uint32_t n = aot_n_users(p->g, p->id);
    if (p->n->kind == AOT_OUTPUT) {
        return;
    }
    aot_lines_add(p->l, AOT_STYLE_NORMAL, "");
    if (n == 0) {
        aot_lines_add(p->l, AOT_STYLE_TITLE, "No users");
        return;
    }
    aot_lines_addf(p->l, AOT_STYLE_TITLE, "Users (%u)", n);
    for (uint32_t i = 0; i < n && i < MAX_USERS; i++) {
        add_node_line(p, NULL, p->g->user[p->g->user_off[p->id] + i]);
    }
    if (n > MAX_USERS) {
        aot_lines_addf(p->l, AOT_STYLE_DIM, "and %u more: c goes through them", n - MAX_USERS);
    }
}

static void add_statement(pane *p)
{
    aot_sb sb = {0};
    if (p->n->kind == AOT_PLACEHOLDER || p->n->kind == AOT_OUTPUT) {
        return;
    }
    aot_print_node(&sb, p->g, p->id);
    for (char *s = sb.d; s && *s; s++) {
        *s = *s == '\n' ? ' ' : *s;
    }
    aot_lines_add(p->l, AOT_STYLE_NORMAL, "");
    aot_lines_add(p->l, AOT_STYLE_TITLE, "Statement");
    aot_lines_wrap(p->l, p->cols, AOT_STYLE_NORMAL, aot_sb_text(&sb));
    aot_sb_free(&sb);
}

static bool open_pane(pane *p, graph_view *gv, int cols)
{
    *p = (pane){.gv = gv, .l = &gv->node, .st = graph_now(gv),
                .id = graph_node_now(gv), .cols = cols};
    p->g = p->st->g;
    if (p->id == AOT_NO_NODE || !p->g) {
        return false;
    }
    p->n = aot_node_at(p->g, p->id);
    p->cut = aot_listing_cut_node(p->st->listing, p->id);
    p->info = p->st->p && p->cut != AOT_NO_NODE ? &p->st->p->nodes[p->cut] : NULL;
    return true;
}

void graph_fill_node(graph_view *gv, int cols)
{
    pane p;
    bool any = open_pane(&p, gv, cols);
    if (any && gv->node_graph == p.g && gv->node_shown == p.id && gv->node_cols == cols) {
        return;
    }
    bool same = any && gv->node_graph == p.g && gv->node_shown == p.id;
    uint32_t row = same ? aot_list_row(&gv->node.list) : 0;
    gv->node_graph = any ? p.g : NULL;
    gv->node_shown = p.id;
    gv->node_cols = cols;
    aot_lines_clear(&gv->node);
    if (any) {
        add_note(&p);
        add_what(&p);
        add_partition(&p);
        add_tags(&p);
        add_source(&p);
        if (p.n->subgraph) {
            aot_lines_add(p.l, AOT_STYLE_NOTICE, "A submodule: Enter on its line opens it");
        }
        add_args(&p);
        add_users(&p);
        add_statement(&p);
    }
    aot_lines_end(&gv->node, row);
}

void graph_draw_brief(graph_view *gv, aot_canvas *c, int y, int cols)
{
    pane p;
    char buf[512];
    if (graph_draw_fold_brief(gv, c, y, cols) || !open_pane(&p, gv, cols)) {
        return;
    }
    aot_sb sb = {0};
    aot_print_node(&sb, p.g, p.id);
    for (char *s = sb.d; s && *s; s++) {
        *s = *s == '\n' ? ' ' : *s;
    }
    aot_canvas_field(c, y, 1, cols - 2, AOT_STYLE_NORMAL, aot_sb_text(&sb));
    aot_sb_clear(&sb);
    if (p.info) {
        aot_sb_addz(&sb, aot_verdict_words(gv->part, p.cut));
        aot_sb_addf(&sb, ": %s", aot_reason_words(buf, sizeof buf, gv->part, p.cut));
        aot_sb_addf(&sb, "  weight %s", aot_weight_words(buf, sizeof buf, gv->part, p.cut));
    } else {
        const aot_src *src = &p.g->srcs.d[p.n->src];
        aot_sb_addz(&sb, aot_text(p.g->ctx, src->code));
        if (p.n->desc) {
            aot_sb_addz(&sb, aot_text(p.g->ctx, p.n->desc));
        }
    }
    aot_canvas_field(c, y + 1, 1, cols - 2, p.info ? verdict_style(p.info) : AOT_STYLE_SOURCE,
                     aot_sb_text(&sb));
    aot_sb_free(&sb);
}
