/* The HTML report's parts; private to report.c and report_parts.c. */
#ifndef AOT_VIEWERS_REPORT_H
#define AOT_VIEWERS_REPORT_H

#include "viewers/viewer.h"

typedef struct aot_report {
    aot_export_job *job;
    const char *label;
    const aot_unit *unit; /* NULL without a model */
} aot_report;

/* One section each, without its heading. */
void aot_report_diagram(aot_report *r);
void aot_report_saved(aot_report *r);
void aot_report_memory(aot_report *r);
void aot_report_budgets(aot_report *r);
void aot_report_findings(aot_report *r);
void aot_report_lines(aot_report *r);
void aot_report_settings(aot_report *r);
void aot_report_stages(aot_report *r);

void aot_report_note(aot_report *r, const char *text);
/* Rules that give diagram and charts, drawn in light colours, their dark ones. */
void aot_report_dark_css(aot_sb *out);

extern const char aot_report_css[]; /* report.css */
extern const char aot_report_js[];  /* report.js */

#endif
