/* Saved bytes in groups: by source line, operator or checkpoint region. */
#ifndef AOT_TUI_SAVED_BY_H
#define AOT_TUI_SAVED_BY_H

#include <jansson.h>

#include "session/saved.h"

typedef struct aot_saved_group {
    const char *key, *detail; /* "model.py:12" and its code; "addmm"; "region 3" */
    int64_t bytes; /* symbols have none */
    int64_t fresh; /* without what shares memory with an input or a row before */
    unsigned n;               /* values and symbols */
    unsigned n_same; /* modules that folding made one: 12 for layers.0 .. layers.11 */
} aot_saved_group;

/* The i-th thing to group by: "line", "op", "region", "reason", "type", "module"; NULL behind the
 * last. */
const char *aot_saved_key(size_t i);
/* key: one of these. modules: by node of p->cut, as aot_select_modules gives it; NULL: not known.
 * fold: modules that differ in numbers alone are one group.
 * Groups of the rows, most bytes first; belongs to a. Returns their number, -1 for an unknown
 * key. */
int aot_saved_groups(aot_saved_group **out, const aot_partition *p, const aot_saved_row *rows,
                     size_t n, const char *key, const char *const *modules, bool fold,
                     aot_arena *a);
/* Key of the group that a row is in; NULL: there is no such key to group by. Belongs to a. */
const char *aot_saved_group_of(const aot_partition *p, const aot_saved_row *row, const char *key,
                               const char *const *modules, aot_arena *a);
/* Sorts rows as the saved list of the interface does: by "bytes" and "uses" the most first, by
 * "name", "line", "op", "region" or "reason"; ties in PyTorch's order. False: there is no such
 * key. */
bool aot_saved_sort(aot_saved_row *rows, size_t n, const aot_partition *p, const char *key);
/* csv: bytes as numbers. */
void aot_saved_groups_print(const aot_saved_group *g, size_t n, bool csv);
json_t *aot_saved_groups_json(const aot_saved_group *g, size_t n);

#endif
