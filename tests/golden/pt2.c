/* Exported programs: what is read from each .pt2 archive of fixtures/pt2 is, byte for byte, what
 * PyTorch 2.11 printed of the program that was saved.
 *
 *   NAME.txt         str(ep)
 *   NAME.graph.txt   ep.graph_module.print_readable(include_stride=True, include_device=True)
 *   NAME.MODEL.txt   the same, of an archive with several programs
 *
 *   pt2 [FOLDER]     default: $AOT_FIXTURES/pt2 */
#include <dirent.h>

#include "golden/files.h"
#include "import/unit.h"

static int n_tests, n_failed;

typedef struct archive {
    const char *base; /* path without .pt2 */
    unsigned n_units;
    bool several;
} archive;

static void result(bool ok, const char *what, const char *path)
{
    n_failed += !ok;
    printf("%sok %d - %s: %s\n", ok ? "" : "not ", ++n_tests, path, what);
}

static void show_difference(const char *want, const char *got)
{
    while (*want != '\0' && *want == *got) {
        want++;
        got++;
    }
    size_t n = strcspn(want, "\n"), m = strcspn(got, "\n");
    printf("# want ...%.*s\n# got  ...%.*s\n", (int)(n < 200 ? n : 200), want,
           (int)(m < 200 ? m : 200), got);
}

static void compare(const archive *a, const aot_unit *u, const char *record, const char *suffix)
{
    char path[8192];
    aot_sb want = {0};
    const aot_record *r = aot_unit_record(u, record);
    snprintf(path, sizeof path, "%s%s%s%s", a->base, a->several ? "." : "",
             a->several ? u->title : "", suffix);
    bool there = read_whole(path, &want) && r != NULL && r->text != NULL;
    bool same = there && want.n == r->len && memcmp(want.d, r->text, r->len) == 0;
    if (there && !same) {
        show_difference(aot_sb_text(&want), r->text);
    }
    result(same, "as PyTorch printed it", path);
    aot_sb_free(&want);
}

static aot_status on_unit(void *arg, aot_unit *u, aot_err *err)
{
    archive *a = arg;
    (void)err;
    a->n_units++;
    compare(a, u, "exported_program_text", ".txt");
    compare(a, u, "exported_program", ".graph.txt");
    aot_unit_free(u);
    return AOT_OK;
}

static bool exists(const char *base, const char *suffix)
{
    char path[4200];
    snprintf(path, sizeof path, "%s%s", base, suffix);
    FILE *f = fopen(path, "rb");
    if (f != NULL) {
        fclose(f);
    }
    return f != NULL;
}

static void check(const char *path)
{
    char base[4096];
    snprintf(base, sizeof base, "%.*s", (int)(strlen(path) - 4), path);
    archive a = {.base = base, .several = !exists(base, ".txt")};
    aot_import_sink sink = {.arg = &a, .on_unit = on_unit};
    aot_import_stats stats;
    aot_err err = {0};
    aot_status st = aot_import(path, &sink, &stats, &err);
    if (st != AOT_OK) {
        printf("# %s\n", err.msg);
    }
    result(st == AOT_OK && a.n_units == (a.several ? 2 : 1) && stats.damaged_records == 0,
           "its programs are read", path);
}

static int is_archive(const struct dirent *e)
{
    return aot_ends_with(e->d_name, ".pt2");
}

int main(int argc, char **argv)
{
    const char *fixtures = getenv("AOT_FIXTURES");
    char folder[2048], path[4096];
    struct dirent **names;
    snprintf(folder, sizeof folder, "%s/pt2", fixtures != NULL ? fixtures : "fixtures");
    if (argc > 1) {
        snprintf(folder, sizeof folder, "%s", argv[1]);
    }
    int n = scandir(folder, &names, is_archive, alphasort);
    for (int i = 0; i < n; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]->d_name);
        check(path);
        free(names[i]);
    }
    if (n > 0) {
        free(names);
    } else {
        result(false, "an archive to read", folder);
    }
    printf("1..%d\n", n_tests);
    return n_failed != 0;
}
