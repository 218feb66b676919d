/* Building pictures: boxes with label, tooltip and signature; and making them smaller: a set to
 * keep, a neighbourhood. Order of nodes and edges is the order of the program, so equal inputs give
 * equal pictures, byte for byte. */
#include "viewers/picture.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "ir/text.h"

enum { MAX_LABEL = 44, MAX_TOOLTIP = 1200 };

aot_picture *aot_picture_new(void)
{
    aot_picture *pic = aot_xcalloc(1, sizeof *pic);
    pic->arena = aot_arena_new();
    pic->title = "";
    return pic;
}

void aot_picture_free(aot_picture *pic)
{
    if (pic) {
        aot_vec_free(&pic->nodes);
        aot_vec_free(&pic->edges);
        aot_vec_free(&pic->blocks);
        aot_vec_free(&pic->notices);
        aot_arena_free(pic->arena);
        free(pic);
    }
}

uint32_t aot_picture_node(aot_picture *pic, aot_pic_node n)
{
    n.block = -1;
    n.module = n.module ? n.module : "";
    aot_vec_push(&pic->nodes, n);
    pic->n_before = (uint32_t)pic->nodes.n;
    return (uint32_t)pic->nodes.n - 1;
}

void aot_picture_edge(aot_picture *pic, uint32_t from, uint32_t to, aot_line line, int64_t bytes)
{
    aot_pic_edge e = {.from = from, .to = to, .line = (uint8_t)line, .bytes = bytes, .times = 1};
    aot_vec_push(&pic->edges, e);
}

void aot_picture_notice(aot_picture *pic, const char *fmt, ...)
{
    char text[2000];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    aot_vec_push(&pic->notices, aot_arena_strndup(pic->arena, text, strlen(text)));
}

static const char *keep_sb(aot_picture *pic, aot_sb *b)
{
    const char *s = aot_arena_strndup(pic->arena, aot_sb_text(b), b->n);
    aot_sb_free(b);
    return s;
}

const char *aot_picture_text(aot_picture *pic, const char *text)
{
    aot_sb b = {0};
    aot_text_safe(&b, text, strlen(text));
    return keep_sb(pic, &b);
}

// Adds one safe line, cut to cols columns.
static void add_line(aot_sb *out, const char *text, int cols)
{
    aot_sb safe = {0};
    aot_text_safe(&safe, text, strlen(text));
    aot_sb_addz(out, out->n ? "\n" : "");
    aot_text_fit(out, aot_sb_text(&safe), cols, false);
    aot_sb_free(&safe);
}

/* ---- boxes of a graph ------------------------------------------------------------------------ */

static char verdict_letter(const aot_partition *p, aot_node_id cut)
{
    if (!p || cut == AOT_NO_NODE) {
        return 0;
    }
    switch ((aot_verdict)p->nodes[cut].verdict) {
    case AOT_V_SAVED:
        return 'S';
    case AOT_V_RECOMPUTED:
        return 'R';
    case AOT_V_BACKWARD_ONLY:
        return 'B';
    case AOT_V_FORWARD_ONLY:
        return 'F';
    case AOT_V_DEAD:
        break;
    }
    return 0;
}

// "S", "RV", "B~": what the reader of a black and white print has instead of the fill.
static void letters_of(char buf[12], const aot_graph *g, aot_node_id id, const aot_partition *p,
                       aot_node_id cut, aot_class cls, aot_zone zone)
{
    const char *letter = aot_class_get(cls)->letter;
    char verdict = verdict_letter(p, cut), marks[8];
    if (!verdict && p && zone != AOT_ZONE_NONE) { // made by the partitioner itself
        verdict = zone == AOT_ZONE_BACKWARD ? 'B' : 'F';
    }
    bool input = cls == AOT_CLASS_PARAMETER || cls == AOT_CLASS_INPUT || cls == AOT_CLASS_TANGENT;
    aot_mark_letters(marks, sizeof marks, g, id, p, cut);
    if (input) {
        snprintf(buf, 12, "%s%s", letter, verdict == 'S' ? "S" : "");
    } else if (verdict) {
        snprintf(buf, 12, "%c%s", verdict, marks);
    } else {
        bool said = strchr(marks, letter[0]) != NULL || cls == AOT_CLASS_FORWARD;
        snprintf(buf, 12, "%s%s", said ? "" : letter, marks);
    }
}

static const char *label_of(aot_picture *pic, const aot_graph *g, aot_node_id id,
                            const aot_partition *p, aot_node_id cut, aot_class cls, aot_zone zone)
{
    aot_sb b = {0}, line = {0};
    char letters[12], buf[256], size[32];
    letters_of(letters, g, id, p, cut, cls, zone);
    aot_sb_addf(&line, "%s%s%s", letters, *letters ? "  " : "", aot_node_name(g, id));
    add_line(&b, aot_sb_text(&line), MAX_LABEL);
    const aot_node *n = aot_node_at(g, id);
    if (n->kind != AOT_PLACEHOLDER) {
        aot_format_op(buf, sizeof buf, g, id);
        add_line(&b, buf, MAX_LABEL);
    } else if (strchr(aot_text(g->ctx, n->desc), '\'')) {
        // ParamAOTInput(idx=0, target='a.weight'): the part in quotes
        const char *q = strchr(aot_text(g->ctx, n->desc), '\'') + 1;
        snprintf(buf, sizeof buf, "%.*s", (int)strcspn(q, "'"), q);
        add_line(&b, buf, MAX_LABEL);
    }
    aot_format_type(buf, sizeof buf, g->ctx, n->meta);
    if (*buf) {
        aot_sb_clear(&line);
        int64_t bytes = aot_memory_of(g, id, p, cut);
        bool sized = bytes > 0 && aot_meta_get(g->ctx, n->meta)->val == AOT_VAL_TENSOR;
        aot_sb_addf(&line, "%s%s%s", buf, sized ? "  " : "",
                    sized ? aot_format_bytes(size, sizeof size, bytes) : "");
        add_line(&b, aot_sb_text(&line), MAX_LABEL);
    }
    aot_sb_free(&line);
    return keep_sb(pic, &b);
}

static const char *tooltip_of(aot_picture *pic, const aot_graph *g, aot_node_id id,
                              const aot_partition *p, aot_node_id cut)
{
    aot_sb b = {0}, text = {0};
    char buf[256], where[256];
    aot_print_node(&text, g, id);
    add_line(&b, aot_sb_text(&text), MAX_TOOLTIP);
    const aot_src *s = &g->srcs.d[aot_node_at(g, id)->src];
    if (s->file) {
        aot_sb_clear(&text);
        aot_sb_addf(&text, "%s  %s", aot_format_source(where, sizeof where, g, id),
                    aot_text(g->ctx, s->code));
        add_line(&b, aot_sb_text(&text), MAX_TOOLTIP);
    }
    if (aot_node_at(g, id)->desc) {
        add_line(&b, aot_text(g->ctx, aot_node_at(g, id)->desc), MAX_TOOLTIP);
    }
    if (p && cut != AOT_NO_NODE) {
        aot_sb_clear(&text);
        const aot_node_info *info = &p->nodes[cut];
        aot_reason_words(buf, sizeof buf, p, cut);
        aot_sb_addf(&text, "%s%s%s", aot_verdict_words(p, cut), *buf ? ": " : "", buf);
        add_line(&b, aot_sb_text(&text), MAX_TOOLTIP);
        if (info->ban) {
            add_line(&b, aot_ban_sentence(info->ban), MAX_TOOLTIP);
        }
        aot_sb_clear(&text);
        aot_sb_addf(&text, "weight %s", aot_weight_words(buf, sizeof buf, p, cut));
        add_line(&b, aot_sb_text(&text), MAX_TOOLTIP);
    }
    aot_sb_free(&text);
    return keep_sb(pic, &b);
}

static uint64_t mix_text(uint64_t h, const char *s)
{
    return aot_hash_mix(h, aot_hash64(s, strlen(s)));
}

// What makes two nodes look alike: operator, constants, types, verdict; not their names.
static uint64_t signature(const aot_graph *g, aot_node_id id, const aot_partition *p,
                          aot_node_id cut, aot_zone zone)
{
    const aot_node *n = aot_node_at(g, id);
    uint64_t h = mix_text(
        n->kind * 8u + (unsigned)zone,
        n->kind == AOT_PLACEHOLDER || n->kind == AOT_GET_ATTR ? "" : aot_node_target(g, id));
    h = mix_text(h, aot_text(g->ctx, aot_meta_get(g->ctx, n->meta)->text));
    const aot_arg *args = aot_node_args(g, n);
    for (uint32_t i = 0; i < n->n_args; i++) {
        bool plain = args[i].kind != AOT_ARG_NODE && args[i].kind < AOT_ARG_LIST;
        h = aot_hash_mix(h, args[i].kind * 64u + args[i].n);
        h = plain && args[i].kind != AOT_ARG_NONE ? aot_hash_mix(h, (uint64_t)args[i].u.i) : h;
    }
    if (p && cut != AOT_NO_NODE) {
        h = aot_hash_mix(h, p->nodes[cut].verdict * 256u + p->nodes[cut].policy);
    }
    return h;
}

uint32_t aot_picture_graph_node(aot_picture *pic, const aot_graph *g, aot_node_id id,
                                const aot_partition *p, aot_node_id cut, const char *prefix,
                                aot_zone zone)
{
    const aot_node *n = aot_node_at(g, id);
    char where[256];
    aot_class cls = aot_class_of(g, id, p, cut);
    if (cls == AOT_CLASS_FORWARD && cut == AOT_NO_NODE && zone == AOT_ZONE_BACKWARD) {
        cls = AOT_CLASS_BACKWARD;
    }
    const char *name = aot_picture_text(pic, aot_node_name(g, id));
    const char *verdict = p && cut != AOT_NO_NODE ? aot_verdict_name(p->nodes[cut].verdict) : "";
    aot_pic_node x = {
        .key = aot_arena_printf(pic->arena, "%s_%s", prefix, name),
        .name = name,
        .label = label_of(pic, g, id, p, cut, cls, zone),
        .tooltip = tooltip_of(pic, g, id, p, cut),
        .source = aot_picture_text(pic, aot_format_source(where, sizeof where, g, id)),
        .css = verdict,
        .cls = (uint8_t)cls,
        .zone = (uint8_t)zone,
        .policy = p && cut != AOT_NO_NODE ? p->nodes[cut].policy : n->policy,
        .leaf = n->kind == AOT_PLACEHOLDER || n->kind == AOT_GET_ATTR,
        .sig = signature(g, id, p, cut, zone),
        .bytes = aot_memory_of(g, id, p, cut),
        .graph = g,
        .node = id,
        .cut = cut,
        .nth = -1,
    };
    return aot_picture_node(pic, x);
}

uint32_t aot_picture_output(aot_picture *pic, const aot_graph *g, aot_node_id from, uint32_t nth,
                            const char *prefix, aot_zone zone)
{
    const char *desc = nth < g->out_descs.n ? aot_text(g->ctx, g->out_descs.d[nth]) : "";
    aot_sb b = {0};
    char text[96];
    const char *idx = strstr(desc, "PlainAOTInput(idx=");
    if (strncmp(desc, "GradAOTOutput", 13) == 0 && idx) {
        snprintf(text, sizeof text, "O  gradient of primals_%d", atoi(idx + 18) + 1);
    } else if (strncmp(desc, "GradAOTOutput", 13) == 0 && strchr(desc, '\'')) {
        const char *q = strchr(desc, '\'') + 1;
        snprintf(text, sizeof text, "O  gradient of %.*s", (int)strcspn(q, "'"), q);
    } else if (zone == AOT_ZONE_BACKWARD) {
        snprintf(text, sizeof text, "O  gradient %u", nth);
    } else {
        snprintf(text, sizeof text, "O  output %u", nth);
    }
    add_line(&b, text, MAX_LABEL);
    aot_pic_node x = {
        .key = aot_arena_printf(pic->arena, "%s_output_%u", prefix, nth),
        .name = aot_arena_printf(pic->arena, "output_%u", nth),
        .label = keep_sb(pic, &b),
        .tooltip =
            *desc ? aot_picture_text(pic, desc) : aot_picture_text(pic, aot_node_name(g, from)),
        .source = "",
        .css = "",
        .cls = AOT_CLASS_OUTPUT,
        .zone = (uint8_t)zone,
        .sig = mix_text(zone, "output"),
        .graph = g,
        .node = from,
        .cut = AOT_NO_NODE,
        .nth = (int32_t)nth,
    };
    return aot_picture_node(pic, x);
}

/* ---- smaller pictures ------------------------------------------------------------------------ */

void aot_picture_keep(aot_picture *pic, const bool *keep)
{
    uint32_t *to = aot_xcalloc(pic->nodes.n + 1, sizeof *to);
    size_t n = 0, m = 0;
    for (size_t i = 0; i < pic->edges.n; i++) {
        aot_pic_edge *e = &pic->edges.d[i];
        if (keep[e->from] != keep[e->to]) {
            pic->nodes.d[keep[e->from] ? e->from : e->to].rim = true;
        }
    }
    for (size_t i = 0; i < pic->nodes.n; i++) {
        if (keep[i]) {
            to[i] = (uint32_t)n;
            pic->nodes.d[n++] = pic->nodes.d[i];
        }
    }
    for (size_t i = 0; i < pic->edges.n; i++) {
        aot_pic_edge e = pic->edges.d[i];
        if (keep[e.from] && keep[e.to]) {
            e.from = to[e.from];
            e.to = to[e.to];
            pic->edges.d[m++] = e;
        }
    }
    pic->nodes.n = n;
    pic->edges.n = m;
    free(to);
}

// Neighbours of every node, in edge order.
static uint32_t *neighbours(const aot_picture *pic, uint32_t **off)
{
    size_t n = pic->nodes.n;
    uint32_t *o = aot_xcalloc(n + 2, sizeof *o);
    for (size_t i = 0; i < pic->edges.n; i++) {
        o[pic->edges.d[i].from + 2]++;
        o[pic->edges.d[i].to + 2]++;
    }
    for (size_t i = 2; i < n + 2; i++) {
        o[i] += o[i - 1];
    }
    uint32_t *adj = aot_xcalloc(2 * pic->edges.n + 1, sizeof *adj);
    for (size_t i = 0; i < pic->edges.n; i++) {
        const aot_pic_edge *e = &pic->edges.d[i];
        adj[o[e->from + 1]++] = e->to;
        adj[o[e->to + 1]++] = e->from;
    }
    *off = o;
    return adj;
}

// Of a network: of the edges that are cut.
static const char *largest_saved(const aot_picture *pic)
{
    const aot_pic_edge *best = NULL;
    size_t first = 0; // that is no source or sink
    while (first + 1 < pic->nodes.n && !pic->nodes.d[first].graph) {
        first++;
    }
    for (size_t i = 0; i < pic->edges.n; i++) {
        const aot_pic_edge *e = &pic->edges.d[i];
        bool counts = e->line == AOT_LINE_CUT ||
                      (e->line == AOT_LINE_SAVED && pic->nodes.d[e->to].cls == AOT_CLASS_SAVED);
        if (counts && (!best || e->bytes > best->bytes)) {
            best = e;
        }
    }
    return best ? pic->nodes.d[best->to].name : pic->nodes.n ? pic->nodes.d[first].name : NULL;
}

bool aot_picture_around(aot_picture *pic, const char *name, int hops, uint32_t max_nodes)
{
    name = name ? name : largest_saved(pic);
    size_t n = pic->nodes.n, head = 0, tail = 0;
    uint32_t *off, *adj = neighbours(pic, &off);
    uint32_t *queue = aot_xcalloc(n + 1, sizeof *queue);
    int *dist = aot_xcalloc(n + 1, sizeof *dist);
    bool *keep = aot_xcalloc(n + 1, sizeof *keep);
    bool full = false;
    for (size_t i = 0; name && i < n; i++) {
        if (strcmp(pic->nodes.d[i].name, name) == 0) {
            keep[i] = true;
            queue[tail++] = (uint32_t)i;
        }
    }
    bool found = tail > 0;
    while (head < tail) {
        uint32_t x = queue[head++];
        if (!pic->nodes.d[x].graph && dist[x] > 0) {
            continue; // through the source or the sink everything is near everything
        }
        for (uint32_t k = off[x]; k < off[x + 1] && (hops < 0 || dist[x] < hops); k++) {
            uint32_t y = adj[k];
            if (keep[y]) {
                continue;
            }
            if (max_nodes && tail >= max_nodes) {
                full = true;
                break;
            }
            keep[y] = true;
            dist[y] = dist[x] + 1;
            queue[tail++] = y;
        }
    }
    if (found) {
        const char *shown = aot_arena_strndup(pic->arena, name, strlen(name));
        char reach[48] = "as far as the limit allows";
        if (hops >= 0) {
            snprintf(reach, sizeof reach, "%d line%s away", hops, hops == 1 ? "" : "s");
        }
        aot_picture_notice(pic, "%zu of %zu boxes: around %s, %s%s", tail, n, shown, reach,
                           full && hops >= 0 ? ", cut at the limit of boxes" : "");
        aot_picture_keep(pic, keep);
    }
    free(off);
    free(adj);
    free(queue);
    free(dist);
    free(keep);
    return found;
}
