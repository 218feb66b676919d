/* A run of one tool: its rules from findings.def, a result each finding. */
#include "tui/sarif.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "lint/lint.h"

/* ---- places ---------------------------------------------------------------------------------- */

typedef struct folders {
    char here[PATH_MAX];   /* the working directory with a slash behind it; "" unknown */
    char common[PATH_MAX]; /* of all absolute paths elsewhere, as far as their last common slash */
    bool any;
} folders;

/* Where a finding is: its source, else its graph in the input; NULL where that is a pipe. */
static const char *place_of(const json_t *finding, json_int_t *line)
{
    const char *file = json_string_value(json_object_get(finding, "file"));
    const char *input = json_string_value(json_object_get(finding, "input"));
    *line = json_integer_value(json_object_get(finding, file != NULL ? "line" : "input_line"));
    *line = *line > 0 ? *line : 1;
    return file != NULL ? file : input != NULL && strcmp(input, "-") != 0 ? input : NULL;
}

static bool is_here(const folders *f, const char *path)
{
    return f->here[0] != '\0' && strncmp(path, f->here, strlen(f->here)) == 0;
}

static void add_path(folders *f, const char *path)
{
    if (path[0] != '/' || is_here(f, path)) {
        return;
    }
    size_t n = 0, end = 0;
    const char *with = f->any ? f->common : path;
    for (; path[n] != '\0' && path[n] == with[n] && n + 1 < sizeof f->common; n++) {
        end = path[n] == '/' ? n + 1 : end;
    }
    memmove(f->common, with, end);
    f->common[end] = '\0';
    f->any = true;
}

static folders folders_of(const json_t *findings)
{
    folders f = {0};
    json_t *x;
    json_int_t line;
    size_t i;
    if (getcwd(f.here, sizeof f.here - 1) != NULL && strcmp(f.here, "/") != 0) {
        strcat(f.here, "/");
    } else {
        f.here[0] = '\0';
    }
    json_array_foreach(findings, i, x)
    {
        const char *path = place_of(x, &line);
        if (path != NULL) {
            add_path(&f, path);
        }
    }
    return f;
}

/* A relative reference of RFC 3986: what is not allowed in a path, and ':', is written as %XX. */
static json_t *uri_of(const folders *f, const char *path)
{
    aot_sb out = {0};
    path += is_here(f, path) ? strlen(f->here) : path[0] == '/' ? strlen(f->common) : 0;
    for (; *path != '\0'; path++) {
        unsigned char c = (unsigned char)*path;
        if ((c < 0x80 && isalnum(c)) || strchr("/._~-+@=,", c) != NULL) {
            aot_sb_addf(&out, "%c", c);
        } else {
            aot_sb_addf(&out, "%%%02X", c);
        }
    }
    json_t *uri = json_string(aot_sb_text(&out));
    aot_sb_free(&out);
    return uri;
}

/* ---- the log --------------------------------------------------------------------------------- */

static json_t *rules(void)
{
    json_t *list = json_array();
    for (unsigned i = 0; i < aot_finding_rule_count(); i++) {
        const aot_finding_rule *r = aot_finding_rule_at(i);
        json_array_append_new(list, json_pack("{s:s, s:{s:s}, s:{s:s}, s:{s:s}}", "id", r->name,
                                              "shortDescription", "text", r->title, "help", "text",
                                              r->remedy, "defaultConfiguration", "level",
                                              aot_finding_level_name(r->level)));
    }
    return list;
}

static json_t *result(const folders *f, const json_t *finding)
{
    json_int_t line;
    const char *path = place_of(finding, &line);
    const char *node = json_string_value(json_object_get(finding, "node"));
    json_t *place =
        json_pack("{s:[{s:s, s:s}]}", "logicalLocations", "name",
                  node != NULL ? node : json_string_value(json_object_get(finding, "label")),
                  "kind", node != NULL ? "variable" : "module");
    if (path != NULL) {
        json_object_set_new(place, "physicalLocation",
                            json_pack("{s:{s:o}, s:{s:I}}", "artifactLocation", "uri",
                                      uri_of(f, path), "region", "startLine", line));
    }
    return json_pack("{s:O, s:O, s:{s:O}, s:[o]}", "ruleId", json_object_get(finding, "rule"),
                     "level", json_object_get(finding, "level"), "message", "text",
                     json_object_get(finding, "message"), "locations", place);
}

json_t *aot_sarif(const json_t *findings)
{
    folders f = folders_of(findings);
    json_t *results = json_array(), *x;
    size_t i;
    json_array_foreach(findings, i, x)
    {
        json_array_append_new(results, result(&f, x));
    }
    return json_pack("{s:s, s:s, s:[{s:{s:{s:s, s:s, s:o}}, s:o}]}", "version", "2.1.0", "$schema",
                     "https://json.schemastore.org/sarif-2.1.0.json", "runs", "tool", "driver",
                     "name", "aotscope", "version", PACKAGE_VERSION, "rules", rules(), "results",
                     results);
}
