/* A unit of the model as what a viewer is given: graph, partition, modules, or why the cut is
 * infinite. */
#include "tui/export_in.h"

#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "partition/select.h"

const char *aot_export_title(char *buf, size_t size, const aot_unit *u)
{
    char label[96];
    snprintf(buf, size, "%s  %s  %s",
             u->input ? aot_file_name(u->input) : "",
             aot_unit_label(&u->key, label, sizeof label), u->title ? u->title : "");
    return buf;
}

aot_stage aot_export_stage(aot_model *m, size_t unit)
{
    static const aot_stage order[] = {AOT_STAGE_JOINT, AOT_STAGE_EXPORT, AOT_STAGE_INFERENCE,
                                      AOT_STAGE_FORWARD, AOT_STAGE_DYNAMO};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        if (aot_model_stage(m, unit, order[i]).origin != AOT_ORIGIN_MISSING) {
            return order[i];
        }
    }
    return AOT_STAGE_JOINT;
}

static void find_modules(aot_draw_in *in, const aot_unit *u)
{
    in->modules = aot_unit_modules(u, in->part->cut, in->part, u->arena);
}

aot_status aot_export_in(aot_draw_in *in, aot_model *m, size_t unit, const aot_viewer *v,
                         aot_stage stage, aot_err *err)
{
    aot_err cut_err = {0};
    aot_status cut = aot_model_partition(m, unit, &in->part, &cut_err);
    const aot_unit *u = aot_model_unit(m, unit);
    in->unit = (int)unit;
    in->model = m;
    in->stage = aot_stage_get(stage)->name;
    if (cut == AOT_OK) {
        find_modules(in, u);
    } else {
        in->part = NULL;
        in->infinite = cut == AOT_E_UNBOUNDED
                           ? aot_arena_strndup(u->arena, cut_err.msg, strlen(cut_err.msg))
                           : NULL;
    }
    if (strcmp(v->draws, "partition") == 0) {
        if (in->infinite &&
            strcmp(v->name, "mincut") == 0) { // drawn as its chain, from the joint graph
            return aot_model_graph(m, unit, AOT_STAGE_JOINT, &in->graph, err);
        }
        if (cut != AOT_OK && err) {
            *err = cut_err;
        }
        return cut;
    }
    bool of_cut = stage >= AOT_STAGE_JOINT && stage <= AOT_STAGE_BACKWARD;
    in->part = of_cut ? in->part : NULL;
    in->side = stage == AOT_STAGE_FORWARD ? 'F' : stage == AOT_STAGE_BACKWARD ? 'B' : 0;
    return aot_model_graph(m, unit, stage, &in->graph, err);
}
