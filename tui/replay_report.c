/* Frames in words and figures. */
#include "tui/replay_report.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "exec/real_json.h"
#include "viewers/format.h"

const char *const aot_replay_default_breaks[AOT_REPLAY_N_DEFAULT_BREAKS] = {"nan", "inf", "diff"};

static const char *const side_names[] = {"forward", "backward"};

static aot_replay *replay_of(const aot_replay_unit *u)
{
    return aot_replay_of((aot_replay_unit *)(uintptr_t)u);
}

static const char *side_name(const aot_replay_unit *u, const aot_replay_frame *f)
{
    return u != NULL && aot_replay_unit_graph(u, AOT_REPLAY_BACKWARD) == NULL ? "inference"
                                                                              : side_names[f->side];
}

void aot_replay_print_place(aot_sb *out, const aot_replay_unit *u, const aot_replay_frame *f)
{
    const aot_graph *g = f->graph;
    char buf[300];
    aot_sb_addf(out, "%s  %s", side_name(u, f), f->name);
    if (f->is_input) {
        aot_sb_addz(out, "  input");
    } else {
        aot_sb_addf(out, "  %s", aot_format_op(buf, sizeof buf, g, f->node));
    }
    aot_format_source(buf, sizeof buf, g, f->node);
    aot_sb_addf(out, "%s%s", buf[0] != '\0' ? "  " : "", buf);
}

/* ---- values
 * ------------------------------------------------------------------------------------------ */

static void print_number(aot_sb *out, aot_dtype d, double v)
{
    char kind = aot_dtype_get(d)->kind;
    if (kind == 'i' || kind == 'u' || kind == 'b') {
        aot_sb_addf(out, "%.0f", v);
    } else if (isnan(v)) {
        aot_sb_addz(out, "nan"); // without the sign that printf gives it
    } else {
        aot_sb_addf(out, "%.5g", v);
    }
}

static void print_type(aot_sb *out, const aot_value_stats *s)
{
    aot_sb_addf(out, "%s[", aot_dtype_get((aot_dtype)s->dtype)->abbr);
    for (unsigned i = 0; i < s->ndim; i++) {
        aot_sb_addf(out, "%s%" PRId64, i > 0 ? ", " : "", s->size[i]);
    }
    aot_sb_addz(out, "]");
}

static void print_histogram(aot_sb *out, const aot_value_stats *s, bool ascii)
{
    static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char *const plain[] = {" ", ".", ":", "-", "=", "+", "*", "#", "@"};
    int64_t most = 1;
    for (int i = 0; i < AOT_STATS_BINS; i++) {
        most = s->bins[i] > most ? s->bins[i] : most;
    }
    for (int i = 0; i < AOT_STATS_BINS; i++) { // any at all shows
        int64_t level = (s->bins[i] * 8 + most - 1) / most;
        aot_sb_addz(out, (ascii ? plain : blocks)[level]);
    }
}

static void print_diff(aot_sb *out, const char *what, const aot_replay_diff *d, aot_dtype t)
{
    if (d->with == NULL) {
        return;
    }
    if (d->d.n == 0) {
        aot_sb_addf(out, "    %s: the same\n", what);
    } else if (d->d.n < 0) {
        aot_sb_addf(out, "    %s: OTHER values (hashes were compared)\n", what);
    } else {
        aot_sb_addf(out,
                    "    %s: %" PRId64 " of %" PRId64 " elements DIFFER, first at %" PRId64 ": ",
                    what, d->d.n, d->d.of, d->d.first);
        print_number(out, t, d->d.was);
        aot_sb_addz(out, ", now ");
        print_number(out, t, d->d.is);
        aot_sb_addz(out, "\n");
    }
}

static void print_value(aot_sb *out, const aot_replay_value *v, bool ascii)
{
    const aot_value_stats *s = &v->stats;
    aot_dtype d = (aot_dtype)s->dtype;
    aot_sb_addz(out, "  ");
    print_type(out, s);
    if (s->n > 0 && s->n_nan + s->n_inf >= s->n) {
        aot_sb_addz(out, "  no finite element");
    } else if (s->n > 0) {
        aot_sb_addz(out, "  min ");
        print_number(out, d, s->min);
        aot_sb_addz(out, "  max ");
        print_number(out, d, s->max);
        aot_sb_addf(out, "  mean %.5g", isnan(s->mean) ? (double)NAN : s->mean);
    }
    if (s->n_nan > 0 || s->n_inf > 0) {
        aot_sb_addf(out, "  NaN %" PRId64 "  Inf %" PRId64 "  first at %" PRId64, s->n_nan,
                    s->n_inf, s->first_bad);
    }
    aot_sb_addz(out, "\n    ");
    for (unsigned i = 0; i < s->n_first; i++) {
        aot_sb_addz(out, i > 0 ? " " : "");
        print_number(out, d, s->first[i]);
        if (aot_dtype_get(d)->kind == 'c') {
            aot_sb_addf(out, "%+.5gj", s->first_imag[i]);
        }
    }
    if (s->n > s->n_first) {
        aot_sb_addz(out, " ..");
    }
    if (s->n > 1 && s->min < s->max) {
        aot_sb_addz(out, "\n    |");
        print_histogram(out, s, ascii);
        aot_sb_addz(out, "|");
    }
    aot_sb_addz(out, "\n");
    print_diff(out, "forward's", &v->forward, d);
    print_diff(out, "recorded", &v->recorded, d);
}

static void print_generator(aot_sb *out, const aot_replay_unit *u, const aot_replay_frame *f)
{
    aot_replay_drawn was = {0};
    bool known = f->draws && aot_replay_unit_drawn(u, (aot_replay_side)f->side, f->node, &was);
    if (f->draws) {
        aot_sb_addf(out, "  generator %08x at %u, then %08x at %u",
                    (unsigned)(f->before.hash >> 32), f->before.position,
                    (unsigned)(f->after.hash >> 32), f->after.position);
        if (f->n_drawn > 0) {
            aot_sb_addf(out, ": %" PRId64 " number%s of 32 bits", f->n_drawn,
                        f->n_drawn == 1 ? "" : "s");
        }
        aot_sb_addz(out, "\n");
    }
    if (f->restores) {
        aot_sb_addz(
            out,
            "  drawn from the state that the forward saved; the generator stays where it was\n");
    }
    if (known) {
        aot_sb_addf(out, "    state before: %s\n",
                    was.before == f->before.hash ? "as recorded" : "ANOTHER than recorded");
    }
    if (known && was.n != f->n_drawn) { // of MKL on Intel's processors, for one
        aot_sb_addf(out, "    when recorded it took %" PRId64 ": the stream of a vendor's library, "
                         "which is not reproduced here\n", was.n);
    }
}

void aot_replay_print_values(aot_sb *out, const aot_replay_unit *u, const aot_replay_frame *f,
                             bool ascii)
{
    for (unsigned i = 0; i < f->n_values; i++) {
        print_value(out, &f->values[i], ascii);
    }
    if (!isnan(f->number)) {
        aot_sb_addf(out, "  %.17g\n", f->number);
    }
    print_generator(out, u, f);
}

void aot_replay_print_frame(aot_sb *out, const aot_replay_unit *u, const aot_replay_frame *f,
                            bool ascii)
{
    char bytes[32];
    aot_replay_print_values(out, u, f, ascii);
    aot_sb_addf(out, "  live %s\n", aot_format_bytes(bytes, sizeof bytes, f->live_bytes));
}

void aot_replay_print_stops(aot_sb *out, const aot_replay *r, size_t frame)
{
    const char *between = "";
    for (size_t i = 0; i < aot_replay_n_breaks(r); i++) {
        if (aot_replay_holds(r, i, frame)) {
            aot_sb_addf(out, "%s%s", between, aot_replay_break_text(r, i));
            between = ", ";
        }
    }
}

/* ---- JSON
 * -------------------------------------------------------------------------------------------- */

static json_t *diff_json(const aot_replay_diff *d)
{
    if (d->with == NULL) {
        return json_null();
    }
    json_t *o = json_pack("{s:b}", "same", d->d.n == 0);
    if (d->d.n > 0) {
        json_object_set_new(o, "differ", json_integer(d->d.n));
        json_object_set_new(o, "first", json_integer(d->d.first));
        json_object_set_new(o, "was", aot_real_json(d->d.was));
        json_object_set_new(o, "is", aot_real_json(d->d.is));
    }
    return o;
}

static json_t *value_json(const aot_replay_value *v)
{
    const aot_value_stats *s = &v->stats;
    json_t *shape = json_array(), *first = json_array(), *bins = json_array();
    char hash[17];
    for (unsigned i = 0; i < s->ndim; i++) {
        json_array_append_new(shape, json_integer(s->size[i]));
    }
    for (unsigned i = 0; i < s->n_first; i++) {
        json_array_append_new(first, aot_real_json(s->first[i]));
        if (aot_dtype_get((aot_dtype)s->dtype)->kind == 'c') {
            json_array_append_new(first, aot_real_json(s->first_imag[i]));
        }
    }
    for (int i = 0; i < AOT_STATS_BINS; i++) {
        json_array_append_new(bins, json_integer(s->bins[i]));
    }
    snprintf(hash, sizeof hash, "%016" PRIx64, s->hash);
    return json_pack("{s:s, s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:o, s:o, s:s, s:o, s:o}", "dtype",
                     aot_dtype_get((aot_dtype)s->dtype)->torch_name + strlen("torch."), "shape",
                     shape, "min", aot_real_json(s->min), "max", aot_real_json(s->max), "mean",
                     aot_real_json(s->mean), "nan", (json_int_t)s->n_nan, "inf",
                     (json_int_t)s->n_inf, "zero", (json_int_t)s->n_zero, "first", first,
                     "histogram", bins, "hash", hash, "forward", diff_json(&v->forward), "recorded",
                     diff_json(&v->recorded));
}

static json_t *mark_json(const aot_rng_mark *m)
{
    char hash[17];
    snprintf(hash, sizeof hash, "%016" PRIx64, m->hash);
    return json_pack("{s:s, s:i}", "hash", hash, "position", (int)m->position);
}

json_t *aot_replay_frame_json(const aot_replay_unit *u, size_t frame)
{
    const aot_replay *r = replay_of(u);
    const aot_replay_frame *f = aot_replay_frame_at(r, frame);
    const aot_graph *g = f->graph;
    char source[300];
    json_t *values = json_array(), *stops = json_array(), *generator = json_null();
    for (unsigned i = 0; i < f->n_values; i++) {
        json_array_append_new(values, value_json(&f->values[i]));
    }
    for (size_t i = 0; i < aot_replay_n_breaks(r); i++) {
        if (aot_replay_holds(r, i, frame)) {
            json_array_append_new(stops, json_string(aot_replay_break_text(r, i)));
        }
    }
    if (f->draws) {
        aot_replay_drawn was = {0};
        bool known = aot_replay_unit_drawn(u, (aot_replay_side)f->side, f->node, &was);
        generator = json_pack("{s:o, s:o, s:I, s:o}", "before", mark_json(&f->before), "after",
                              mark_json(&f->after), "drawn", (json_int_t)f->n_drawn, "as_recorded",
                              known ? json_boolean(was.before == f->before.hash) : json_null());
    }
    json_t *o = json_pack("{s:I, s:s, s:s, s:s, s:s}", "step", (json_int_t)frame, "side",
                          side_name(u, f), "node", f->name, "op",
                          f->is_input ? "input" : aot_node_target(g, f->node), "source",
                          aot_format_source(source, sizeof source, g, f->node));
    json_object_set_new(o, "values", values);
    json_object_set_new(o, "number", isnan(f->number) ? json_null() : aot_real_json(f->number));
    json_object_set_new(o, "live_bytes", json_integer(f->live_bytes));
    json_object_set_new(o, "generator", generator);
    json_object_set_new(o, "stops", stops);
    return o;
}

/* ---- the whole
 * ------------------------------------------------------------------------------------------ */

void aot_replay_sum_up(aot_replay_sum *out, const aot_replay_unit *u)
{
    const aot_replay *r = replay_of(u);
    *out = (aot_replay_sum){0};
    for (size_t i = 0; i < aot_replay_n(r); i++) {
        const aot_replay_frame *f = aot_replay_frame_at(r, i);
        out->n_nodes += !f->is_input;
        out->n_draws += f->draws || f->restores;
        if (f->live_bytes > out->peak_bytes[f->side]) {
            out->peak_bytes[f->side] = f->live_bytes;
            out->peak_at[f->side] = i;
        }
        for (unsigned k = 0; k < f->n_values; k++) {
            const aot_replay_value *v = &f->values[k];
            bool again = v->forward.with != NULL, differs = again && v->forward.d.n != 0;
            out->n_recorded += v->recorded.with != NULL;
            out->n_recorded_differ += v->recorded.with != NULL && v->recorded.d.n != 0;
            out->n_again += again;
            out->n_again_differ += differs;
        }
    }
}

static void print_peak(aot_sb *out, const aot_replay_unit *u, const aot_replay_sum *x,
                       aot_replay_side side)
{
    char bytes[32];
    if (aot_replay_unit_graph(u, side) != NULL && x->peak_bytes[side] > 0) {
        const aot_replay *r = replay_of(u);
        const aot_replay_frame *f = aot_replay_frame_at(r, x->peak_at[side]);
        aot_sb_addf(out, "  %s: peak %s at %s\n", side_name(u, f),
                    aot_format_bytes(bytes, sizeof bytes, x->peak_bytes[side]),
                    aot_replay_name(r, f));
    }
}

void aot_replay_print_sum(aot_sb *out, const aot_replay_unit *u)
{
    aot_replay_sum x;
    aot_replay_sum_up(&x, u);
    aot_sb_addf(out, "ran %zu node%s, %zu of them drew random numbers\n", x.n_nodes,
                x.n_nodes == 1 ? "" : "s", x.n_draws);
    print_peak(out, u, &x, AOT_REPLAY_FORWARD);
    print_peak(out, u, &x, AOT_REPLAY_BACKWARD);
    if (x.n_recorded > 0) {
        aot_sb_addf(out, "  %zu value%s compared with the recorded run: %zu differ\n", x.n_recorded,
                    x.n_recorded == 1 ? "" : "s", x.n_recorded_differ);
    }
    if (x.n_again > 0) {
        aot_sb_addf(out,
                    "  %zu value%s computed again in the backward: %zu differ from the forward's\n",
                    x.n_again, x.n_again == 1 ? "" : "s", x.n_again_differ);
    }
}

json_t *aot_replay_sum_json(const aot_replay_unit *u)
{
    aot_replay_sum x;
    aot_replay_sum_up(&x, u);
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "nodes", (json_int_t)x.n_nodes,
                     "draws", (json_int_t)x.n_draws, "forward_peak",
                     (json_int_t)x.peak_bytes[AOT_REPLAY_FORWARD], "backward_peak",
                     (json_int_t)x.peak_bytes[AOT_REPLAY_BACKWARD], "recorded",
                     (json_int_t)x.n_recorded, "recorded_differ", (json_int_t)x.n_recorded_differ,
                     "again", (json_int_t)x.n_again, "again_differ", (json_int_t)x.n_again_differ);
}
