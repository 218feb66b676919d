/* Sweeps as JSON, out and in again, and a sweep put together unit by unit. */
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "tui/open_model.h"
#include "tui/sweep.h"
#include "viewers/viewer.h"

aot_sweep *aot_sweep_new(void)
{
    aot_sweep *s = aot_xcalloc(1, sizeof *s);
    s->arena = aot_arena_new();
    s->shard = s->n_shards = 1;
    return s;
}

void aot_sweep_free(aot_sweep *s)
{
    if (s == NULL) {
        return;
    }
    for (size_t i = 0; i < s->units.n; i++) {
        aot_pareto_free(s->units.d[i].pareto);
    }
    aot_vec_free(&s->units);
    aot_vec_free(&s->solvers);
    aot_arena_free(s->arena);
    free(s);
}

aot_sweep_unit *aot_sweep_unit_of(aot_sweep *s, int number, const char *label, const char *title,
                                  double budget_now)
{
    size_t i = 0;
    while (i < s->units.n && s->units.d[i].number < number) {
        i++;
    }
    if (i == s->units.n || s->units.d[i].number != number) {
        aot_sweep_unit u = {.number = number, .budget_now = budget_now, .pareto = aot_pareto_new()};
        u.label = aot_arena_strndup(s->arena, label, strlen(label));
        u.title = aot_arena_strndup(s->arena, title, strlen(title));
        aot_vec_push(&s->units, u);
        memmove(&s->units.d[i + 1], &s->units.d[i], (s->units.n - 1 - i) * sizeof u);
        s->units.d[i] = u;
    }
    return &s->units.d[i];
}

void aot_sweep_finish(aot_sweep *s)
{
    for (size_t i = 0; i < s->units.n; i++) {
        aot_pareto_finish(s->units.d[i].pareto, s->solvers.d, s->solvers.n,
                          s->bisected && s->n_shards == 1);
    }
}

size_t aot_sweep_n_failed(const aot_sweep *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->units.n; i++) {
        for (size_t k = 0; k < s->units.d[i].pareto->points.n; k++) {
            n += s->units.d[i].pareto->points.d[k].error != NULL;
        }
    }
    return n;
}

/* ---- out ------------------------------------------------------------------------------------- */

static json_t *values_json(const aot_pareto_value *v, uint32_t n)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < n; i++) {
        json_array_append_new(list, json_pack("[s, I]", v[i].name, (json_int_t)v[i].bytes));
    }
    return list;
}

json_t *aot_sweep_point_json(const aot_pareto_point *p, bool flips)
{
    json_t *o = json_pack("{s:f, s:s}", "budget", p->budget, "solver", p->solver);
    if (p->error != NULL) {
        json_object_set_new(o, "error", aot_json_safe(p->error));
        return o;
    }
    json_t *names = json_array(), *bytes = json_array();
    for (uint32_t i = 0; i < p->n_saved; i++) {
        json_array_append_new(names, json_string(p->saved[i].name));
        json_array_append_new(bytes, json_integer(p->saved[i].bytes));
    }
    json_object_set_new(o, "rung", json_string(p->rung));
    json_object_set_new(o, "saved", names);
    json_object_set_new(o, "saved_bytes", json_integer(p->saved_bytes));
    json_object_set_new(o, "new_bytes", json_integer(p->new_bytes));
    json_object_set_new(o, "recompute_flops", json_integer(aot_int_of_real(p->recompute_flops)));
    json_object_set_new(
        o, "peak_bytes",
        json_integer(p->forward_peak > p->backward_peak ? p->forward_peak : p->backward_peak));
    json_object_set_new(o, "forward_peak", json_integer(p->forward_peak));
    json_object_set_new(o, "backward_peak", json_integer(p->backward_peak));
    json_object_set_new(o, "bytes_of_saved", bytes);
    if (flips) {
        json_object_set_new(o, "on_front", json_boolean(!p->dominated));
        json_object_set_new(o, "on_new_front", json_boolean(!p->dominated_new));
        json_object_set_new(o, "newly_saved", values_json(p->newly_saved, p->n_newly_saved));
        json_object_set_new(o, "no_longer_saved",
                            values_json(p->no_longer_saved, p->n_no_longer_saved));
    }
    return o;
}

json_t *aot_sweep_json(const aot_sweep *s)
{
    json_t *out = aot_cmd_json(), *graphs = json_array(), *solvers = json_array();
    for (size_t i = 0; i < s->solvers.n; i++) {
        json_array_append_new(solvers, json_string(s->solvers.d[i]));
    }
    json_object_set_new(out, "sweep",
                        json_pack("{s:s, s:o}", "budgets", s->budgets, "solvers", solvers));
    if (s->n_shards > 1) {
        json_object_set_new(out, "shard",
                            json_pack("{s:i, s:i}", "part", s->shard, "of", s->n_shards));
    }
    for (size_t i = 0; i < s->units.n; i++) {
        const aot_sweep_unit *u = &s->units.d[i];
        json_t *points = json_array();
        for (size_t k = 0; k < u->pareto->points.n; k++) {
            json_array_append_new(points,
                                  aot_sweep_point_json(&u->pareto->points.d[k], s->n_shards == 1));
        }
        json_array_append_new(graphs, json_pack("{s:i, s:s, s:s, s:f, s:o}", "unit", u->number,
                                                "label", u->label, "title", u->title, "budget_now",
                                                u->budget_now, "points", points));
    }
    json_object_set_new(out, "graphs", graphs);
    return out;
}

/* ---- in -------------------------------------------------------------------------------------- */

static aot_status read_saved(aot_pareto_point *p, const json_t *o, size_t at, aot_err *err)
{
    const json_t *names = json_object_get(o, "saved"),
                 *bytes = json_object_get(o, "bytes_of_saved");
    size_t n = json_array_size(names);
    if (!json_is_array(names) || json_array_size(bytes) != n) {
        return AOT_FAIL(err, AOT_E_PARSE,
                        "point %zu: \"saved\" and \"bytes_of_saved\" must be lists of one length",
                        at);
    }
    p->saved = aot_xcalloc(n + 1, sizeof *p->saved);
    for (size_t i = 0; i < n; i++) {
        const char *name = json_string_value(json_array_get(names, i));
        p->saved[i] = (aot_pareto_value){name != NULL ? name : "",
                                         json_integer_value(json_array_get(bytes, i))};
    }
    p->n_saved = (uint32_t)n;
    return AOT_OK;
}

static aot_status read_point(aot_pareto_point *p, const json_t *o, size_t at,
                             const char *const *solvers, size_t n_solvers, aot_err *err)
{
    *p = (aot_pareto_point){
        .budget = json_number_value(json_object_get(o, "budget")),
        .solver = json_string_value(json_object_get(o, "solver")),
        .error = json_string_value(json_object_get(o, "error")),
        .rung = json_string_value(json_object_get(o, "rung")),
        .saved_bytes = json_integer_value(json_object_get(o, "saved_bytes")),
        .recompute_flops = json_number_value(json_object_get(o, "recompute_flops")),
        .forward_peak = json_integer_value(json_object_get(o, "forward_peak")),
        .backward_peak = json_integer_value(json_object_get(o, "backward_peak"))};
    // a part that an older program wrote has no bytes of their own
    p->new_bytes = json_is_integer(json_object_get(o, "new_bytes"))
                       ? json_integer_value(json_object_get(o, "new_bytes"))
                       : p->saved_bytes;
    bool known = false;
    for (size_t i = 0; p->solver != NULL && i < n_solvers; i++) {
        known |= strcmp(solvers[i], p->solver) == 0;
    }
    if (!known || !json_is_number(json_object_get(o, "budget")) ||
        (p->rung == NULL && p->error == NULL)) {
        return AOT_FAIL(err, AOT_E_PARSE,
                        "point %zu: \"budget\", \"rung\" or a \"solver\" of the sweep is missing",
                        at);
    }
    return p->error != NULL ? AOT_OK : read_saved(p, o, at, err);
}

aot_status aot_sweep_points_read(aot_pareto *x, const json_t *points, const char *const *solvers,
                                 size_t n_solvers, aot_err *err)
{
    for (size_t i = 0; i < json_array_size(points); i++) {
        aot_pareto_point p;
        AOT_TRY(read_point(&p, json_array_get(points, i), i, solvers, n_solvers, err));
        aot_pareto_add(x, &p, solvers, n_solvers);
        free(p.saved);
    }
    return AOT_OK;
}

/* What is swept: from the first file, or the same as in it. */
static aot_status read_head(aot_sweep *s, const json_t *sweep, aot_err *err)
{
    const char *budgets = json_string_value(json_object_get(sweep, "budgets"));
    const json_t *solvers = json_object_get(sweep, "solvers");
    size_t n = json_array_size(solvers);
    bool first = s->budgets == NULL, same = true;
    if (budgets == NULL || n == 0) {
        return AOT_FAIL(err, AOT_E_FORMAT,
                        "it does not say what was swept (\"sweep\" with \"budgets\" and "
                        "\"solvers\"): `aotscope sweep --shard` writes it");
    }
    for (size_t i = 0; i < n; i++) {
        const char *name = json_string_value(json_array_get(solvers, i));
        name = name != NULL ? name : "";
        if (first) {
            aot_vec_push(&s->solvers, aot_arena_strndup(s->arena, name, strlen(name)));
        }
        same &= i < s->solvers.n && strcmp(s->solvers.d[i], name) == 0;
    }
    if (first) {
        s->budgets = aot_arena_strndup(s->arena, budgets, strlen(budgets));
        s->bisected = aot_starts_with(budgets, "bisection");
    } else if (!same || n != s->solvers.n || strcmp(s->budgets, budgets) != 0) {
        return AOT_FAIL(err, AOT_E_USAGE,
                        "it is of another sweep: budgets %s here, %s in the first file", budgets,
                        s->budgets);
    }
    return AOT_OK;
}

aot_status aot_sweep_read(aot_sweep *s, const json_t *file, aot_err *err)
{
    const char *format = json_string_value(json_object_get(file, "format"));
    const json_t *graphs = json_object_get(file, "graphs");
    if (format == NULL || strcmp(format, "aotscope/1") != 0 || !json_is_array(graphs)) {
        return AOT_FAIL(
            err, AOT_E_FORMAT,
            "it is no sweep: \"format\" should be \"aotscope/1\", and \"graphs\" a list");
    }
    AOT_TRY(read_head(s, json_object_get(file, "sweep"), err));
    for (size_t i = 0; i < json_array_size(graphs); i++) {
        const json_t *g = json_array_get(graphs, i);
        const char *label = json_string_value(json_object_get(g, "label"));
        const char *title = json_string_value(json_object_get(g, "title"));
        if (!json_is_integer(json_object_get(g, "unit"))) {
            return AOT_FAIL(err, AOT_E_PARSE, "graph %zu: \"unit\" is missing", i);
        }
        aot_sweep_unit *u = aot_sweep_unit_of(
            s, (int)json_integer_value(json_object_get(g, "unit")), label != NULL ? label : "",
            title != NULL ? title : "", json_number_value(json_object_get(g, "budget_now")));
        if (label != NULL && strcmp(u->label, label) != 0) {
            return AOT_FAIL(err, AOT_E_USAGE,
                            "its unit %d is %s, and %s in the files before: it is of another input",
                            u->number, label, u->label);
        }
        AOT_TRY(aot_sweep_points_read(u->pareto, json_object_get(g, "points"), s->solvers.d,
                                      s->solvers.n, err));
    }
    return AOT_OK;
}
