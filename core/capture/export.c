/* The graph signature of the export path: what inputs and outputs are.
 *
 *     L_self_buffers_c_  ->  b_c: BUFFER target='c' persistent=True
 *     its new value      ->  BUFFER_MUTATION target='c'
 *
 * Mirrors torch/export/_trace.py:_export_to_aten_ir,
 * torch/_export/utils.py:placeholder_naming_pass. */
#include <string.h>

#include "capture/internal.h"

/* Parameters, buffers, constants, what the user gives. */
static unsigned rank_of(const char *signature)
{
    static const char *const order[] = {"PARAMETER", "BUFFER", "CONSTANT_TENSOR", "CUSTOM_OBJ"};
    unsigned i = 0, n = sizeof order / sizeof *order;
    while (signature != NULL && i < n && strncmp(signature, order[i], strlen(order[i])) != 0) {
        i++;
    }
    return signature == NULL ? n : i;
}

void cap_plan_export(input_plan *p, const aot_capture_in *in, aot_arena *a)
{
    inner_input *sorted = AOT_NEW_ARRAY(a, inner_input, p->n_inner + 1);
    unsigned n = 0;
    for (unsigned rank = 0; rank <= 4; rank++) {
        for (unsigned i = 0; i < p->n_inner; i++) {
            const aot_capture_input *x = &in->inputs[i];
            if ((in->from_export ? 0 : rank_of(x->signature)) != rank) {
                continue;
            }
            sorted[n] = p->inner[i];
            sorted[n].requires_grad = false;
            sorted[n].name = x->export_name != NULL ? x->export_name
                                                    : aot_text(in->dynamo->ctx, p->outer[i].name);
            sorted[n].desc = x->signature != NULL ? x->signature : "USER_INPUT";
            p->outer[i].inner = n++;
        }
    }
    p->inner = sorted;
}

const char *cap_export_mutation(const inner_input *x, aot_arena *a)
{
    const char *kind = x->desc, *target = strstr(kind, " target='");
    if (target == NULL) {
        return aot_arena_printf(a, "USER_INPUT_MUTATION target='%s'", x->name);
    }
    const char *end = strchr(target + strlen(" target='"), '\'');
    int n = end != NULL ? (int)(end + 1 - target) : (int)strlen(target);
    return aot_arena_printf(a, "%.*s_MUTATION%.*s", (int)(target - kind), kind, n, target);
}
