/* Differences that are no fault of aotscope: known_differences.def. Above all the rules of another
 * PyTorch, so this also finds out which one wrote a unit: by the version that a trace records, by
 * what only newer ones print, by the places in PyTorch's source that lines of TORCH_LOGS name. */
#include "session/check.h"

#include <ctype.h>
#include <jansson.h>
#include <string.h>

#include "session/model.h"

/* ---- the writer ------------------------------------------------------------------------------ */

typedef enum writer { WRITER_2_11, WRITER_OTHER, WRITER_UNKNOWN } writer;

static bool is_known_place(const char *place)
{
    static const char *const places[] = {
#define LOG_PLACE(place) place,
#include "session/log_places.def"
#undef LOG_PLACE
    };
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (strcmp(place, places[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* By the places that logged the unit's graphs; *other: one that is not of 2.11. */
static writer writer_by_place(const aot_unit *u, const char **other, aot_arena *a)
{
    writer w = WRITER_UNKNOWN;
    for (size_t i = 0; i < u->records.n && w != WRITER_OTHER; i++) {
        const aot_record *r = &u->records.d[i];
        if (r->stage >= AOT_N_STAGES || r->meta == NULL) {
            continue;
        }
        json_t *meta = json_loads(r->meta, 0, NULL);
        const char *place = json_string_value(json_object_get(meta, "place"));
        if (place != NULL) {
            w = is_known_place(place) ? WRITER_2_11 : WRITER_OTHER;
            *other = aot_arena_strndup(a, place, strlen(place));
        }
        json_decref(meta);
    }
    return w;
}

/* *text: one sentence; NULL for 2.11. */
static writer writer_of(const aot_unit *u, const aot_graph *recorded, const char **text,
                        aot_arena *a)
{
    const char *v = u->torch_version != NULL ? u->torch_version : "", *place = "";
    *text = NULL;
    if (v[0] != 0) {
        if (aot_starts_with(v, "2.11") && !isdigit((unsigned char)v[4])) {
            return WRITER_2_11;
        }
        *text = aot_arena_printf(
            a, "written by PyTorch %s; aotscope follows the rules of 2.11, which differ", v);
        return WRITER_OTHER;
    }
    if (aot_unit_record(u, "dynamo_start") != NULL && recorded->out_descs.n == 0) {
        *text = "written by a PyTorch before 2.9 (outputs have no descriptors); aotscope follows "
                "the rules of 2.11, which differ";
        return WRITER_OTHER;
    }
    writer w = writer_by_place(u, &place, a);
    if (w == WRITER_OTHER) {
        *text =
            aot_arena_printf(a,
                             "written by another PyTorch than 2.11 (which logs no graph at %s); "
                             "aotscope follows the rules of 2.11, which differ",
                             place);
    } else if (w == WRITER_UNKNOWN) {
        *text =
            "the input does not say which PyTorch wrote it; aotscope follows the rules of 2.11, "
            "other versions have others";
    }
    return w;
}

const char *aot_check_other_rules(const aot_unit *u, const aot_graph *recorded, aot_arena *a)
{
    const char *text;
    (void)writer_of(u, recorded, &text, a);
    return text;
}

/* ---- the kinds: NULL, or why it is one ------------------------------------------------------- */

typedef struct difference {
    const aot_unit *u;
    const aot_graph *recorded, *dynamo;
    const char *reason; /* the row's */
    aot_arena *a;
} difference;

static const char *known_other_version(const difference *d)
{
    const char *text;
    return writer_of(d->u, d->recorded, &text, d->a) == WRITER_OTHER ? text : NULL;
}

static const char *known_unsaid_gradients(const difference *d)
{
    return aot_gradients_unsaid(d->u, d->dynamo) ? d->reason : NULL;
}

/* The recorded modules call halves of bodies, which PyTorch names so, where the joint graph calls
 * whole ones. */
static const char *known_bodies_cut_apart(const difference *d)
{
    const aot_record *joint = aot_unit_stage(d->u, AOT_STAGE_JOINT);
    bool bodies = joint != NULL && joint->text != NULL &&
                  strstr(joint->text, "higher_order.invoke_subgraph(") != NULL;
    bool halves = false;
    for (int s = AOT_STAGE_FORWARD; bodies && s <= AOT_STAGE_BACKWARD; s++) {
        const aot_record *r = aot_unit_stage(d->u, (aot_stage)s);
        halves |= r != NULL && r->text != NULL &&
                  (strstr(r->text, "self.partitioned_fw_") != NULL ||
                   strstr(r->text, "self.partitioned_bw_") != NULL);
    }
    return halves ? d->reason : NULL;
}

const char *aot_check_known(const aot_unit *u, aot_stage stage, const aot_graph *recorded,
                            const aot_graph *dynamo, aot_arena *a)
{
    enum { ANY, TRACED, CUT };
    bool cut =
        stage == AOT_STAGE_FORWARD || stage == AOT_STAGE_BACKWARD || stage == AOT_STAGE_RUNTIME;
    static const struct {
        const char *(*of)(const difference *d);
        int when;
        const char *reason;
    } kinds[] = {
#define KNOWN(name, when, reason) {known_##name, when, reason},
#include "session/known_differences.def"
#undef KNOWN
    };
    const char *why = NULL;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && why == NULL; i++) {
        difference d = {
            .u = u, .recorded = recorded, .dynamo = dynamo, .reason = kinds[i].reason, .a = a};
        bool asked = kinds[i].when == ANY || (kinds[i].when == TRACED ? dynamo != NULL : cut);
        why = asked ? kinds[i].of(&d) : NULL;
    }
    return why;
}
