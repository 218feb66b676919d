/* What `sweep` and `merge` share: budgets of many units, cut in parallel or read from files, and
 * how they are told. */
#ifndef AOT_TUI_SWEEP_H
#define AOT_TUI_SWEEP_H

#include <jansson.h>

#include "partition/pareto.h"
#include "tui/cmd.h"

typedef struct aot_sweep_unit {
    int number;       /* among the joint graphs of the input, from 0 */
    const char *label, *title; /* "[0/0]", "forward model.py:12" */
    double budget_now; /* as it is configured */
    aot_pareto *pareto;
} aot_sweep_unit;

typedef struct aot_sweep {
    aot_arena *arena;
    const char *budgets;   /* as asked for: "0:1:0.1"; "bisection to 0.001" */
    bool bisected;
    AOT_VEC(const char *) solvers;
    int shard, n_shards;   /* which part of the points this is, from 1; 1 of 1: all */
    AOT_VEC(aot_sweep_unit) units; /* in order of number */
} aot_sweep;

aot_sweep *aot_sweep_new(void);
void aot_sweep_free(aot_sweep *s);
/* The unit of that number, which is added if it is not there. NULL label: as it is. */
aot_sweep_unit *aot_sweep_unit_of(aot_sweep *s, int number, const char *label, const char *title,
                                  double budget_now);
/* Once all points are there: sorts and compares them. */
void aot_sweep_finish(aot_sweep *s);
/* Points that could not be cut. */
size_t aot_sweep_n_failed(const aot_sweep *s);

/* ---- cutting (sweep_run.c) ------------------------------------------------------------------- */

typedef struct aot_sweep_ask {
    const aot_args *a;
    const double *budgets; /* NULL: bisection */
    size_t n_budgets;
    double step; /* of bisection */
    int jobs; /* processes; 1: this one alone */
} aot_sweep_ask;

/* Cuts what belongs to the sweep's shard of every unit of the input. Units that cannot be read are
 * told on stderr and counted. Errors: those of the import; E_PIPELINE: no joint graph. */
AOT_NODISCARD aot_status aot_sweep_run(aot_sweep *s, const aot_sweep_ask *ask, size_t *n_unread,
                                       aot_err *err);

/* ---- files (sweep_json.c) -------------------------------------------------------------------- */

/* One point as the contract has it. flips: also against the point before. */
json_t *aot_sweep_point_json(const aot_pareto_point *p, bool flips);
/* Adds the points of a list of such to a result. Errors: E_PARSE (what is missing where). */
AOT_NODISCARD aot_status aot_sweep_points_read(aot_pareto *x, const json_t *points,
                                               const char *const *solvers, size_t n_solvers,
                                               aot_err *err);
json_t *aot_sweep_json(const aot_sweep *s);
/* Adds what a file holds; the first file says what is swept, others must agree.
 * Errors: E_FORMAT (no sweep), E_USAGE (of another sweep). */
AOT_NODISCARD aot_status aot_sweep_read(aot_sweep *s, const json_t *file, aot_err *err);

/* ---- telling (sweep_write.c) ----------------------------------------------------------------- */

/* In the format that a's --format or --output asks for: text, json, csv, svg, pdf, png.
 * Errors: E_USAGE, E_IO. */
#define AOT_SWEEP_FORMATS "text, json, csv, svg, pdf, png"
AOT_NODISCARD aot_status aot_sweep_write(const aot_sweep *s, const aot_args *a, const char *format,
                                         aot_err *err);

#endif
