/* ViewAndMutationMeta and what PyTorch computes from it, against the object that PyTorch 2.11 gave
 * its runtime wrapper. fixtures/runtime/metadata.json has one object for each unit of trace.log.gz,
 * in order; every field that it names must have that value. One TAP line a unit. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session/model.h"

/* Of the derived objects in a list (input_info), only the keys that are expected are compared. */
static json_t *like(const json_t *derived, json_t *expected)
{
    json_t *list = json_array(), *want;
    size_t i;
    if (!json_is_array(expected) || !json_is_object(json_array_get(expected, 0))) {
        json_decref(list);
        return json_incref((json_t *)(uintptr_t)derived);
    }
    json_array_foreach(expected, i, want) {
        json_t *o = json_object(), *value;
        const char *key;
        json_object_foreach(want, key, value) {
            json_t *v = json_object_get(json_array_get(derived, i), key);
            json_object_set(o, key, v != NULL ? v : json_null());
        }
        json_array_append_new(list, o);
    }
    return list;
}

static bool same_fields(const aot_runtime *r, json_t *expected)
{
    json_t *fields = aot_meta_json(&r->calling->meta), *value;
    const char *key;
    bool same = true;
    json_object_foreach(expected, key, value) {
        json_t *derived = json_object_get(fields, key);
        if (strcmp(key, "unit") == 0) {
            continue;
        }
        json_t *mine = derived != NULL ? like(derived, value) : json_string("absent");
        if (!json_equal(mine, value)) {
            char *want = json_dumps(value, JSON_ENCODE_ANY),
                 *got = json_dumps(mine, JSON_ENCODE_ANY);
            printf("# %s: want %s, got %s\n", key, want, got);
            free(want);
            free(got);
            same = false;
        }
        json_decref(mine);
    }
    json_decref(fields);
    return same;
}

int main(void)
{
    char log[2048], path[2048];
    const char *fixtures = getenv("AOT_FIXTURES");
    fixtures = fixtures != NULL ? fixtures : "fixtures";
    snprintf(log, sizeof log, "%s/runtime/trace.log.gz", fixtures);
    snprintf(path, sizeof path, "%s/runtime/metadata.json", fixtures);
    json_t *expected = json_load_file(path, 0, NULL);
    const char *inputs[] = {log};
    aot_model *m = NULL;
    aot_err err = {0};
    if (expected == NULL || aot_model_open(&m, inputs, 1, NULL, &err) != AOT_OK) {
        printf("Bail out! %s\n", err.msg);
        return 1;
    }
    size_t n = json_array_size(expected), n_failed = 0;
    printf("1..%zu\n", n);
    for (size_t i = 0; i < n; i++) {
        json_t *want = json_array_get(expected, i);
        const aot_runtime *r = NULL;
        bool ok = i < aot_model_n_units(m) && aot_model_runtime(m, i, &r, &err) == AOT_OK &&
                  same_fields(r, want);
        n_failed += !ok;
        printf("%sok %zu - %s\n", ok ? "" : "not ", i + 1,
               json_string_value(json_object_get(want, "unit")));
    }
    json_decref(expected);
    aot_model_free(m);
    return n_failed != 0;
}
