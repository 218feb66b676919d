/* The runtime stage of a unit: how it is called, from the Dynamo graph or else from what was
 * logged. */
#include <string.h>

#include "import/fw_metadata.h"
#include "runtime/cut.h"
#include "session/derive.h"

/* Without a Dynamo graph: the logged metadata says what the wrappers do to the graph's inputs. */
static const aot_calling *logged_calling(const aot_unit *u, aot_arena *a)
{
    aot_calling *c = AOT_NEW(a, aot_calling);
    c->path = strcmp(aot_unit_path(u), "inference") == 0 ? AOT_PATH_INFERENCE : AOT_PATH_AUTOGRAD;
    c->path_reason = "as the recorded graphs show";
    bool read = u->fw_metadata != NULL &&
                aot_fw_metadata_parse(&c->meta, a, u->fw_metadata, strlen(u->fw_metadata));
    return read ? c : NULL;
}

/* What was on outside of the graph when it was traced, as logged. */
static void take_mode(aot_fw_metadata *m, const aot_unit *u, aot_arena *a)
{
    const uint64_t bit = (uint64_t)1 << AOT_META_deterministic;
    aot_fw_metadata logged;
    if (u->fw_metadata != NULL &&
        aot_fw_metadata_parse(&logged, a, u->fw_metadata, strlen(u->fw_metadata)) &&
        (logged.absent & bit) == 0) {
        m->deterministic = logged.deterministic;
        m->absent &= ~bit;
    }
}

static void add_facts(aot_runtime *r, const aot_unit *u, const aot_config *config)
{
    aot_arena *a = r->arena;
    aot_config *kept = AOT_NEW(a, aot_config);
    const char **sources = AOT_NEW_ARRAY(a, const char *, u->inputs.n + 1);
    unsigned n = 0;
    *kept = *config;
    for (size_t i = 0; i < u->inputs.n; i++) {
        const char *source = u->inputs.d[i].source;
        if (source != NULL && source[0] != 0) { // inner tensors of a subclass have none
            sources[n++] = source;
        }
    }
    r->of = (aot_config_of){.config = kept,
                            .calling = r->calling,
                            .backend = u->backend != NULL ? u->backend : "",
                            .cache = u->cache,
                            .sources = sources,
                            .n_sources = n,
                            .n_symbols = (unsigned)u->symbols.n,
                            .aot_id = u->aot_id,
                            .decompose = aot_unit_decomposes(u, config)};
    r->functionalize_rng = json_is_true(json_object_get(u->config, "functionalize_rng_ops"));
}

aot_status aot_derive_runtime(aot_runtime **out, const aot_unit *u, const aot_calling *calling,
                              const aot_partition *partition, const aot_config *config,
                              aot_arena *a, aot_err *err)
{
    const aot_calling *from = calling != NULL ? calling : logged_calling(u, a);
    if (from == NULL) {
        return AOT_FAIL(err, AOT_E_PIPELINE, "no runtime stage: %s",
                        aot_stage_get(AOT_STAGE_RUNTIME)->how_to_get);
    }
    aot_runtime *r = AOT_NEW(a, aot_runtime);
    aot_calling *c = AOT_NEW(a, aot_calling);
    *c = *from;
    r->calling = c;
    r->arena = a;
    if (partition != NULL && c->path == AOT_PATH_AUTOGRAD) {
        aot_metadata_cut(&c->meta, partition, a);
    }
    if (calling != NULL) {
        take_mode(&c->meta, u, a);
    }
    add_facts(r, u, config);
    c->meta.is_rng_op_functionalized = r->functionalize_rng;
    aot_runtime_describe(r);
    *out = r;
    return AOT_OK;
}
