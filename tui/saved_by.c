/* Where the saved bytes come from: rows of the saved list summed by what they have in common. */
#include "tui/saved_by.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/memgroup.h"
#include "partition/select.h"
#include "viewers/format.h"
#include "viewers/table.h"

typedef void key_fn(aot_saved_group *g, const aot_partition *p, const aot_saved_row *r,
                    const char *const *modules, aot_arena *a);

static void by_line(aot_saved_group *g, const aot_partition *p, const aot_saved_row *r,
                    const char *const *modules, aot_arena *a)
{
    (void)modules;
    char source[512];
    aot_format_source(source, sizeof source, p->cut, r->node);
    g->key = source[0] == '\0' ? "(no source line: an input)"
                               : aot_arena_strndup(a, source, strlen(source));
    g->detail = r->code;
}

static void by_op(aot_saved_group *g, const aot_partition *p, const aot_saved_row *r,
                    const char *const *modules, aot_arena *a)
{
    (void)modules;
    (void)p;
    (void)a;
    g->key = r->op;
    g->detail = "";
}

static void by_region(aot_saved_group *g, const aot_partition *p, const aot_saved_row *r,
                    const char *const *modules, aot_arena *a)
{
    (void)modules;
    int32_t region = p->cut->srcs.d[aot_node_at(p->cut, r->node)->src].ac_graph_id;
    g->key = region < 0 ? "(in no region)" : aot_arena_printf(a, "region %d", region);
    g->detail = "";
}

static void by_reason(aot_saved_group *g, const aot_partition *p, const aot_saved_row *r,
                    const char *const *modules, aot_arena *a)
{
    (void)modules;
    (void)p;
    (void)a;
    g->key = r->reason;
    g->detail = "";
}

static void by_type(aot_saved_group *g, const aot_partition *p, const aot_saved_row *r,
                    const char *const *modules, aot_arena *a)
{
    (void)modules;
    (void)p;
    (void)a;
    g->key = r->dtype[0] != '\0' ? r->dtype : "(no tensor)";
    g->detail = "";
}

static void by_module(aot_saved_group *g, const aot_partition *p, const aot_saved_row *r,
                      const char *const *modules, aot_arena *a)
{
    (void)p;
    (void)a;
    g->key = aot_module_words(modules != NULL ? modules[r->node] : NULL);
    g->detail = "";
}

static const struct {
    const char *name;
    key_fn *fill;
} keys[] = {{"line", by_line},     {"op", by_op},     {"region", by_region},
            {"reason", by_reason}, {"type", by_type}, {"module", by_module}};

const char *aot_saved_key(size_t i)
{
    return i < sizeof keys / sizeof *keys ? keys[i].name : NULL;
}

typedef struct keyed {
    aot_saved_group g;
    const char *own; // before folding
} keyed;

static int by_key(const void *x, const void *y)
{
    const keyed *a = x, *b = y;
    int c = strcmp(a->g.key, b->g.key);
    return c != 0 ? c : strcmp(a->own, b->own);
}

static int by_bytes(const void *x, const void *y)
{
    const aot_saved_group *a = x, *b = y;
    return a->bytes != b->bytes ? (a->bytes < b->bytes) - (a->bytes > b->bytes)
                                : strcmp(a->key, b->key);
}

static key_fn *find_key(const char *key)
{
    key_fn *fill = NULL;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        fill = strcmp(keys[i].name, key) == 0 ? keys[i].fill : fill;
    }
    return fill;
}

const char *aot_saved_group_of(const aot_partition *p, const aot_saved_row *row, const char *key,
                               const char *const *modules, aot_arena *a)
{
    aot_saved_group g = {0};
    key_fn *fill = find_key(key);
    if (fill != NULL) {
        fill(&g, p, row, modules, a);
    }
    return g.key;
}

int aot_saved_groups(aot_saved_group **out, const aot_partition *p, const aot_saved_row *rows,
                     size_t n, const char *key, const char *const *modules, bool fold,
                     aot_arena *a)
{
    key_fn *fill = find_key(key);
    if (fill == NULL) {
        return -1;
    }
    aot_saved_group *g = AOT_NEW_ARRAY(a, aot_saved_group, n + 1);
    keyed *all = aot_xcalloc(n + 1, sizeof *all);
    for (size_t i = 0; i < n; i++) {
        all[i].g = (aot_saved_group){.n = 1, .n_same = 1,
                                     .bytes = rows[i].is_symbol ? 0 : rows[i].bytes};
        all[i].g.fresh = rows[i].own_bytes;
        fill(&all[i].g, p, &rows[i], modules, a);
        all[i].own = all[i].g.key;
        if (fold && fill == by_module) {
            all[i].g.key = aot_memgroup_folded(a, all[i].own);
        }
    }
    qsort(all, n, sizeof *all, by_key);
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (kept > 0 && strcmp(g[kept - 1].key, all[i].g.key) == 0) {
            g[kept - 1].bytes += all[i].g.bytes;
            g[kept - 1].fresh += all[i].g.fresh;
            g[kept - 1].n_same += strcmp(all[i].own, all[i - 1].own) != 0;
            g[kept - 1].n++;
        } else {
            g[kept++] = all[i].g;
        }
    }
    free(all);
    qsort(g, kept, sizeof *g, by_bytes);
    *out = g;
    return (int)kept;
}

/* ---- order of the rows ---- */

typedef struct sorted_row {
    const aot_partition *p;
    aot_saved_row row;
} sorted_row;

static int order_of(int64_t x, int64_t y)
{
    return (x > y) - (x < y);
}

static int order_bytes(const sorted_row *a, const sorted_row *b)
{
    return order_of(b->row.bytes, a->row.bytes);
}

static int order_uses(const sorted_row *a, const sorted_row *b)
{
    return order_of(aot_n_users(a->p->cut, b->row.node), aot_n_users(a->p->cut, a->row.node));
}

static int order_name(const sorted_row *a, const sorted_row *b)
{
    return strverscmp(a->row.name, b->row.name);
}

static int order_line(const sorted_row *a, const sorted_row *b)
{
    int files = strcmp(a->row.file, b->row.file);
    return files != 0 ? files : order_of(a->row.line, b->row.line);
}

static int order_op(const sorted_row *a, const sorted_row *b)
{
    return strcmp(a->row.op, b->row.op);
}

static int order_region(const sorted_row *a, const sorted_row *b)
{
    const aot_graph *g = a->p->cut;
    return order_of(g->srcs.d[aot_node_at(g, a->row.node)->src].ac_graph_id,
                    g->srcs.d[aot_node_at(g, b->row.node)->src].ac_graph_id);
}

static int order_reason(const sorted_row *a, const sorted_row *b)
{
    return strcmp(a->row.reason, b->row.reason);
}

#define ORDER(name) \
    static int by_##name##_then_place(const void *x, const void *y) \
    { \
        const sorted_row *a = x, *b = y; \
        int c = order_##name(a, b); \
        return c != 0 ? c : order_of(a->row.place, b->row.place); \
    }
ORDER(bytes)
ORDER(uses)
ORDER(name)
ORDER(line)
ORDER(op)
ORDER(region)
ORDER(reason)
#undef ORDER

bool aot_saved_sort(aot_saved_row *rows, size_t n, const aot_partition *p, const char *key)
{
    static const struct {
        const char *name;
        int (*compare)(const void *, const void *);
    } orders[] = {
#define ORDER(name) {#name, by_##name##_then_place}
        ORDER(bytes), ORDER(uses),   ORDER(name),   ORDER(line),
        ORDER(op),    ORDER(region), ORDER(reason),
#undef ORDER
    };
    int (*compare)(const void *, const void *) = NULL;
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        compare = strcmp(orders[i].name, key) == 0 ? orders[i].compare : compare;
    }
    if (compare == NULL) {
        return false;
    }
    aot_graph_link_once(p->cut);
    sorted_row *all = aot_xcalloc(n + 1, sizeof *all);
    for (size_t i = 0; i < n; i++) {
        all[i] = (sorted_row){p, rows[i]};
    }
    qsort(all, n, sizeof *all, compare);
    for (size_t i = 0; i < n; i++) {
        rows[i] = all[i].row;
    }
    free(all);
    return true;
}

/* ---- output ---- */

void aot_saved_groups_print(const aot_saved_group *g, size_t n, bool csv)
{
    static const char *const titles[] = {"saved", "of its own", "values", "by", ""};
    aot_table *t = aot_table_new();
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++) {
        aot_table_column(t, titles[i], i < 3 ? AOT_RIGHT : AOT_LEFT, 0);
    }
    for (size_t i = 0; i < n; i++) {
        aot_table_row(t);
        if (csv) {
            aot_table_cellf(t, "%lld", (long long)g[i].bytes);
            aot_table_cellf(t, "%lld", (long long)g[i].fresh);
        } else {
            aot_table_bytes(t, g[i].bytes);
            aot_table_bytes(t, g[i].fresh);
        }
        aot_table_cellf(t, "%u", g[i].n);
        if (g[i].n_same > 1) {
            aot_table_cellf(t, "%s ×%u", g[i].key, g[i].n_same);
        } else {
            aot_table_cell(t, g[i].key);
        }
        aot_table_cell(t, g[i].detail);
    }
    aot_sb out = {0};
    aot_table_print(&out, t, csv ? AOT_TABLE_CSV : 0, 0, 0);
    fputs(aot_sb_text(&out), stdout);
    aot_sb_free(&out);
    aot_table_free(t);
}

json_t *aot_saved_groups_json(const aot_saved_group *g, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) {
        json_array_append_new(list,
                              json_pack("{s:s, s:s, s:I, s:I, s:i, s:i}", "by", g[i].key, "detail",
                                        g[i].detail, "bytes", (json_int_t)g[i].bytes, "own_bytes",
                                        (json_int_t)g[i].fresh, "values", (int)g[i].n, "folded",
                                        (int)g[i].n_same));
    }
    return list;
}
