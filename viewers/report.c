/* One HTML page about a unit: diagram, saved values, memory, budgets, findings, source lines,
 * settings, stages. It needs nothing from elsewhere (a policy in its head forbids it), is read
 * without scripts, and stays small: the diagram is folded, long tables are cut, and each says so.
 */
#include "viewers/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/memsim.h"
#include "session/saved.h"
#include "viewers/html.h"
#include "viewers/unit_charts.h"
#include "viewers/viewer.h"

typedef struct section {
    const char *id, *title;
    void (*write)(aot_report *r);
    bool needs_cut;
} section;

static const section sections[] = {
    {"diagram", "Diagram", aot_report_diagram, false},
    {"saved-values", "Saved values", aot_report_saved, true},
    {"memory", "Memory", aot_report_memory, true},
    {"budgets", "Memory budgets", aot_report_budgets, true},
    {"findings", "Findings", aot_report_findings, true},
    {"lines", "Source lines", aot_report_lines, false},
    {"settings", "Settings", aot_report_settings, false},
    {"stages", "Stages", aot_report_stages, false},
};
enum { N_SECTIONS = sizeof sections / sizeof *sections };

void aot_report_note(aot_report *r, const char *text)
{
    aot_sb_addz(r->job->out, "<p class=\"note\">");
    aot_html_text(r->job->out, text);
    aot_sb_addz(r->job->out, "</p>\n");
}

/* ---- head ---------------------------------------------------------------------------------------
 */

static void head(aot_report *r)
{
    aot_sb *out = r->job->out;
    aot_sb_addz(out,
                "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\" />\n"
                "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                "style-src 'unsafe-inline'; script-src 'unsafe-inline'\" />\n"
                "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\" />\n"
                "<meta name=\"color-scheme\" content=\"light dark\" />\n"
                "<meta name=\"generator\" content=\"aotscope " PACKAGE_VERSION "\" />\n<title>");
    aot_html_text(out, r->label);
    aot_sb_addz(out, "</title>\n<style>\n");
    aot_sb_addz(out, aot_report_css);
    aot_report_dark_css(out);
    aot_sb_addz(out, "</style>\n</head>\n<body>\n");
}

static void fact(aot_sb *out, const char *name, const char *value)
{
    aot_sb_addz(out, "<div><dt>");
    aot_html_text(out, name);
    aot_sb_addz(out, "</dt><dd>");
    aot_html_text(out, value);
    aot_sb_addz(out, "</dd></div>\n");
}

static void fact_bytes(aot_sb *out, const char *name, int64_t bytes)
{
    char text[32];
    fact(out, name, aot_format_bytes(text, sizeof text, bytes));
}

static void cut_facts(aot_sb *out, const aot_partition *p)
{
    char text[96];
    aot_memory m;
    snprintf(text, sizeof text, "%u", p->n_saved);
    fact(out, "saved values", text);
    fact(out, "saved", aot_saved_text(p, text, sizeof text));
    fact_bytes(out, "of it besides the inputs", p->saved_new_bytes);
    fact(out, "recompute", aot_format_flops(text, sizeof text, p->recompute_flops));
    snprintf(text, sizeof text, "%.4g", p->config.activation_memory_budget);
    fact(out, "memory budget", text);
    fact(out, "decided by", p->rung ? p->rung : "");
    aot_memory_of_partition(&m, p, NULL);
    fact_bytes(out, "forward peak", m.forward.peak);
    fact_bytes(out, "backward peak", m.backward.peak);
    aot_memory_free(&m);
}

static void header(aot_report *r)
{
    aot_sb *out = r->job->out;
    const aot_draw_in *in = r->job->in;
    char text[64];
    aot_sb_addz(out, "<header>\n<h1>");
    aot_html_text(out, r->label);
    aot_sb_addz(out, "</h1>\n<dl class=\"facts\">\n");
    snprintf(text, sizeof text, "%zu", in->graph->nodes.n);
    fact(out, "nodes", text);
    if (in->part) {
        cut_facts(out, in->part);
    }
    if (r->unit && *r->unit->torch_version) {
        fact(out, "logged by PyTorch", r->unit->torch_version);
    }
    aot_sb_addz(out, "</dl>\n<nav aria-label=\"Sections\">\n");
    for (size_t i = 0; i < N_SECTIONS; i++) {
        if (in->part || !sections[i].needs_cut) {
            aot_sb_addf(out, "<a href=\"#s-%s\">%s</a>\n", sections[i].id, sections[i].title);
        }
    }
    aot_sb_addz(out, "<button type=\"button\" id=\"theme\" hidden>Theme: as the system</button>\n"
                     "</nav>\n</header>\n<main>\n");
    if (!in->part && in->infinite) {
        aot_report_note(r, in->infinite);
    }
}

aot_status aot_write_html(aot_export_job *j, aot_err *err)
{
    (void)err;
    const aot_draw_in *in = j->in;
    aot_report r = {.job = j, .label = in->label && *in->label ? in->label : "A unit"};
    r.unit = in->model ? aot_model_unit(in->model, (size_t)in->unit) : NULL;
    head(&r);
    header(&r);
    for (size_t i = 0; i < N_SECTIONS; i++) {
        if (in->part || !sections[i].needs_cut) {
            aot_sb_addf(j->out,
                        "<section id=\"s-%s\" aria-labelledby=\"h-%s\">\n<h2 id=\"h-%s\">%s</h2>\n",
                        sections[i].id, sections[i].id, sections[i].id, sections[i].title);
            sections[i].write(&r);
            aot_sb_addz(j->out, "</section>\n");
        }
    }
    aot_sb_addz(j->out,
                "</main>\n<footer>Made by aotscope " PACKAGE_VERSION ".</footer>\n<script>\n");
    aot_sb_addz(j->out, aot_report_js);
    aot_sb_addz(j->out, "</script>\n</body>\n</html>\n");
    return AOT_OK;
}
