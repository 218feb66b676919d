/* Folds by module. Each node has a path of a few levels; a run of nodes whose paths begin alike is
 * a fold at that level. One walk with a stack of open folds:
 *
 *   layers.0.fc  layers.0.fc  layers.0.act  layers.1.fc
 *   layers.0 { layers.0.fc {a b} layers.0.act {c} } ...
 *
 * Then folds of one node go, and one that holds nothing but another goes in its favour. */
#include "viewers/module_folds.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

enum { MAX_LEVELS = 32 };

typedef struct path {
    aot_sb text;
    size_t ends[MAX_LEVELS]; /* of each level, in text */
    int n;
} path;

static void end_level(path *at)
{
    if (at->n < MAX_LEVELS) {
        at->ends[at->n++] = at->text.n;
    } else { // what is nested deeper is one
        at->ends[MAX_LEVELS - 1] = at->text.n;
    }
}

/* "layers.0.attn": levels layers.0 and layers.0.attn, for a number alone says nothing. */
static void add_module(path *at, const char *module)
{
    for (const char *p = module; *p;) {
        const char *dot = strchr(p, '.');
        size_t n = dot != NULL ? (size_t)(dot - p) : strlen(p);
        aot_sb_add(&at->text, p, n);
        p += dot != NULL ? n + 1 : n;
        if (!isdigit((unsigned char)*p)) {
            end_level(at);
        }
        if (*p) {
            aot_sb_addc(&at->text, '.');
        }
    }
}

/* "model.py forward". */
static void add_source(path *at, const aot_graph *g, const aot_src *src)
{
    const char *file = aot_text(g->ctx, src->file), *slash = strrchr(file, '/');
    if (*file) {
        aot_sb_addf(&at->text, "%s %s", slash != NULL ? slash + 1 : file,
                    aot_text(g->ctx, src->func));
        end_level(at);
    }
}

static void path_of(path *at, const aot_graph *g, aot_node_id id, const char *module, bool backward)
{
    const aot_node *x = aot_node_at(g, id);
    aot_sb_clear(&at->text);
    at->n = 0;
    if (x->kind == AOT_PLACEHOLDER) {
        aot_sb_addz(&at->text, "inputs");
        end_level(at);
    } else if (x->kind != AOT_OUTPUT) {
        if (backward) {
            aot_sb_addz(&at->text, "backward");
            end_level(at);
            aot_sb_addz(&at->text, ": ");
        }
        if (module != NULL && *module) {
            add_module(at, module);
        } else {
            add_source(at, g, &g->srcs.d[x->src]);
        }
    }
}

/* Levels of the stack that hold the path, too. */
static int common(const aot_module_folds *f, const int32_t *stack, int n, const path *at)
{
    int k = 0;
    while (k < n && k < at->n) {
        const char *have = f->folds.d[stack[k]].path;
        if (strlen(have) != at->ends[k] || memcmp(have, at->text.d, at->ends[k]) != 0) {
            break;
        }
        k++;
    }
    return k;
}

static void count(aot_module_folds *f, const int32_t *stack, int n, aot_node_id id,
                  const aot_node_info *info)
{
    for (int k = 0; k < n; k++) {
        aot_module_fold *m = &f->folds.d[stack[k]];
        m->last = id;
        m->n_nodes++;
        if (info != NULL && info->verdict == AOT_V_SAVED) {
            m->n_saved++;
            m->saved_bytes += info->bytes;
        }
    }
    f->of[id] = n > 0 ? stack[n - 1] : -1;
}

/* Drops what folds nothing away, or only what a fold in it does. */
static void tidy(aot_module_folds *f, uint32_t n_nodes)
{
    uint32_t n = (uint32_t)f->folds.n, kept = 0;
    bool *drop = aot_xcalloc(n + 1, sizeof *drop);
    int32_t *to = aot_xcalloc(n + 1, sizeof *to); // the fold that stands for it now
    for (uint32_t i = 0; i < n; i++) {
        const aot_module_fold *m = &f->folds.d[i];
        drop[i] |= m->n_nodes < 2;
        if (m->parent >= 0 && !drop[i] && f->folds.d[m->parent].n_nodes == m->n_nodes) {
            drop[m->parent] = true;
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        aot_module_fold m = f->folds.d[i];
        int32_t parent = m.parent >= 0 ? to[m.parent] : -1;
        to[i] = parent;
        if (!drop[i]) {
            m.parent = parent;
            m.depth = parent >= 0 ? f->folds.d[parent].depth + 1 : 0;
            to[i] = (int32_t)kept;
            f->folds.d[kept++] = m;
        }
    }
    f->folds.n = kept;
    for (uint32_t i = 0; i < n_nodes; i++) {
        f->of[i] = f->of[i] >= 0 ? to[f->of[i]] : -1;
    }
    free(drop);
    free(to);
}

void aot_module_folds_find(aot_module_folds *out, const aot_graph *g, const aot_partition *p,
                           const aot_node_id *cut, const char *const *modules)
{
    uint32_t n_nodes = (uint32_t)g->nodes.n;
    int32_t stack[MAX_LEVELS];
    int depth = 0;
    path at = {0};
    *out = (aot_module_folds){.arena = aot_arena_new()};
    out->of = aot_xcalloc(n_nodes + 1, sizeof *out->of);
    for (aot_node_id i = 0; i < n_nodes; i++) {
        aot_node_id c = cut != NULL ? cut[i] : AOT_NO_NODE;
        const aot_node_info *info = p != NULL && c != AOT_NO_NODE ? &p->nodes[c] : NULL;
        bool backward =
            info != NULL ? info->backward_made : g->srcs.d[aot_node_at(g, i)->src].is_backward;
        path_of(&at, g, i, modules != NULL ? modules[i] : NULL, backward);
        for (depth = common(out, stack, depth, &at); depth < at.n; depth++) {
            aot_module_fold m = {.first = i, .parent = depth > 0 ? stack[depth - 1] : -1};
            m.path = aot_arena_strndup(out->arena, at.text.d, at.ends[depth]);
            stack[depth] = (int32_t)out->folds.n;
            aot_vec_push(&out->folds, m);
        }
        count(out, stack, depth, i, info);
    }
    aot_sb_free(&at.text);
    tidy(out, n_nodes);
}

void aot_module_folds_free(aot_module_folds *f)
{
    aot_vec_free(&f->folds);
    free(f->of);
    aot_arena_free(f->arena);
    *f = (aot_module_folds){0};
}

int32_t aot_module_folds_shut(const aot_module_folds *f, aot_node_id id)
{
    int32_t shut = -1;
    for (int32_t k = f->of[id]; k >= 0; k = f->folds.d[k].parent) {
        shut = f->folds.d[k].open ? shut : k;
    }
    return shut;
}
