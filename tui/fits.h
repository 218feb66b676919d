/* memory --fits: whether units fit a device, and the memory budget at which they would. */
#ifndef AOT_TUI_FITS_H
#define AOT_TUI_FITS_H

#include <jansson.h>

#include "exec/memsim.h"
#include "import/unit.h"
#include "pipeline/config.h"
#include "session/model.h"

/* One budget of a unit. */
typedef struct aot_fit_point {
    double budget;
    int64_t forward_peak, backward_peak, saved_bytes; /* saved_bytes: with symbols */
    int64_t tensor_bytes; /* saved, without the symbols */
    uint32_t n_symbols;
    double recompute_flops;
    const char *rung;
    bool fits;
    /* [name, bytes] of what is saved and was not at the budget before (the next higher one) or no
     * longer is, largest first; NULL for the first and where it cannot be cut */
    json_t *newly_saved, *no_longer_saved;
} aot_fit_point;

enum { AOT_FIT_POINTS = 41 };

typedef struct aot_fit {
    aot_fit_point now;                    /* as configured */
    aot_fit_point points[AOT_FIT_POINTS]; /* budgets 1, 0.975 .. 0 */
    int best;                             /* the highest budget that fits; -1: none does */
    json_t *flips; /* [name, bytes] saved now and not at best, largest first */
} aot_fit;

typedef struct aot_fit_ask {
    int64_t limit;           /* bytes */
    aot_memory_options walk; /* conventions of the peaks */
    bool reserved;           /* peaks are what the caching allocator reserves (exec/allocator.h) */
} aot_fit_ask;

/* Cuts and walks the unit at each budget.
 * Errors: those of the partition as configured. A budget that cannot be cut does not fit. */
AOT_NODISCARD aot_status aot_fits_unit(aot_fit *out, const aot_unit *u, const aot_record *joint,
                                       const aot_config *config, const aot_fit_ask *ask,
                                       aot_err *err);
/* The same of a unit of a model under its settings and edits, recorded or derived.
 * Errors: besides, those of the derivation. */
AOT_NODISCARD aot_status aot_fits_of_model(aot_fit *out, aot_model *m, size_t unit,
                                           const aot_fit_ask *ask, aot_err *err);
void aot_fit_free(aot_fit *f);
json_t *aot_fit_json(const aot_fit *f);
void aot_fit_print(aot_sb *out, const aot_fit *f, int64_t limit);

#endif
