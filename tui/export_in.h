/* What `export` and the interface's own :export have in common: from a unit of the model to what a
 * viewer is given. */
#ifndef AOT_TUI_EXPORT_IN_H
#define AOT_TUI_EXPORT_IN_H

#include "session/model.h"
#include "viewers/viewer.h"

/* "train.log  [0/1]  forward model.py:12"; returns buf. */
const char *aot_export_title(char *buf, size_t size, const aot_unit *u);
/* The stage that is shown if nobody names one: the joint graph, else what the unit has. */
aot_stage aot_export_stage(aot_model *m, size_t unit);
/* Fills in what the viewer needs; the label is left to the caller. An infinite cut is no error
 * where it can be shown. Everything belongs to the model. Errors: E_PIPELINE (the unit has not what
 * the viewer needs), and those of the cut. */
AOT_NODISCARD aot_status aot_export_in(aot_draw_in *in, aot_model *m, size_t unit,
                                       const aot_viewer *v, aot_stage stage, aot_err *err);

#endif
