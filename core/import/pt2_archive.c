/* .pt2 archives: the zip, its members, and one exported program after the other.
 *
 *   NAME/models/model.json                            the program; one for each name it was
 * packaged under NAME/data/weights/model_weights_config.json       which member holds which
 * parameter or buffer NAME/data/constants/model_constants_config.json   the same for constants
 *   NAME/data/weights/weight_0 ...                    the bytes: never read, only their size is
 * asked serialized_exported_program.json                  the program in archives of PyTorch 2.0
 * to 2.7
 *
 * What is read is bounded: a member's text by MEMBER_MAX whatever the directory says of its size,
 * the number of members by ENTRIES_MAX.
 * Mirrors: torch/export/pt2_archive/_package.py:load_pt2, torch/export/__init__.py:load. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zip.h>

#include "import/json_check.h"
#include "import/pt2.h"

enum { ENTRIES_MAX = 1 << 20, CHUNK = 1 << 18 };
static const size_t member_max = (size_t)768 << 20, config_max = (size_t)128 << 20;

static const char old_program[] = "serialized_exported_program.json";

typedef struct archive {
    aot_import_run *run;
    aot_err *err;
    zip_t *zip;
    zip_int64_t n_entries;
    const char *root; /* "model/", "" in old archives */
    size_t root_n;
    aot_arena *arena;
} archive;

bool aot_pt2_sniff(const char *data, size_t n)
{
    return n >= 4 && memcmp(data, "PK\3\4", 4) == 0;
}

/* ---- members ------------------------------------------------------------------------------- */

/* Name below the root folder; NULL if the entry is elsewhere. */
static const char *member_name(const archive *a, zip_int64_t i)
{
    const char *name = zip_get_name(a->zip, (zip_uint64_t)i, ZIP_FL_ENC_RAW);
    return name != NULL && strncmp(name, a->root, a->root_n) == 0 ? name + a->root_n : NULL;
}

static zip_int64_t find(const archive *a, const char *member)
{
    char *name = aot_arena_printf(a->arena, "%s%s", a->root, member);
    return zip_name_locate(a->zip, name, ZIP_FL_ENC_RAW);
}

/* Size when unpacked, as the directory says; -1. */
static int64_t size_of(const archive *a, const char *member)
{
    zip_stat_t st;
    zip_int64_t i = find(a, member);
    if (i < 0 || zip_stat_index(a->zip, (zip_uint64_t)i, 0, &st) != 0 ||
        !(st.valid & ZIP_STAT_SIZE) || st.size > INT64_MAX) {
        return -1;
    }
    return (int64_t)st.size;
}

static aot_status too_long(const archive *a, const char *member, size_t max)
{
    return AOT_FAIL(a->err, AOT_E_FORMAT,
                    "%s: its text is longer than %zu MiB, which no exported program is: the "
                    "archive is damaged or hostile",
                    member, max >> 20);
}

/* Reads a member whole. Errors: E_FORMAT with the member's name. */
static aot_status read_member(const archive *a, zip_int64_t index, const char *member, size_t max,
                              aot_sb *out)
{
    zip_stat_t stat;
    if (zip_stat_index(a->zip, (zip_uint64_t)index, 0, &stat) == 0 &&
        (stat.valid & ZIP_STAT_SIZE) && stat.size > max) {
        return too_long(a, member, max); // as the directory says; it may lie, so bytes count too
    }
    zip_file_t *f = zip_fopen_index(a->zip, (zip_uint64_t)index, 0);
    if (f == NULL) {
        return AOT_FAIL(a->err, AOT_E_FORMAT, "%s: cannot be unpacked: %s", member,
                        zip_strerror(a->zip));
    }
    char *chunk = aot_xmalloc(CHUNK);
    zip_int64_t got;
    while ((got = zip_fread(f, chunk, CHUNK)) > 0 && out->n + (size_t)got <= max) {
        aot_sb_add(out, chunk, (size_t)got);
    }
    free(chunk);
    aot_status st = AOT_OK;
    if (got < 0) {
        st = AOT_FAIL(a->err, AOT_E_FORMAT,
                      "%s: damaged after %zu bytes: %s; save the program again", member, out->n,
                      zip_error_strerror(zip_file_get_error(f)));
    } else if (got > 0) {
        st = too_long(a, member, max);
    }
    zip_fclose(f);
    return st;
}

/* ---- payloads ------------------------------------------------------------------------------ */

const aot_pt2_payload *aot_pt2_payload_of(const aot_pt2_payloads *all, const char *fqn)
{
    aot_str s = all->strs != NULL ? aot_intern_find(all->strs, fqn, strlen(fqn)) : 0;
    return s != 0 && s < all->of_fqn.n && all->of_fqn.d[s] != 0 ? &all->v.d[all->of_fqn.d[s] - 1]
                                                                : NULL;
}

/* Names without a member, or a second time, are passed over. path: data/weights/weight_0. */
static void add_payload(aot_pt2_payloads *all, aot_pt2_payload *w, const char *path)
{
    if (all->strs == NULL) {
        all->strs = aot_strtab_new();
    }
    aot_str fqn = aot_intern_z(all->strs, w->fqn), member = aot_intern_z(all->strs, path);
    while (all->of_fqn.n < aot_strtab_count(all->strs)) {
        aot_vec_push(&all->of_fqn, 0);
        aot_vec_push(&all->of_member, 0);
    }
    if (all->of_fqn.d[fqn] != 0) {
        return;
    }
    uint32_t own = (uint32_t)all->v.n + 1;
    all->of_fqn.d[fqn] = own;
    if (all->of_member.d[member] == 0) { // else tied weights: one memory
        all->of_member.d[member] = own;
    }
    w->storage = (int)all->of_member.d[member] - 1;
    aot_vec_push(&all->v, *w);
}

static void free_payloads(aot_pt2_payloads *all)
{
    aot_vec_free(&all->v);
    aot_vec_free(&all->of_fqn);
    aot_vec_free(&all->of_member);
    aot_strtab_free(all->strs);
}

static void add_payloads(archive *a, aot_pt2_payloads *all, aot_slice config, bool constant)
{
    aot_json_iter it;
    aot_slice key, v;
    aot_json_begin(&it, aot_json_get(config, "config"));
    while (aot_json_next(&it, &key, &v)) {
        aot_pt2_payload w = {.is_constant = constant};
        w.fqn = aot_json_text(a->arena, (aot_slice){key.s - 1, key.n + 2});
        w.member = aot_json_text(a->arena, aot_json_get(v, "path_name"));
        if (w.member == NULL) {
            continue;
        }
        w.is_param = aot_json_true(aot_json_get(v, "is_param"));
        w.use_pickle = aot_json_true(aot_json_get(v, "use_pickle"));
        w.meta = aot_json_get(v, "tensor_meta");
        w.meta.s = w.meta.s != NULL && w.meta.s[0] == '{' ? w.meta.s : NULL;
        const char *path =
            aot_arena_printf(a->arena, "data/%s/%s", constant ? "constants" : "weights", w.member);
        w.bytes = size_of(a, path);
        if (w.bytes < 0) {
            a->run->stats->damaged_records++;
            aot_assemble_note(a->run->units, NULL, 0, "missing",
                              "%s%s of %s is not in the archive: the weights cannot be loaded",
                              constant ? "data/constants/" : "data/weights/", w.member, w.fqn);
        }
        add_payload(all, &w, path);
    }
}

/* The configuration of weights or constants: text keeps what *all points into. Not there, or
 * damaged: noted; the graph can be read without. */
static void read_payloads(archive *a, aot_pt2_payloads *all, const char *model, bool constant,
                          aot_sb *text)
{
    size_t at;
    const char *expected;
    char *member = aot_arena_printf(a->arena,
                                    constant ? "data/constants/%s_constants_config.json"
                                             : "data/weights/%s_weights_config.json",
                                    model);
    zip_int64_t i = find(a, member);
    aot_err own = {0};
    archive quiet = *a;
    quiet.err = &own;
    if (i < 0) {
        aot_assemble_note(a->run->units, NULL, 0, "missing",
                          "%s is not in the archive: where %s are stored is not known", member,
                          constant ? "constants" : "parameters and buffers");
    } else if (read_member(&quiet, i, member, config_max, text) != AOT_OK) {
        a->run->stats->damaged_records++;
        aot_assemble_note(a->run->units, NULL, 0, "damage", "%s", own.msg);
    } else if (!aot_json_check(aot_sb_text(text), text->n, &at, &expected)) {
        a->run->stats->damaged_records++;
        aot_assemble_note(a->run->units, NULL, 0, "damage",
                          "%s is not JSON: expected %s at byte %zu", member, expected, at);
    } else {
        add_payloads(a, all, (aot_slice){text->d, text->n}, constant);
    }
}

/* ---- programs ------------------------------------------------------------------------------ */

static aot_status read_model(archive *a, zip_int64_t index, const char *member, const char *model,
                             bool old)
{
    aot_sb text = {0}, clean = {0}, configs[2] = {{0}, {0}};
    aot_pt2_payloads payloads = {0};
    aot_status st = read_member(a, index, member, member_max, &text);
    a->run->stats->bytes += text.n;
    if (st == AOT_OK && !old) {
        read_payloads(a, &payloads, model, false, &configs[0]);
        read_payloads(a, &payloads, model, true, &configs[1]);
    }
    if (st == AOT_OK) {
        size_t bad = aot_import_clean(&clean, aot_sb_text(&text), text.n);
        aot_sb *used = bad > 0 ? &clean : &text;
        if (bad > 0) {
            a->run->stats->damaged_records++;
            aot_assemble_note(a->run->units, NULL, 0, "damage",
                              "%s: %zu byte%s no text and shown as U+FFFD", member, bad,
                              bad == 1 ? " is" : "s are");
        }
        aot_pt2_program p = {
            .run = a->run, .model = model, .member = member, .payloads = &payloads, .err = a->err};
        p.json = (aot_slice){aot_sb_text(used), used->n};
        st = aot_pt2_program_read(&p);
    }
    free_payloads(&payloads);
    aot_sb_free(&text);
    aot_sb_free(&clean);
    aot_sb_free(&configs[0]);
    aot_sb_free(&configs[1]);
    return st;
}

/* models/NAME.json -> NAME; NULL if the member is none. */
static const char *model_of(const archive *a, const char *member)
{
    size_t n = strlen(member);
    if (!aot_starts_with(member, "models/") || !aot_ends_with(member, ".json") || n <= 12) {
        return NULL;
    }
    return aot_arena_strndup(a->arena, member + 7, n - 12);
}

/* What the archive is instead, and what to do. */
static const char *other_archive(const archive *a)
{
    bool code = false, aoti = false, pickle = false, models = false;
    for (zip_int64_t i = 0; i < a->n_entries; i++) {
        const char *m = member_name(a, i);
        if (m != NULL) {
            code |= aot_starts_with(m, "code/");
            aoti |= aot_starts_with(m, "data/aotinductor/");
            pickle |= strcmp(m, "data.pkl") == 0;
            models |= strcmp(m, "archive_format") == 0;
        }
    }
    return code     ? "it is a TorchScript archive (torch.jit.save): export the module with "
                      "torch.export.save"
           : aoti   ? "it holds a model that AOTInductor compiled (data/aotinductor), and no "
                      "exported program: save the program "
                      "with torch.export.save"
           : pickle ? "it holds tensors (torch.save), and no exported program: save the program "
                      "with torch.export.save"
           : models ? "it is a .pt2 archive without models/NAME.json: it was cut or changed; save "
                      "the program again with "
                      "torch.export.save"
                    : "it is a zip archive, but holds no exported program (models/NAME.json): a "
                      ".pt2 archive is made by "
                      "torch.export.save";
}

/* The folder that all members of an archive are in. */
static void find_root(archive *a)
{
    const char *first = a->n_entries > 0 ? zip_get_name(a->zip, 0, ZIP_FL_ENC_RAW) : NULL;
    const char *slash = first != NULL ? strchr(first, '/') : NULL;
    a->root = "";
    if (slash != NULL && zip_name_locate(a->zip, old_program, ZIP_FL_ENC_RAW) < 0) {
        a->root_n = (size_t)(slash - first) + 1;
        a->root = aot_arena_strndup(a->arena, first, a->root_n);
    }
}

static aot_status read_models(archive *a)
{
    aot_status first = AOT_OK;
    unsigned n = 0;
    for (zip_int64_t i = 0; i < a->n_entries; i++) {
        const char *member = member_name(a, i);
        bool old = member != NULL && strcmp(member, old_program) == 0;
        const char *model = old ? "model" : member != NULL ? model_of(a, member) : NULL;
        if (model == NULL) {
            continue;
        }
        n++;
        aot_err own = {0};
        archive one = *a;
        one.err = &own;
        aot_status st = read_model(&one, i, member, model, old);
        if (st == AOT_OK) {
            AOT_TRY(aot_assemble_deliver(a->run->units, false, a->err));
        } else if (first == AOT_OK) {
            first = st;
            if (a->err != NULL && a->err->code == AOT_OK) {
                *a->err = own;
            }
        }
        if (st != AOT_OK) {
            a->run->stats->damaged_records++;
            aot_assemble_note(a->run->units, NULL, 0, "damage", "%s", own.msg);
        }
    }
    if (n == 0) {
        return AOT_FAIL(a->err, AOT_E_FORMAT, "%s", other_archive(a));
    }
    if (first != AOT_OK && a->run->stats->records > 0) {
        if (a->err !=
            NULL) { // another program of the archive could be read: noted, and passed over
            *a->err = (aot_err){0};
        }
        return AOT_OK;
    }
    return first;
}

/* A zip whose end is missing cannot be opened at all: its directory stands there. */
static aot_status cannot_open(aot_import_run *run, zip_error_t *e, aot_err *err)
{
    int code = zip_error_code_zip(e);
    (void)run;
    aot_status st =
        code == ZIP_ER_NOZIP || code == ZIP_ER_INCONS
            ? AOT_FAIL(
                  err, AOT_E_FORMAT,
                  "it begins as a zip archive (.pt2), but its directory is not there (%s): it was "
                  "cut or changed; copy it or save it again",
                  zip_error_strerror(e))
            : AOT_FAIL(err, AOT_E_FORMAT, "the zip archive cannot be read: %s",
                       zip_error_strerror(e));
    return st;
}

/* Takes file unless it is NULL. */
static aot_status open_zip(archive *a, FILE *file, const char *mem, size_t n)
{
    zip_error_t e;
    zip_error_init(&e);
    zip_source_t *src = file != NULL ? zip_source_filep_create(file, 0, -1, &e)
                                     : zip_source_buffer_create(mem, n, 0, &e);
    if (src == NULL && file != NULL) {
        fclose(file);
    }
    a->zip = src != NULL ? zip_open_from_source(src, ZIP_RDONLY, &e) : NULL;
    aot_status st = AOT_OK;
    if (a->zip == NULL) {
        st = cannot_open(a->run, &e, a->err);
        zip_source_free(src);
    } else {
        a->n_entries = zip_get_num_entries(a->zip, 0);
        if (a->n_entries > ENTRIES_MAX) {
            st = AOT_FAIL(a->err, AOT_E_FORMAT,
                          "the archive has %lld members, more than %d: it is damaged or hostile",
                          (long long)a->n_entries, ENTRIES_MAX);
        }
    }
    zip_error_fini(&e);
    return st;
}

aot_status aot_pt2_read(aot_import_run *run, aot_err *err)
{
    FILE *file;
    const char *mem;
    size_t n;
    AOT_TRY(aot_stream_seekable(run->in, &file, &mem, &n, err));
    archive a = {.run = run, .err = err, .root = "", .arena = aot_arena_new()};
    aot_status st = open_zip(&a, file, mem, n);
    if (st == AOT_OK) {
        find_root(&a);
        st = read_models(&a);
    }
    if (a.zip != NULL) {
        zip_discard(a.zip);
    }
    aot_arena_free(a.arena);
    return st;
}
