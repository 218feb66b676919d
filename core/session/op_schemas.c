/* Schemas of custom operators: what a unit states of them, and what its recorded graphs show. */
#include "session/derive.h"

#include <string.h>

/* auto_functionalized_v2(torch.ops.NS.NAME.default, a = 2.0, _x_base_index = 0, _all_bases = [..])
 * names the arguments that are read and those that are written. Their order is that of the schema
 * but for the written ones, which are taken to come first. What it returns is for the Dynamo graph to
 * say. NULL if the text is something else. */
static const char *schema_of_use(const char *p, aot_arena *a)
{
    static const char ops[] = "torch.ops.", base[] = "_base_index";
    const char *end = strchr(p, '\n'), *open = strstr(p, ops);
    if (end == NULL || open == NULL || open > end) {
        return NULL;
    }
    open += strlen(ops);
    const char *comma = strchr(open, ','), *dot = strchr(open, '.');
    if (comma == NULL || comma > end || dot == NULL || dot > comma) {
        return NULL;
    }
    const char *stop = comma;
    if (comma - open > 8 && strncmp(comma - 8, ".default", 8) == 0) {
        stop = comma - 8;
    }
    aot_sb written = {0}, read = {0};
    for (const char *q = comma; q != NULL && q < end; q = strstr(q + 1, ", ")) {
        const char *name = q + 2, *eq = strstr(name, " = ");
        size_t n = eq != NULL && eq < end ? (size_t)(eq - name) : 0;
        if (n == 0 || memchr(name, '[', n) != NULL || memchr(name, '(', n) != NULL) {
            continue;
        }
        if (name[0] != '_') {
            aot_sb_addf(&read, "%sAny %.*s", read.n != 0 ? ", " : "", (int)n, name);
        } else if (n > sizeof base && strncmp(eq - strlen(base), base, strlen(base)) == 0) {
            aot_sb_addf(&written, "%sTensor(%c!) %.*s", written.n != 0 ? ", " : "",
                        'a' + (int)(written.n % 26), (int)(n - 1 - strlen(base)), name + 1);
        }
    }
    const char *schema = NULL;
    if (written.n != 0) {
        schema = aot_arena_printf(a, "%.*s::%.*s(%s%s%s) -> Any", (int)(dot - open), open,
                                  (int)(stop - dot - 1), dot + 1, aot_sb_text(&written),
                                  read.n != 0 ? ", " : "", aot_sb_text(&read));
    }
    aot_sb_free(&written);
    aot_sb_free(&read);
    return schema;
}

static void learn_schemas(const aot_unit *u, aot_stage s, aot_arena *a, const char **list,
                          unsigned *n, unsigned most)
{
    static const char use[] = "auto_functionalized_v2(";
    const aot_record *r = aot_unit_stage(u, s);
    const char *p = r != NULL ? r->text : NULL;
    while (p != NULL && *n < most && (p = strstr(p, use)) != NULL) {
        p += strlen(use);
        const char *schema = schema_of_use(p, a);
        if (schema != NULL) {
            list[(*n)++] = schema;
        }
    }
}

enum { MAX_LEARNED = 64 };

/* Custom operators' schemas: those that are stated, then what the recorded graphs show of mutating
 * ones. */
const char *const *aot_unit_op_schemas(const aot_unit *u, aot_arena *a, unsigned *n)
{
    const char **list = AOT_NEW_ARRAY(a, const char *, u->records.n + MAX_LEARNED + 1);
    *n = 0;
    for (size_t i = 0; i < u->records.n; i++) {
        const aot_record *r = &u->records.d[i];
        if (strcmp(r->name, "aotscope_op_schema") == 0 && r->text != NULL) {
            list[(*n)++] = r->text;
        }
    }
    learn_schemas(u, AOT_STAGE_JOINT, a, list, n, *n + MAX_LEARNED / 2);
    learn_schemas(u, AOT_STAGE_INFERENCE, a, list, n, *n + MAX_LEARNED / 2);
    return list;
}
