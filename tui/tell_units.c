/* Opens, tells of each unit, adds up: what commands about findings of one kind share. */
#include "tui/tell_units.h"

int aot_cmd_tell_units(const aot_args *a, const aot_telling_ops *ops)
{
    aot_telling t = {.list = aot_args_has(a, "json") ? json_array() : NULL};
    aot_model *m = NULL;
    aot_err err = {0};
    size_t first = 0, end = 0;
    aot_status s = aot_cmd_open_units(&m, &first, &end, a, &err);
    t.n_units = end - first;
    for (size_t i = first; i < end && s == AOT_OK; i++) {
        ops->unit(&t, m, i);
    }
    if (s == AOT_OK && t.list != NULL) {
        json_t *o = aot_cmd_json();
        json_object_set(o, "units", t.list);
        json_object_set_new(o, ops->wrong, json_integer(t.n_wrong));
        aot_cmd_print_json(o);
    } else if (s == AOT_OK) {
        ops->total(&t);
    }
    json_decref(t.list);
    aot_model_free(m);
    return s != AOT_OK       ? aot_cmd_fail(&err)
           : t.n_failed != 0 ? AOT_EXIT_ERROR
           : t.n_wrong != 0  ? AOT_EXIT_DIFFERS
                             : AOT_EXIT_SAME;
}
