/* How `memory` tells what lives in a unit: tables, CSV, JSON, charts. */
#ifndef AOT_TUI_MEMORY_REPORT_H
#define AOT_TUI_MEMORY_REPORT_H

#include <jansson.h>

#include "exec/allocator.h"
#include "exec/memgroup.h"
#include "tui/cmd.h"
#include "viewers/chart.h"
#include "viewers/table.h"

typedef struct aot_memory_ask {
    aot_memory_options walk;
    bool by_set[AOT_N_MEM_BY]; /* --by */
    bool any_by;
    bool timeline, no_fold, allocator, plot;
    unsigned top; /* groups that a table shows at most; 0: all */
} aot_memory_ask;

/* Reads --by, --timeline, --no-fold, --top, --in-place-reuse, --hold-saved, --donated,
 * --free-saved, --allocator, --first-calls. hold: saved values are held where nothing else is asked
 * for. Errors: E_USAGE. */
AOT_NODISCARD aot_status aot_memory_ask_read(aot_memory_ask *out, const aot_args *a, bool hold,
                                             aot_err *err);
#define AOT_OPTIONS_MEMORY                                                                         \
    {"by", 0, "WHAT,...", true,                                                                    \
     "What lives at the peak by kind, line, op, region or module; kind and line if absent."},      \
        {"timeline", 0, NULL, false,                                                               \
         "A row for each node: live bytes, what it allocated, what was freed after it."},          \
        {"no-plot", 0, NULL, false, "Tables alone, no plot of characters."},                       \
        {"no-fold", 0, NULL, false,                                                                \
         "Keep equal layers apart (layers.0, layers.1 are layers.* else)."},                       \
        {"top", 0, "N", false, "Groups in a table at most; 10 if absent, 0 for all."},             \
        {"in-place-reuse", 0, NULL, false,                                                         \
         "A pointwise result takes the memory of an input of its size that dies there."},          \
        {"hold-saved", 0, NULL, false,                                                             \
         "Saved values live until the backward returns, as under retain_graph=True; in JSON so "   \
         "if absent."},                                                                            \
        {"donated", 0, NULL, false,                                                                \
         "As --hold-saved, but donated ones are freed at their last use."},                        \
        {"free-saved", 0, NULL, false,                                                             \
         "Saved values are freed at their last use in the backward; so if absent, but in JSON."},  \
        {"allocator", 0, "NAME", false,                                                            \
         "none, or cuda: sizes rounded as PyTorch's caching allocator does, and what it would "    \
         "reserve."},                                                                              \
    {                                                                                              \
        "first-calls", 0, NULL, false,                                                             \
            "Repeated copies take what the operator takes, not what PyTorch's cache of fake "      \
            "calls says."                                                                          \
    }

/* One unit, walked. */
typedef struct aot_memory_unit {
    int number;        /* among the joint graphs of the input */
    const char *label, *title;
    const aot_partition *p;
    const aot_memory *m;
    const aot_memory *other; /* as ask->walk, but for hold_saved */
    const char *const *modules; /* as aot_select_modules; NULL: not known */
    aot_reserved forward, backward; /* if asked for */
} aot_memory_unit;

void aot_memory_print(aot_sb *out, const aot_memory_ask *ask, const aot_memory_unit *u);
/* {"unit", "forward": {...}, "backward": {...}} of the contract, and what was asked for besides. */
json_t *aot_memory_json(const aot_memory_ask *ask, const aot_memory_unit *u);
/* A table of timeline rows, or of groups if --by was given; rows of one unit are added. */
aot_table *aot_memory_csv_new(const aot_memory_ask *ask);
void aot_memory_csv(aot_table *t, const aot_memory_ask *ask, const aot_memory_unit *u);
/* Live bytes over the nodes of one side, stacked by the first --by, kind if there is none. */
aot_chart *aot_memory_chart(const aot_memory_ask *ask, const aot_memory_unit *u, aot_mem_side side);

#endif
