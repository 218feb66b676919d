/* Opening inputs: files, standard input, memory and folders; the kind is found from the content.
 *
 * A folder holds the logs of the ranks of one run: the files of the best kind found in it are read
 * in rank order, others are named in a note. Reading never stops at damage; what could not be
 * read is noted by the importers with file and line. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "import/importer.h"

enum { SNIFF_BYTES = 1 << 20, PROGRESS_STEP = 4 << 20 };

static const aot_importer importers[] = {
#define IMPORTER(name, sniff, read, sentence) {#name, sentence, sniff, read},
#include "import/importers.def"
#undef IMPORTER
};
enum { N_IMPORTERS = sizeof importers / sizeof *importers };

bool aot_import_line(aot_import_run *run, aot_line *line)
{
    bool any = aot_stream_line(run->in, line);
    run->stats->lines += any;
    if (run->sink->on_progress != NULL &&
        (!any || aot_stream_bytes(run->in) >= run->next_progress)) {
        run->next_progress = aot_stream_bytes(run->in) + PROGRESS_STEP;
        run->sink->on_progress(run->sink->arg, aot_stream_done(run->in),
                               aot_stream_total(run->in));
    }
    return any;
}

void aot_import_check_end(aot_import_run *run, const aot_line *last)
{
    if (last->number > 0 && !last->ended) {
        run->stats->damaged_records++;
        aot_assemble_note(run->units, NULL, last->number, "damage",
                          "the input ends in the middle of a line: the last record may be cut");
    }
}

bool aot_import_any_line(const char *data, size_t n, bool (*fn)(const char *s, size_t n))
{
    for (size_t at = 0; at < n;) {
        const char *end = memchr(data + at, '\n', n - at);
        size_t len = end != NULL ? (size_t)(end - data) - at : n - at;
        if (fn(data + at, len)) {
            return true;
        }
        at += len + 1;
    }
    return false;
}

static const char *expected(char *buf, size_t size)
{
    size_t n = 0;
    for (size_t i = 0; i < N_IMPORTERS && n < size; i++) {
        n += (size_t)snprintf(buf + n, size - n, "%s%s",
                              i == 0 ? "" : i + 1 < N_IMPORTERS ? ", " : " or ",
                              importers[i].sentence);
    }
    return buf;
}

/* Kinds that other parts read, or nobody: named, so that the answer is not "unknown". */
static const char *other_kind(const char *d, size_t n)
{
    if (n >= 16 && memcmp(d, "SQLite format 3", 16) == 0) {
        return "it is a session within a compressed file or a pipe, and a session is read in "
               "place: "
               "unpack it, then open what comes out";
    }
    return NULL;
}

static const aot_importer *sniff(aot_stream *in, const char **known_other, bool *empty)
{
    const char *data;
    size_t n = aot_stream_peek(in, &data, SNIFF_BYTES);
    *empty = n == 0;
    *known_other = other_kind(data, n);
    for (size_t i = 0; i < N_IMPORTERS && *known_other == NULL; i++) {
        if (importers[i].sniff(data, n)) {
            return &importers[i];
        }
    }
    // A training run may print for long before it compiles.
    return n == SNIFF_BYTES && *known_other == NULL ? &importers[1] : NULL;
}

typedef struct reading {
    const aot_import_sink *sink;
    aot_import_stats *stats;
    uint32_t counter;
} reading;

/* Reads one opened input to its end. */
static aot_status read_stream(reading *rd, const char *file, aot_stream *in, aot_err *err)
{
    char buf[400];
    const char *other;
    bool empty;
    const aot_importer *imp = sniff(in, &other, &empty);
    if (imp == NULL) {
        const char *trouble = aot_stream_trouble(in);
        aot_status st =
            trouble != NULL ? AOT_FAIL(err, AOT_E_FORMAT, "nothing can be read: %s", trouble)
            : other != NULL ? AOT_FAIL(err, AOT_E_FORMAT, "%s", other)
                            : AOT_FAIL(err, AOT_E_FORMAT, "%s; expected %s",
                                       empty ? "the input is empty"
                                             : "no compile log or graph was found in it",
                                       expected(buf, sizeof buf));
        aot_err_in_file(err, file);
        return st;
    }
    aot_import_run run = {.in = in, .file = file, .sink = rd->sink, .stats = rd->stats};
    run.file_rank = aot_import_rank_of_name(file);
    run.units = aot_assembler_new(file, rd->sink, rd->stats, &rd->counter);
    uint64_t before = rd->stats->records;
    rd->stats->files++;
    aot_status st = imp->read(&run, err);
    if (st == AOT_OK && aot_stream_trouble(in) != NULL) {
        rd->stats->damaged_records++;
        aot_assemble_note(run.units, NULL, 0, "damage", "%s", aot_stream_trouble(in));
    }
    if (st == AOT_OK) {
        st = aot_assemble_deliver(run.units, true, err);
    }
    rd->stats->bytes += aot_stream_bytes(in);
    aot_assembler_free(run.units);
    if (st == AOT_OK && rd->stats->records == before) {
        st = AOT_FAIL(err, AOT_E_FORMAT, "no compile log or graph was found in it; expected %s",
                      expected(buf, sizeof buf));
    }
    if (st != AOT_OK) {
        aot_err_in_file(err, file);
    }
    return st;
}

/* ---- folders ------------------------------------------------------------------------------- */

typedef struct folder_file {
    char *path;
    int rank, kind; /* kind: index into importers, N_IMPORTERS = none */
} folder_file;

typedef AOT_VEC(folder_file) file_list;

static int by_rank(const void *pa, const void *pb)
{
    const folder_file *a = pa, *b = pb;
    if (a->rank != b->rank) {
        return a->rank < b->rank ? -1 : 1;
    }
    return strverscmp(a->path, b->path);
}

static int kind_of_file(const char *path)
{
    aot_stream *in;
    const char *other;
    bool empty;
    if (aot_stream_open(&in, path, NULL) != AOT_OK) {
        return N_IMPORTERS;
    }
    const aot_importer *imp = sniff(in, &other, &empty);
    aot_stream_free(in);
    return imp != NULL ? (int)(imp - importers) : N_IMPORTERS;
}

static aot_status list_folder(file_list *files, const char *path, aot_err *err)
{
    DIR *dir = opendir(path);
    if (dir == NULL) {
        return AOT_FAIL(err, AOT_E_IO, "cannot be opened: %s", strerror(errno));
    }
    struct dirent *e;
    while ((e = readdir(dir)) != NULL) {
        aot_sb sb = {0};
        struct stat st;
        aot_sb_addf(&sb, "%s%s%s", path, aot_ends_with(path, "/") ? "" : "/", e->d_name);
        if (e->d_name[0] != '.' && stat(sb.d, &st) == 0 && S_ISREG(st.st_mode)) {
            folder_file f = {aot_xstrdup(sb.d), aot_import_rank_of_name(sb.d), N_IMPORTERS};
            aot_vec_push(files, f);
        }
        aot_sb_free(&sb);
    }
    closedir(dir);
    if (files->n > 0) {
        qsort(files->d, files->n, sizeof *files->d, by_rank);
    }
    return AOT_OK;
}

static aot_status read_file(reading *rd, const char *path, aot_err *err)
{
    aot_stream *in;
    aot_status st = aot_stream_open(&in, path, err);
    if (st == AOT_OK) {
        st = read_stream(rd, strcmp(path, "-") == 0 ? "standard input" : path, in, err);
        aot_stream_free(in);
    }
    if (st != AOT_OK) {
        aot_err_in_file(err, path);
    }
    return st;
}

static void note_file(reading *rd, const char *path, const char *kind, const char *text)
{
    if (rd->sink->on_note != NULL) {
        aot_import_note n = {path, 0, kind, text};
        rd->sink->on_note(rd->sink->arg, &n);
    }
}

enum { FOLDERS_NAMED = 3, FILES_TRIED = 32 };

/* Whether one of the first files of a folder is a log. */
static bool holds_log(const char *path)
{
    file_list files = {0};
    bool found = false;
    if (list_folder(&files, path, NULL) == AOT_OK) {
        for (size_t i = 0; i < files.n && i < FILES_TRIED && !found; i++) {
            found = kind_of_file(files.d[i].path) != N_IMPORTERS;
        }
    }
    for (size_t i = 0; i < files.n; i++) {
        free(files.d[i].path);
    }
    aot_vec_free(&files);
    return found;
}

static int by_version(const struct dirent **a, const struct dirent **b)
{
    return strverscmp((*a)->d_name, (*b)->d_name);
}

/* Names the first folders of a folder that hold logs: each is a run of its own, so none is read. */
static bool name_folders(aot_sb *out, const char *path)
{
    struct dirent **all = NULL;
    int n = scandir(path, &all, NULL, by_version), found = 0;
    for (int i = 0; i < n; i++) {
        aot_sb sub = {0};
        struct stat st;
        aot_sb_addf(&sub, "%s%s%s", path, aot_ends_with(path, "/") ? "" : "/", all[i]->d_name);
        if (found < FOLDERS_NAMED && all[i]->d_name[0] != '.' && stat(sub.d, &st) == 0 &&
            S_ISDIR(st.st_mode) && holds_log(sub.d)) {
            aot_sb_addf(out, "%s%.80s", found++ > 0 ? ", " : "", all[i]->d_name);
        }
        aot_sb_free(&sub);
        free(all[i]);
    }
    free(all);
    return found > 0;
}

static aot_status read_folder(reading *rd, const char *path, aot_err *err)
{
    file_list files = {0};
    char buf[400];
    int best = N_IMPORTERS;
    aot_status st = list_folder(&files, path, err);
    for (size_t i = 0; i < files.n; i++) {
        files.d[i].kind = kind_of_file(files.d[i].path);
        best = files.d[i].kind < best ? files.d[i].kind : best;
    }
    aot_sb inside = {0};
    if (st == AOT_OK && best == N_IMPORTERS && name_folders(&inside, path)) {
        st = AOT_FAIL(err, AOT_E_FORMAT,
                      "no file in this folder is a log, but in folders inside it there are some: "
                      "open one of %s", aot_sb_text(&inside));
    } else if (st == AOT_OK && best == N_IMPORTERS) {
        st = AOT_FAIL(err, AOT_E_FORMAT, "no file in this folder is a log; expected %s",
                      expected(buf, sizeof buf));
    }
    aot_sb_free(&inside);
    for (size_t i = 0; i < files.n && st == AOT_OK; i++) {
        if (files.d[i].kind != best) {
            note_file(rd, files.d[i].path, "skipped", "not a log like the others of this folder");
            continue;
        }
        aot_err own = {0}; // one bad file does not keep the others from being read
        st = read_file(rd, files.d[i].path, &own);
        if (st == AOT_E_FORMAT || st == AOT_E_IO) {
            note_file(rd, files.d[i].path, "damage", own.msg);
            st = AOT_OK;
        } else if (st != AOT_OK && err != NULL && err->code == AOT_OK) {
            *err = own;
        }
    }
    for (size_t i = 0; i < files.n; i++) {
        free(files.d[i].path);
    }
    aot_vec_free(&files);
    aot_err_in_file(err, path);
    return st;
}

aot_status aot_import(const char *path, const aot_import_sink *sink, aot_import_stats *stats,
                      aot_err *err)
{
    aot_import_stats own = {0};
    reading rd = {sink, stats != NULL ? stats : &own, 0};
    struct stat st;
    *rd.stats = (aot_import_stats){0};
    if (strcmp(path, "-") != 0 && stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
        return read_folder(&rd, path, err);
    }
    return read_file(&rd, path, err);
}

aot_status aot_import_bytes(const char *name, const char *data, size_t n,
                            const aot_import_sink *sink, aot_import_stats *stats, aot_err *err)
{
    aot_import_stats own = {0};
    reading rd = {sink, stats != NULL ? stats : &own, 0};
    *rd.stats = (aot_import_stats){0};
    aot_stream *in = aot_stream_of_bytes(data, n);
    aot_status st = read_stream(&rd, name, in, err);
    aot_stream_free(in);
    return st;
}
