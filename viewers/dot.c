/* From a picture to cgraph: clusters, colours, legend, ids and classes for style sheets; and DOT
 * text by cgraph's own writer. No attribute is ever an HTML string, and every text that came from a
 * log has its backslashes and ampersands escaped, so a name cannot become markup. */
#include "viewers/dot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "viewers/viewer.h"

enum { LEGEND_COLUMNS = 6 };

typedef struct scheme {
    const char *name, *paper, *ink, *cluster, *line, *data, *saved, *infinite;
} scheme;

static const scheme schemes[] = {
    {"light", "#ffffff", "#1a1a1a", "#f7f7f5", "#b8b8b8", "#7d7d7d", "#c77f00", "#c0392b"},
    {"dark", "#17191d", "#e8e8e8", "#202328", "#555a63", "#9aa0a8", "#f0a830", "#ff6b5e"},
    {"mono", "#ffffff", "#000000", "#ffffff", "#808080", "#606060", "#000000", "#000000"},
};

void aot_picture_recolor_css(aot_sb *out, const char *scope, aot_css_rule *rule)
{
    const scheme *a = &schemes[0], *b = &schemes[1];
    const char *const both[][2] = {{a->ink, b->ink},     {a->cluster, b->cluster},
                                   {a->line, b->line},   {a->data, b->data},
                                   {a->saved, b->saved}, {a->infinite, b->infinite}};
    for (size_t i = 0; i < sizeof both / sizeof *both; i++) {
        rule(out, scope, " .diagram", "fill", both[i][0], both[i][1]);
        rule(out, scope, " .diagram", "stroke", both[i][0], both[i][1]);
    }
}

typedef struct builder {
    const aot_picture *pic;
    const scheme *look;
    Agraph_t *g;
    Agraph_t *zones[AOT_N_ZONES];
    Agraph_t **blocks;
    Agnode_t *legend;
    Agnode_t **nodes;
    int64_t most; /* bytes of the widest saved edge */
} builder;

/* Ids of names: in order of appearance. cgraph's own are addresses, and it writes subgraphs in
 * order of their ids: the text would differ from run to run. */
typedef struct id_state {
    Agraph_t *g;
    aot_strtab *names;
    /* by aot_str: cgraph's own copy, with the head that its writer looks at */
    AOT_VEC(char *) kept;
    IDTYPE anonymous;
} id_state;

static void *id_open(Agraph_t *g, Agdisc_t *disc)
{
    (void)disc;
    id_state *s = aot_xcalloc(1, sizeof *s);
    s->g = g;
    s->names = aot_strtab_new();
    return s;
}

static long id_map(void *state, int kind, char *name, IDTYPE *id, int create)
{
    id_state *s = state;
    (void)kind;
    if (!name) { // odd ids have no name
        *id = s->anonymous++ * 2 + 1;
        return 1;
    }
    aot_str known =
        create ? aot_intern_z(s->names, name) : aot_intern_find(s->names, name, strlen(name));
    while (create && s->kept.n <= known) {
        char *none = NULL;
        aot_vec_push(&s->kept, none);
    }
    if (create && !s->kept.d[known]) {
        s->kept.d[known] = agstrdup(s->g, name);
    }
    *id = (IDTYPE)known * 2;
    return known != 0;
}

static long id_alloc(void *state, int kind, IDTYPE id)
{
    (void)state;
    (void)kind;
    (void)id;
    return 0;
}

static void id_free(void *state, int kind, IDTYPE id)
{
    (void)state;
    (void)kind;
    (void)id;
}

static char *id_print(void *state, int kind, IDTYPE id)
{
    id_state *s = state;
    (void)kind;
    return id % 2 == 0 && id / 2 < s->kept.n ? s->kept.d[id / 2] : NULL;
}

static void id_close(void *state)
{
    id_state *s = state;
    aot_strtab_free(s->names);
    aot_vec_free(&s->kept);
    free(s);
}

static void id_register(void *state, int kind, void *obj)
{
    (void)state;
    (void)kind;
    (void)obj;
}

static Agiddisc_t ids = {id_open, id_map, id_alloc, id_free, id_print, id_close, id_register};
static Agdisc_t disc = {&AgMemDisc, &ids, &AgIoDisc};

// cgraph's functions take char * but keep copies.
static void set(void *obj, const char *key, const char *value)
{
    agsafeset(obj, (char *)(uintptr_t)key, (char *)(uintptr_t)value, (char *)(uintptr_t) "");
}

static void defaults(Agraph_t *g, int kind, const char *const pairs[][2])
{
    for (int i = 0; pairs[i][0]; i++) {
        agattr(g, kind, (char *)(uintptr_t)pairs[i][0], (char *)(uintptr_t)pairs[i][1]);
    }
}

// Labels and tooltips are escape strings in which entities are read too.
static void set_text(void *obj, const char *key, const char *text, const char *newline)
{
    aot_sb b = {0};
    for (const char *p = text; *p; p++) {
        switch (*p) {
        case '\\':
            aot_sb_addz(&b, "\\\\");
            break;
        case '&':
            aot_sb_addz(&b, "&amp;");
            break;
        case '\n':
            aot_sb_addz(&b, newline);
            break;
        default:
            aot_sb_addc(&b, *p);
        }
    }
    set(obj, key, aot_sb_text(&b));
    aot_sb_free(&b);
}

// Letters, digits, _ and - for ids and class names.
static void add_word(aot_sb *b, const char *s)
{
    for (; *s; s++) {
        bool word = (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') ||
                    (*s >= '0' && *s <= '9') || *s == '-' || *s == ' ';
        aot_sb_addc(b, word ? *s : '_');
    }
}

static const char *fill_of(const scheme *look, unsigned cls)
{
    const aot_class_info *c = aot_class_get(cls);
    if (strcmp(look->name, "mono") == 0) {
        return cls == AOT_CLASS_SAVED ? "#dddddd" : "#ffffff";
    }
    return strcmp(look->name, "dark") == 0 ? c->dark : c->light;
}

static void node_style(Agnode_t *n, const aot_pic_node *x)
{
    static const struct {
        const char *style, *pen;
    } by_policy[] = {
        [AOT_POLICY_NONE] = {"filled,rounded", "1"},
        [AOT_POLICY_MUST_SAVE] = {"filled", "3"},
        [AOT_POLICY_PREFER_SAVE] = {"filled", "2"},
        [AOT_POLICY_MUST_RECOMPUTE] = {"filled,dashed", "3"},
        [AOT_POLICY_PREFER_RECOMPUTE] = {"filled,dashed", "2"},
    };
    unsigned policy = x->policy <= AOT_POLICY_PREFER_RECOMPUTE ? x->policy : 0;
    bool boundary = x->zone == AOT_ZONE_BOUNDARY;
    set(n, "style",
        x->rim     ? "filled,rounded,dotted"
        : boundary ? "filled"
                   : by_policy[policy].style);
    set(n, "penwidth", boundary ? "2.2" : by_policy[policy].pen);
    if (x->vertex) {
        set(n, "shape", "ellipse");
        set(n, "margin", "0.02,0.0");
    }
}

static void add_node(builder *b, uint32_t i)
{
    const aot_pic_node *x = &b->pic->nodes.d[i];
    Agraph_t *home = x->block >= 0 && b->blocks[x->block] ? b->blocks[x->block]
                   : b->zones[x->zone] ? b->zones[x->zone] : b->g;
    Agnode_t *n = agnode(home, (char *)(uintptr_t)x->key, 1);
    b->nodes[i] = n;
    aot_sb s = {0};
    aot_sb_addf(&s, "%s%s", x->label, x->rim ? "\n…" : "");
    set_text(n, "label", aot_sb_text(&s), "\\n");
    set_text(n, "tooltip", x->tooltip, "&#10;");
    aot_sb_clear(&s);
    add_word(&s, x->key);
    set(n, "id", aot_sb_text(&s));
    aot_sb_clear(&s);
    add_word(&s, aot_class_get(x->cls)->name);
    if (x->css && *x->css && strcmp(x->css, aot_class_get(x->cls)->name) != 0) {
        aot_sb_addc(&s, ' ');
        add_word(&s, x->css);
    }
    if (x->policy) {
        aot_sb_addf(&s, " policy-%s", aot_policy_name(x->policy));
    }
    aot_sb_addz(&s, x->rim ? " rim" : "");
    set(n, "class", aot_sb_text(&s));
    aot_sb_free(&s);
    set(n, "fillcolor", fill_of(b->look, x->cls));
    bool plain = strcmp(b->look->name, "mono") == 0;
    unsigned frame = x->n_again > 0 ? AOT_CLASS_RECOMPUTED : x->cls;
    set(n, "color", plain ? b->look->ink : aot_class_get(frame)->border);
    node_style(n, x);
}

typedef struct line_look {
    const char *css, *style, *pen;
} line_look;

static const line_look lines[AOT_N_LINES] = {
    [AOT_LINE_DATA] = {"data", "solid", "0.9"},
    [AOT_LINE_ALIAS] = {"alias", "dashed", "0.9"},
    [AOT_LINE_SAVED] = {"saved", "solid", "2"},
    [AOT_LINE_NEXT] = {"next", "dotted", "1.2"},
    [AOT_LINE_CAPACITY] = {"capacity", "solid", "1"},
    [AOT_LINE_INFINITE] = {"infinite", "solid", "0.8"},
    [AOT_LINE_CUT] = {"cut", "solid", "3.5"},
};

static void edge_label(builder *b, Agedge_t *e, const aot_pic_edge *x)
{
    aot_sb s = {0};
    if (x->label) {
        aot_sb_addf(&s, " %s%s", x->label, x->line == AOT_LINE_CUT ? "  cut" : "");
        if (x->times > 1) {
            aot_sb_addf(&s, " × %u", x->times);
        }
        aot_sb_addc(&s, ' ');
    } else if (x->line == AOT_LINE_NEXT) {
        aot_sb_addz(&s, " next ");
    }
    set_text(e, "label", aot_sb_text(&s), "\\n");
    set_text(e, "tooltip", x->tooltip ? x->tooltip : b->pic->nodes.d[x->from].name, "&#10;");
    aot_sb_free(&s);
}

static void add_edge(builder *b, const aot_pic_edge *x, size_t nth)
{
    const aot_pic_node *nodes = b->pic->nodes.d;
    bool up = nodes[x->from].zone == AOT_ZONE_BACKWARD && nodes[x->to].zone == AOT_ZONE_BACKWARD;
    char key[32], pen[32];
    snprintf(key, sizeof key, "e%zu", nth); // found again by columns.c
    Agedge_t *e =
        agedge(b->g, b->nodes[up ? x->to : x->from], b->nodes[up ? x->from : x->to], key, 1);
    const line_look *l = &lines[x->line];
    bool amber = x->line == AOT_LINE_SAVED || x->line == AOT_LINE_CUT;
    aot_sb s = {0};
    add_word(&s, nodes[x->from].key);
    aot_sb_addz(&s, "__");
    add_word(&s, nodes[x->to].key);
    set(e, "id", aot_sb_text(&s));
    aot_sb_free(&s);
    set(e, "class", l->css);
    set(e, "style", l->style);
    set(e, "color",
        amber                          ? b->look->saved
        : x->line == AOT_LINE_INFINITE ? b->look->infinite
                                       : b->look->data);
    // a saved value's line is wide in proportion; its uses are lines of one width
    double share = b->most > 0 && x->bytes > 0 ? (double)x->bytes / (double)b->most : 0;
    snprintf(pen, sizeof pen, "%.1f",
             x->line == AOT_LINE_SAVED ? 1.8 + 3.2 * sqrt(share) : atof(l->pen));
    set(e, "penwidth", pen);
    if (up) {
        set(e, "dir", "back");
    }
    if (x->line == AOT_LINE_NEXT) {
        set(e, "constraint", "false");
    }
    if (x->line == AOT_LINE_INFINITE) {
        set(e, "fontcolor", b->look->infinite);
    }
    edge_label(b, e, x);
}

static Agraph_t *cluster(builder *b, Agraph_t *in, const char *key, const char *label,
                         const char *css)
{
    char name[48];
    snprintf(name, sizeof name, "cluster_%s", key);
    Agraph_t *c = agsubg(in, name, 1);
    set_text(c, "label", label, "\\l");
    set(c, "tooltip", " ");
    set(c, "id", name);
    set(c, "class", css);
    set(c, "style", "rounded,filled");
    set(c, "fillcolor", b->look->cluster);
    set(c, "color", b->look->line);
    set(c, "fontsize", "12");
    return c;
}

static void add_clusters(builder *b)
{
    static const char *const keys[AOT_N_ZONES] = {"none", "forward", "saved", "backward"};
    bool used[AOT_N_ZONES] = {false};
    for (size_t i = 0; i < b->pic->nodes.n; i++) {
        used[b->pic->nodes.d[i].zone] = true;
    }
    for (int z = AOT_ZONE_FORWARD; z < AOT_N_ZONES; z++) {
        if (used[z]) {
            b->zones[z] = cluster(b, b->g, keys[z],
                                  b->pic->zone_label[z] ? b->pic->zone_label[z] : "", keys[z]);
        }
    }
    if (b->zones[AOT_ZONE_BOUNDARY]) {
        set(b->zones[AOT_ZONE_BOUNDARY], "color", b->look->saved);
        set(b->zones[AOT_ZONE_BOUNDARY], "penwidth", "1.5");
    }
    b->blocks = aot_xcalloc(b->pic->blocks.n + 1, sizeof *b->blocks);
    for (size_t i = 0; i < b->pic->nodes.n; i++) {
        int32_t k = b->pic->nodes.d[i].block;
        if (k >= 0 && !b->blocks[k]) {
            char key[24];
            snprintf(key, sizeof key, "fold%d", k);
            Agraph_t *home = b->zones[b->pic->blocks.d[k].zone];
            b->blocks[k] = cluster(b, home ? home : b->g, key, b->pic->blocks.d[k].label, "folded");
            set(b->blocks[k], "penwidth", "2");
            set(b->blocks[k], "fillcolor", b->look->paper);
        }
    }
}

// One field of the legend's table. All texts are our own.
static void legend_class(builder *b, aot_sb *t, unsigned cls, const char *letter, const char *text)
{
    bool mono = strcmp(b->look->name, "mono") == 0;
    aot_sb_addf(t,
                "<TD BGCOLOR=\"%s\" COLOR=\"%s\" BORDER=\"1\" WIDTH=\"20\">%s</TD>"
                "<TD ALIGN=\"LEFT\">%s </TD>",
                fill_of(b->look, cls), mono ? b->look->ink : aot_class_get(cls)->border, letter,
                text);
}

static const char *const legend_of_graph[] = {
    "V view   ~ random   C collective   M mutation   ! must not be recomputed",
    "thick line: saved, with its bytes   dashed line: view or part of a value",
    "heavy frame: policy says save   dashed frame: policy says recompute", NULL};
static const char *const legend_of_plain[] = {
    "V view   ~ random   C collective   M mutation   dashed line: view or part of a value", NULL};
static const char *const legend_of_network[] = {
    "number: capacity   red: infinite capacity   thick or amber: cut", NULL};

// The classes that occur with their letters, and what lines and frames mean. The only HTML label:
// one small table, in which nothing comes from the input.
static void add_legend(builder *b)
{
    bool used[AOT_N_CLASSES] = {false};
    for (size_t i = 0; i < b->pic->nodes.n; i++) {
        used[b->pic->nodes.d[i].cls] = true;
    }
    bool network = b->pic->network;
    unsigned n_used = 0;
    aot_sb t = {0};
    aot_sb_addz(&t,
                "<TABLE BORDER=\"0\" CELLBORDER=\"0\" CELLSPACING=\"3\" CELLPADDING=\"1\"><TR>");
    for (unsigned i = 0; i < AOT_N_CLASSES; i++) {
        const aot_class_info *info = aot_class_get(i);
        if (used[i]) {
            aot_sb_addz(&t, n_used > 0 && n_used % LEGEND_COLUMNS == 0 ? "</TR><TR>" : "");
            n_used++;
            bool computed = i == AOT_CLASS_FORWARD && b->pic->plain;
            legend_class(b, &t, i, network || computed ? " " : info->letter,
                         computed                  ? "computed"
                         : !network                ? info->name
                         : i == AOT_CLASS_FORWARD  ? "source side"
                         : i == AOT_CLASS_BACKWARD ? "sink side"
                         : i == AOT_CLASS_SAVED    ? "cut: saved"
                         : i == AOT_CLASS_OUTPUT   ? "source and sink"
                                                   : info->name);
        }
    }
    aot_sb_addz(&t, "</TR>");
    const char *const *l = network         ? legend_of_network
                           : b->pic->plain ? legend_of_plain
                                           : legend_of_graph;
    for (; *l; l++) {
        aot_sb_addf(&t, "<TR><TD COLSPAN=\"%d\" ALIGN=\"LEFT\">%s</TD></TR>", 2 * LEGEND_COLUMNS,
                    *l);
    }
    aot_sb_addz(&t, "</TABLE>");
    Agraph_t *home = cluster(b, b->g, "legend", "", "legend");
    b->legend = agnode(home, (char *)(uintptr_t) "legend", 1);
    char *html = agstrdup_html(b->g, (char *)(uintptr_t)aot_sb_text(&t));
    agsafeset(b->legend, (char *)(uintptr_t) "label", html, (char *)(uintptr_t) "");
    agstrfree(b->g, html);
    aot_sb_free(&t);
    set(b->legend, "shape", "plaintext");
    set(b->legend, "style", "");
    set(b->legend, "fontsize", "9");
    set(b->legend, "margin", "0,0");
    set(b->legend, "id", "legend");
    set(b->legend, "class", "legend");
    set(b->legend, "tooltip", "legend");
}

// Without a column of its own the legend stands above everything.
static void legend_on_top(builder *b)
{
    for (size_t i = 0; i < b->pic->nodes.n; i++) {
        if (agdegree(b->g, b->nodes[i], 1, 0) == 0) {
            Agedge_t *e = agedge(b->g, b->legend, b->nodes[i], (char *)(uintptr_t) "hidden", 1);
            set(e, "style", "invis");
            set(e, "weight", "0");
        }
    }
}

static void graph_defaults(builder *b)
{
    const scheme *k = b->look;
    const char *font = "Helvetica,Arial,sans-serif";
    const char *const graph[][2] = {{"rankdir", "TB"},
                                    {"bb", ""},
                                    {"lp", ""},
                                    {"outputorder", "breadthfirst"},
                                    {"bgcolor", k->paper},
                                    {"fontname", font},
                                    {"fontcolor", k->ink},
                                    {"fontsize", "14"},
                                    {"labelloc", "t"},
                                    {"labeljust", "l"},
                                    {"nodesep", "0.2"},
                                    {"ranksep", "0.32"},
                                    {"pad", "0.3"},
                                    {"label", ""},
                                    {"tooltip", " "},
                                    {"id", ""},
                                    {"class", ""},
                                    {"style", ""},
                                    {"color", ""},
                                    {"fillcolor", ""},
                                    {"penwidth", "1"},
                                    {NULL, NULL}};
    const char *const node[][2] = {
        {"shape", "box"}, {"style", "filled,rounded"}, {"fontname", font}, {"fontcolor", k->ink},
        {"fontsize", "10"}, {"margin", "0.09,0.04"}, {"height", "0.25"}, {"width", "0.4"},
        {"color", k->line}, {"fillcolor", k->paper}, {"penwidth", "1"}, {"label", ""},
        {"tooltip", ""}, {"id", ""}, {"class", ""}, {"pos", ""}, {NULL, NULL}};
    const char *const edge[][2] = {
        {"fontname", font}, {"fontcolor", k->ink}, {"fontsize", "9"}, {"color", k->data},
        {"penwidth", "1"}, {"arrowsize", "0.6"}, {"style", "solid"}, {"dir", "forward"},
        {"constraint", "true"}, {"weight", "1"}, {"label", ""}, {"tooltip", ""}, {"id", ""},
        {"class", ""}, {"pos", ""}, {"lp", ""}, {NULL, NULL}};
    defaults(b->g, AGRAPH, graph);
    defaults(b->g, AGNODE, node);
    defaults(b->g, AGEDGE, edge);
}

// One notice, in lines that a picture has room for.
static void add_notice(aot_sb *s, const char *text)
{
    enum { WIDE = 110 };
    aot_sb_addz(s, "\nNotice: ");
    for (int used = 8; *text;) {
        size_t n = strcspn(text, " ");
        if (used + (int)n > WIDE && used > 8) {
            aot_sb_addz(s, "\n    ");
            used = 4;
        }
        aot_sb_add(s, text, n);
        aot_sb_addz(s, text[n] ? " " : "");
        used += (int)n + 1;
        text += n + (text[n] == ' ');
    }
}

static void graph_title(builder *b)
{
    aot_sb s = {0};
    aot_sb_addz(&s, b->pic->title);
    for (size_t i = 0; i < b->pic->notices.n; i++) {
        add_notice(&s, b->pic->notices.d[i]);
    }
    aot_sb_addz(&s, "\n");
    set_text(b->g, "label", aot_sb_text(&s), "\\l");
    set(b->g, "id", "aotscope");
    aot_sb_free(&s);
}

Agraph_t *aot_picture_build(const aot_picture *pic, const char *color, unsigned parts)
{
    builder b = {.pic = pic, .look = &schemes[0]};
    for (size_t i = 0; color && i < sizeof schemes / sizeof *schemes; i++) {
        if (strcmp(color, schemes[i].name) == 0) {
            b.look = &schemes[i];
        }
    }
    b.g = agopen((char *)(uintptr_t) "aotscope", Agdirected, &disc);
    graph_defaults(&b);
    if (parts & AOT_BUILD_TITLE) {
        graph_title(&b);
    }
    add_clusters(&b);
    b.nodes = aot_xcalloc(pic->nodes.n + 1, sizeof *b.nodes);
    for (uint32_t i = 0; i < pic->nodes.n; i++) {
        add_node(&b, i);
    }
    for (size_t i = 0; i < pic->edges.n; i++) {
        const aot_pic_edge *e = &pic->edges.d[i];
        b.most = e->line == AOT_LINE_SAVED && e->bytes > b.most ? e->bytes : b.most;
    }
    for (size_t i = 0; i < pic->edges.n; i++) {
        add_edge(&b, &pic->edges.d[i], i);
    }
    if (parts & AOT_BUILD_LEGEND) {
        add_legend(&b);
    }
    if (parts & AOT_BUILD_LEGEND_ON_TOP) {
        legend_on_top(&b);
    }
    free(b.blocks);
    free(b.nodes);
    return b.g;
}

void aot_picture_dot(aot_sb *out, const aot_picture *pic, const char *color)
{
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    Agraph_t *g = aot_picture_build(pic, color, AOT_BUILD_ALL);
    if (f) {
        agwrite(g, f);
        fclose(f);
        aot_sb_add(out, text, n);
    }
    agclose(g);
    free(text);
}
