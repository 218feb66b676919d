/* Values of AOTConfig's fields. */
#include "runtime/aotconfig.h"

#include <string.h>

static const char *boolean(bool b)
{
    return b ? "True" : "False";
}

static bool is_export(const aot_config_of *c)
{
    return c->calling->path == AOT_PATH_EXPORT;
}

static bool from_dynamo(const aot_config_of *c)
{
    return c->calling->outer != NULL && !is_export(c);
}

static const char *compiler(const aot_config_of *c)
{
    return strcmp(c->config->backend, "auto") != 0 ? c->config->backend
           : c->backend[0] != 0                    ? c->backend
                                                   : "unknown";
}

static const char *partitioner(const aot_config_of *c)
{
    return strcmp(c->config->partitioner, "default_partition") == 0
               ? "default_partition"
               : "min_cut_rematerialization_partition";
}

static const char *sources(const aot_config_of *c, aot_arena *a)
{
    aot_sb b = {0};
    aot_sb_addc(&b, '[');
    for (unsigned i = 0; i < c->n_sources; i++) {
        aot_sb_addf(&b, "%s%s", i > 0 ? ", " : "", c->sources[i]);
    }
    aot_sb_addc(&b, ']');
    const char *text = c->n_sources == 0 ? "unknown" : aot_arena_strndup(a, aot_sb_text(&b), b.n);
    aot_sb_free(&b);
    return text;
}

static const char *statics(const aot_config_of *c, aot_arena *a)
{
    aot_sb b = {0};
    aot_meta_print(&b, &c->calling->meta, AOT_META_static_input_indices);
    const char *text = aot_arena_strndup(a, aot_sb_text(&b), b.n);
    aot_sb_free(&b);
    return text;
}

#define AOTCONFIG(name, value, setting, sentence)                                                  \
    static const char *get_##name(const aot_config_of *c, aot_arena *a)                            \
    {                                                                                              \
        (void)c;                                                                                   \
        (void)a;                                                                                   \
        return value;                                                                              \
    }
#include "runtime/aotconfig.def"
#undef AOTCONFIG

static const struct {
    aot_config_field field;
    const char *(*get)(const aot_config_of *c, aot_arena *a);
} fields[] = {
#define AOTCONFIG(name, value, setting, sentence) {{#name, setting, sentence}, get_##name},
#include "runtime/aotconfig.def"
#undef AOTCONFIG
};

size_t aot_config_field_count(void)
{
    return sizeof fields / sizeof *fields;
}

const aot_config_field *aot_config_field_at(size_t i)
{
    return &fields[i].field;
}

const char *aot_config_field_value(size_t i, const aot_config_of *c, aot_arena *a)
{
    return fields[i].get(c, a);
}
