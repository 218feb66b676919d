/* Every graph text of an input parses, and prints back the same. One TAP line a file.
 *
 *   roundtrip [FILE-OR-FOLDER...]    default: all of $AOT_FIXTURES but what is damaged on
 * purpose */
#include <dirent.h>
#include <sys/stat.h>

#include "golden/files.h"
#include "import/unit.h"
#include "ir/text.h"
#include "session/model.h"

static int n_tests, n_failed;

typedef struct file {
    const char *path;
    unsigned graphs, bad;
} file;

static void check_text(file *f, aot_ctx *c, const char *what, const char *text, size_t n,
                       uint64_t line)
{
    aot_graph *g;
    aot_err err = {0};
    aot_sb out = {0};
    f->graphs++;
    if (aot_parse_graph(&g, c, text, n, (uint32_t)line, &err) != AOT_OK) {
        char buf[900];
        printf("# %s: %s: %s\n", f->path, what, aot_err_text(&err, buf, sizeof buf));
        f->bad++;
        return;
    }
    aot_print_graph(&out, g, AOT_PRINT_PLAIN);
    char *copy = aot_xstrndup(text, n);
    const char *start = strstr(copy, "class ");
    while (start != NULL && start > copy && start[-1] == ' ') {
        start--;
    }
    // what surrounds the graph (ExportedProgram:, Graph signature:) is not part of it
    bool wrapped = start != NULL && start != copy;
    if (!wrapped && !same_normal(copy, aot_sb_text(&out))) {
        printf("# %s: %s at line %llu\n", f->path, what, (unsigned long long)line);
        f->bad++;
    }
    free(copy);
    aot_sb_free(&out);
}

static aot_status on_unit(void *arg, aot_unit *u, aot_err *err)
{
    file *f = arg;
    (void)err;
    for (size_t i = 0; i < u->records.n; i++) {
        const aot_record *r = &u->records.d[i];
        if (r->stage != AOT_N_STAGES && r->text != NULL) {
            aot_ctx *c = aot_unit_new_ctx(u);
            check_text(f, c, r->name, r->text, r->len, r->line);
            aot_ctx_free(c);
        }
    }
    aot_unit_free(u);
    return AOT_OK;
}

static void check_file(const char *path)
{
    file f = {.path = path};
    aot_err err = {0};
    aot_import_sink sink = {.arg = &f, .on_unit = on_unit};
    aot_status s = aot_import(path, &sink, NULL, &err);
    if (s == AOT_E_FORMAT) {
        return; // holds no graphs
    }
    if (s != AOT_OK) {
        printf("# %s\n", err.msg);
    }
    bool ok = s == AOT_OK && f.bad == 0;
    n_failed += !ok;
    printf("%sok %d - %s: %u graphs print back the same\n", ok ? "" : "not ", ++n_tests, path,
           f.graphs);
}

static bool is_input(const char *name)
{
    return strstr(name, ".json") == NULL && strstr(name, ".tsv") == NULL &&
           strstr(name, ".md") == NULL;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void walk(const char *path)
{
    struct stat st;
    struct dirent **names;
    if (stat(path, &st) != 0) {
        return;
    }
    if (!S_ISDIR(st.st_mode)) {
        check_file(path);
        return;
    }
    int n = scandir(path, &names, NULL, by_name);
    for (int i = 0; i < n; i++) {
        char child[4096];
        snprintf(child, sizeof child, "%s/%s", path, names[i]->d_name);
        bool skip = names[i]->d_name[0] == '.' || strcmp(names[i]->d_name, "damaged") == 0 ||
                    strcmp(names[i]->d_name, "fuzz") == 0 || !is_input(names[i]->d_name);
        if (!skip) {
            walk(child);
        }
        free(names[i]);
    }
    if (n >= 0) {
        free(names);
    }
}

int main(int argc, char **argv)
{
    const char *fixtures = getenv("AOT_FIXTURES");
    for (int i = 1; i < argc; i++) {
        walk(argv[i]);
    }
    if (argc == 1) {
        walk(fixtures != NULL ? fixtures : "fixtures");
    }
    if (n_tests == 0) {
        printf("not ok 1 - no input found\n");
        n_tests = n_failed = 1;
    }
    printf("1..%d\n", n_tests);
    return n_failed != 0;
}
