/* Mermaid's flowchart text, which code hosts draw in Markdown. They refuse more than 500 lines or
 * 50,000 characters, so a picture here has few boxes (formats.def), and a notice says what is left
 * out. */
#include <stdlib.h>
#include <string.h>

#include "ir/text.h"
#include "viewers/viewer.h"

enum { MAX_EDGES = 500, MAX_CHARS = 50000 };

// Inside quotes only entities are special; a backtick after the quote would begin Markdown.
static void add_quoted(aot_sb *out, const char *text)
{
    static const char special[] = "\"#&<>`\\";
    aot_sb_addc(out, '"');
    for (const char *p = text; *p; p++) {
        if (*p == '\n') {
            aot_sb_addz(out, "<br/>");
        } else if (strchr(special, *p)) {
            aot_sb_addf(out, "#%d;", *p);
        } else {
            aot_sb_addc(out, *p);
        }
    }
    aot_sb_addc(out, '"');
}

static void add_node(aot_sb *out, const aot_pic_node *x, uint32_t i)
{
    aot_sb_addf(out, "    n%u%s", i, x->vertex ? "([" : "[");
    add_quoted(out, x->label);
    aot_sb_addf(out, "%s:::c%u\n", x->vertex ? "])" : "]", x->cls);
}

static void add_edge(aot_sb *out, const aot_pic_edge *e)
{
    static const char *const arrows[AOT_N_LINES] = {
        [AOT_LINE_DATA] = "-->",  [AOT_LINE_ALIAS] = "-.->",   [AOT_LINE_SAVED] = "==>",
        [AOT_LINE_NEXT] = "-.->", [AOT_LINE_CAPACITY] = "-->", [AOT_LINE_INFINITE] = "-->",
        [AOT_LINE_CUT] = "==>"};
    aot_sb_addf(out, "  n%u %s", e->from, arrows[e->line]);
    if (e->label && *e->label) {
        aot_sb label = {0};
        aot_sb_addf(&label, "%s%s", e->label, e->line == AOT_LINE_CUT ? "  cut" : "");
        aot_sb_addc(out, '|');
        add_quoted(out, aot_sb_text(&label));
        aot_sb_addc(out, '|');
        aot_sb_free(&label);
    }
    aot_sb_addf(out, " n%u\n", e->to);
}

static void add_head(aot_sb *out, const aot_picture *pic)
{
    aot_sb_addz(out, "---\ntitle: ");
    aot_sb line = {0};
    for (const char *p = pic->title; *p; p++) {
        aot_sb_addz(&line, *p == '\n' ? "  ·  " : (char[2]){*p, 0});
    }
    json_t *title = aot_json_safe(aot_sb_text(&line)); // YAML reads JSON's strings
    aot_sb_free(&line);
    char *text = json_dumps(title, JSON_ENCODE_ANY | JSON_COMPACT);
    aot_sb_addz(out, text ? text : "\"\"");
    free(text);
    json_decref(title);
    aot_sb_addz(out, "\n---\nflowchart TB\n");
    for (size_t i = 0; i < pic->notices.n; i++) {
        aot_sb_addz(out, "%% Notice: ");
        for (const char *p = pic->notices.d[i]; *p; p++) {
            aot_sb_addc(out, *p == '{' || *p == '}' || *p == '\n' ? ' ' : *p);
        }
        aot_sb_addc(out, '\n');
    }
}

// Boxes that hold recomputed values, most of them or not, have a class for it.
static void add_recomputed(aot_sb *out, const aot_picture *pic)
{
    bool any = false;
    for (uint32_t i = 0; i < pic->nodes.n; i++) {
        if (pic->nodes.d[i].n_again > 0) {
            aot_sb_addf(out, "%sn%u", any ? "," : "  class ", i);
            any = true;
        }
    }
    if (any) {
        aot_sb_addf(out, " recomputed\n  classDef recomputed stroke:%s,stroke-width:3px\n",
                    aot_class_get(AOT_CLASS_RECOMPUTED)->border);
    }
}

aot_status aot_write_mermaid(aot_export_job *j, aot_err *err)
{
    aot_picture *pic;
    AOT_TRY(aot_export_picture(&pic, j, err));
    aot_sb *out = j->out;
    add_head(out, pic);
    for (int z = 0; z < AOT_N_ZONES; z++) {
        bool open = false;
        for (uint32_t i = 0; i < pic->nodes.n; i++) {
            if (pic->nodes.d[i].zone != z) {
                continue;
            }
            if (z != AOT_ZONE_NONE && !open) {
                aot_sb_addf(out, "  subgraph z%d [", z);
                add_quoted(out, pic->zone_label[z] ? pic->zone_label[z] : "");
                aot_sb_addz(out, "]\n");
                open = true;
            }
            add_node(out, &pic->nodes.d[i], i);
        }
        aot_sb_addz(out, open ? "  end\n" : "");
    }
    for (size_t i = 0; i < pic->edges.n; i++) {
        add_edge(out, &pic->edges.d[i]);
    }
    for (unsigned c = 0; c < AOT_N_CLASSES; c++) {
        const aot_class_info *info = aot_class_get(c);
        aot_sb_addf(out, "  classDef c%u fill:%s,stroke:%s,color:#1a1a1a\n", c, info->light,
                    info->border);
    }
    add_recomputed(out, pic);
    if (pic->edges.n > MAX_EDGES || out->n > MAX_CHARS) {
        aot_sb_addf(j->notes,
                    "%zu lines and %zu characters: code hosts draw up to %d and %d; choose "
                    "with --around NODE --hops K\n",
                    pic->edges.n, out->n, MAX_EDGES, MAX_CHARS);
    }
    aot_picture_free(pic);
    return AOT_OK;
}
