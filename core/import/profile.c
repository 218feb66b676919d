/* Spans from begin and end events, and the phase of each.
 *
 * Events of one compile nest as calls do: a begin is pushed, an end closes the newest span of its
 * name (with what was left open inside). A span's own time is what the spans in it do not take; it
 * goes to the span's phase, so phases add up to the whole:
 *
 *   dynamo [ backend_compile [ aot_trace_joint_graph [ ] min_cut_.. [ ] ] build_guards [ ] ]
 *
 * Mirrors: torch/_dynamo/utils.py:ChromiumEventLogger, CompilationMetrics (the writers). */
#include "import/profile.h"

#include <stdlib.h>
#include <string.h>

#include "import/json_scan.h"

static const aot_phase_info phases[] = {
#define PHASE(id, title, sentence) {title, sentence},
#include "import/phases.def"
};

static const struct {
    aot_phase phase;
    const char *name;
} events[] = {
#define EVENT(phase, name) {AOT_PHASE_##phase, name},
#include "import/phases.def"
};

const aot_phase_info *aot_phase_get(aot_phase p)
{
    return &phases[p];
}

static aot_phase phase_of(const char *name, aot_phase around)
{
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        size_t n = strlen(events[i].name);
        bool begins = events[i].name[n - 1] == '*';
        if (begins ? strncmp(events[i].name, name, n - 1) == 0
                   : strcmp(events[i].name, name) == 0) {
            return events[i].phase;
        }
    }
    return around;
}

aot_profile *aot_profile_new(void)
{
    aot_profile *p = aot_xcalloc(1, sizeof *p);
    p->arena = aot_arena_new();
    return p;
}

void aot_profile_free(aot_profile *p)
{
    if (p == NULL) {
        return;
    }
    aot_vec_free(&p->spans);
    aot_vec_free(&p->cache);
    aot_vec_free(&p->stack);
    aot_arena_free(p->arena);
    free(p);
}

/* ---- events ---------------------------------------------------------------------------------- */

static void begin(aot_profile *p, const char *name, double at)
{
    int parent = p->stack.n > 0 ? p->stack.d[p->stack.n - 1] : -1;
    aot_time_span s = {.name = name, .start = at, .seconds = -1, .parent = parent, .open = true};
    s.depth = parent >= 0 ? p->spans.d[parent].depth + 1 : 0;
    s.phase = phase_of(name, parent >= 0 ? p->spans.d[parent].phase : AOT_PHASE_OTHER);
    aot_vec_push(&p->stack, (int)p->spans.n);
    aot_vec_push(&p->spans, s);
}

static void end(aot_profile *p, const char *name, double at)
{
    size_t k = p->stack.n;
    while (k > 0 && strcmp(p->spans.d[p->stack.d[k - 1]].name, name) != 0) {
        k--;
    }
    if (k == 0) { // its begin is not in the log
        return;
    }
    for (size_t i = p->stack.n; i >= k; i--) {
        aot_time_span *s = &p->spans.d[p->stack.d[i - 1]];
        s->seconds = at > s->start ? at - s->start : 0;
        s->open = i > k;
    }
    p->stack.n = k - 1;
}

static void add_event(aot_profile *p, aot_slice json)
{
    aot_json_iter it;
    aot_slice key, value, name = {NULL, 0}, ph = {NULL, 0};
    double ts = -1, dur = 0;
    aot_json_begin(&it, json);
    while (aot_json_next(&it, &key, &value)) {
        if (aot_slice_is(key, "name")) {
            name = value;
        } else if (aot_slice_is(key, "ph")) {
            ph = value;
        } else if (aot_slice_is(key, "ts")) {
            ts = aot_json_double(value, -1);
        } else if (aot_slice_is(key, "dur")) {
            dur = aot_json_double(value, 0);
        }
    }
    const char *text = name.s != NULL ? aot_json_text(p->arena, name) : NULL;
    if (text == NULL || ph.n != 3 || !(ts >= 0) || ts > 1e18) {
        return;
    }
    p->first = p->spans.n == 0 && p->cache.n == 0 ? ts : p->first;
    p->last = ts > p->last ? ts : p->last;
    switch (ph.s[1]) {
    case 'B':
        begin(p, text, ts);
        break;
    case 'E':
        end(p, text, ts);
        break;
    case 'X':
        begin(p, text, ts);
        end(p, text, ts + dur);
        p->last = ts + dur > p->last ? ts + dur : p->last;
        break;
    case 'i':
        if (strstr(text, "cache") != NULL) {
            aot_vec_push(&p->cache, text);
        }
        break;
    default:
        break;
    }
}

/* ---- totals ---------------------------------------------------------------------------------- */

/* A total in seconds: newer versions log microseconds, older ones seconds. */
static double metric(aot_slice m, const char *us, const char *s)
{
    double v = aot_json_double(aot_json_get(m, us), -1) * 1e-6;
    v = v >= 0 ? v : aot_json_double(aot_json_get(m, s), 0);
    return v >= 0 && v < 1e9 ? v : 0;
}

static double without(double whole, double part)
{
    return whole > part ? whole - part : 0;
}

static void add_metrics(aot_profile *p, aot_slice m)
{
    double all = metric(m, "dynamo_cumulative_compile_time_us", "entire_frame_compile_time_s");
    double compiler =
        metric(m, "aot_autograd_cumulative_compile_time_us", "backend_compile_time_s");
    double inductor = metric(m, "inductor_cumulative_compile_time_us", "inductor_compile_time_s");
    double joint = metric(m, "joint_graph_pass_time_us", "");
    p->metrics[AOT_PHASE_DYNAMO] += without(all, compiler);
    p->metrics[AOT_PHASE_AOT] += without(compiler, inductor + joint);
    p->metrics[AOT_PHASE_JOINT] += joint;
    p->metrics[AOT_PHASE_BACKEND] += inductor;
    p->has_metrics = p->has_metrics || all + compiler + inductor > 0;
}

void aot_profile_add(aot_profile *p, const aot_record *r)
{
    if (strcmp(r->name, "chromium_event") == 0 && r->text != NULL) {
        add_event(p, (aot_slice){r->text, r->len});
    } else if ((strcmp(r->name, "compilation_metrics") == 0 ||
                strcmp(r->name, "bwd_compilation_metrics") == 0) &&
               r->meta != NULL) {
        add_metrics(p, (aot_slice){r->meta, strlen(r->meta)});
    }
}

void aot_profile_finish(aot_profile *p)
{
    for (size_t i = 0; i < p->stack.n; i++) {
        aot_time_span *s = &p->spans.d[p->stack.d[i]];
        s->seconds = p->last > s->start ? p->last - s->start : 0;
    }
    p->stack.n = 0;
    for (size_t i = 0; i < p->spans.n; i++) {
        aot_time_span *s = &p->spans.d[i];
        s->start = (s->start - p->first) * 1e-6;
        s->seconds *= 1e-6;
        s->self = s->seconds;
        if (s->parent >= 0) {
            aot_time_span *around = &p->spans.d[s->parent];
            around->self = without(around->self, s->seconds);
        }
    }
    for (size_t i = 0; i < p->spans.n; i++) {
        p->seconds[p->spans.d[i].phase] += p->spans.d[i].self;
    }
    p->source = p->spans.n > 0   ? AOT_PROFILE_EVENTS
                : p->has_metrics ? AOT_PROFILE_METRICS
                                 : AOT_PROFILE_NONE;
    for (int k = 0; k < AOT_N_PHASES; k++) {
        p->seconds[k] = p->source == AOT_PROFILE_METRICS ? p->metrics[k] : p->seconds[k];
        p->total += p->seconds[k];
    }
}

bool aot_profile_takes(const aot_record *r)
{
    return strcmp(r->name, "chromium_event") == 0 ||
           strstr(r->name, "compilation_metrics") != NULL;
}

double aot_profile_unit_seconds(const aot_unit *u)
{
    aot_profile *p = aot_profile_new();
    for (size_t i = 0; i < u->records.n; i++) {
        aot_profile_add(p, &u->records.d[i]);
    }
    aot_profile_finish(p);
    double seconds = p->source != AOT_PROFILE_NONE ? p->total : -1;
    aot_profile_free(p);
    return seconds;
}
