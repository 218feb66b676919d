/* Session files: what is written comes back, and nothing else is ever overwritten. */
#include "fixture.h"

#include <dirent.h>
#include <sys/wait.h>

#include "session/derive.h"
#include "session/query.h"
#include "session/record_inputs.h"
#include "session/recorder.h"
#include "session/session.h"

static const char *dir;

static const char *in_dir(const char *name)
{
    static char paths[4][512];
    static unsigned k;
    char *p = paths[k++ % 4];
    snprintf(p, sizeof paths[0], "%s/%s", dir, name);
    return p;
}

static int make_dir(void **state)
{
    (void)state;
    dir = scratch_dir();
    return 0;
}

static int remove_dir(void **state)
{
    (void)state;
    DIR *d = opendir(dir);
    for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
        if (e->d_name[0] != '.') {
            unlink(in_dir(e->d_name));
        }
    }
    closedir(d);
    return rmdir(dir);
}

static unsigned n_files(void)
{
    unsigned n = 0;
    DIR *d = opendir(dir);
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        n += e->d_name[0] != '.';
    }
    closedir(d);
    return n;
}

static void import_one(const char *input, const char *path)
{
    aot_model_options opt = {.session_path = path};
    aot_err err = {0};
    if (aot_record_inputs(&input, 1, &opt, NULL, &err) != AOT_OK) {
        fail_msg("%s", err.msg);
    }
}

static int64_t number(const char *path, const char *sql)
{
    aot_session *s = NULL;
    aot_err err = {0};
    if (aot_session_open(&s, path, &err) != AOT_OK) {
        fail_msg("%s", err.msg);
    }
    sqlite3_stmt *q = NULL;
    assert_int_equal(sqlite3_prepare_v2(aot_session_db(s), sql, -1, &q, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(q), SQLITE_ROW);
    int64_t v = sqlite3_column_int64(q, 0);
    sqlite3_finalize(q);
    aot_session_close(s);
    return v;
}

/* A unit of one record, made by hand. */
static aot_unit *small_unit(const char *text)
{
    aot_unit *u = aot_unit_new();
    u->key = (aot_unit_key){
        .rank = 2, .compiled_autograd_id = -1, .frame = 3, .compile = 1, .attempt = 0};
    u->input = "train.log";
    u->title = "forward";
    u->torch_version = "2.11.0";
    u->n_static_inputs = 2;
    u->static_inputs = AOT_NEW_ARRAY(u->arena, int, 2);
    u->static_inputs[1] = 7;
    u->n_forward_outputs = 4;
    u->cache = "miss";
    u->seconds = 1.5;
    u->fw_metadata = "ViewAndMutationMeta()";
    u->config = json_pack("{s:b}", "cse", 0);
    aot_record r = {.name = "some_artifact",
                    .text = text,
                    .len = strlen(text),
                    .meta = "{\"a\":1}",
                    .line = 12,
                    .is_artifact = true,
                    .stage = AOT_N_STAGES};
    aot_vec_push(&u->records, r);
    aot_input_desc d = {.source = "L['x']",
                        .dtype = "torch.float32",
                        .storage = 5,
                        .storage_bytes = 64,
                        .requires_grad = true,
                        .size = "[4]"};
    aot_vec_push(&u->inputs, d);
    aot_symbol y = {.name = "s77", .source = "L['x'].size()[0]", .hint = 5, .has_hint = true};
    aot_vec_push(&u->symbols, y);
    aot_import_note n = {.file = "train.log", .line = 9, .kind = "damage", .text = "a broken line"};
    aot_vec_push(&u->notes, n);
    return u;
}

static void record(aot_session *s, const aot_unit *u)
{
    aot_recorder *r = NULL;
    aot_config c;
    aot_err err = {0};
    assert_int_equal(aot_recorder_new(&r, s, &err), AOT_OK);
    assert_int_equal(aot_unit_config(&c, u, NULL, 0, &err), AOT_OK);
    if (aot_recorder_unit(r, u, &c, &err) != AOT_OK) {
        fail_msg("%s", err.msg);
    }
    aot_recorder_free(r);
}

static void a_recorded_unit_reads_back_equal(void **state)
{
    (void)state;
    aot_session *s = NULL;
    aot_err err = {0};
    aot_unit *u = small_unit("payload\nof two lines"), *v = NULL;
    assert_int_equal(aot_session_create(&s, in_dir("a.aots"), &err), AOT_OK);
    record(s, u);
    assert_int_equal(aot_session_finish(s, &err), AOT_OK);
    assert_int_equal(aot_session_open(&s, in_dir("a.aots"), &err), AOT_OK);
    assert_string_equal(aot_session_value(s, "state"), "complete");
    aot_queries *q = aot_queries_new(s);
    int64_t *ids = NULL;
    size_t n = 0;
    assert_int_equal(aot_query_units(q, &ids, &n, &err), AOT_OK);
    assert_int_equal(n, 1);
    assert_int_equal(aot_query_unit(q, ids[0], &v, &err), AOT_OK);
    assert_memory_equal(&u->key, &v->key, sizeof u->key);
    assert_string_equal(v->title, "forward");
    assert_string_equal(v->cache, "miss");
    assert_string_equal(v->fw_metadata, u->fw_metadata);
    assert_int_equal(v->n_static_inputs, 2);
    assert_int_equal(v->static_inputs[1], 7);
    assert_int_equal(v->n_forward_outputs, 4);
    assert_true(v->seconds == 1.5);
    assert_true(json_equal(u->config, v->config));
    assert_int_equal(v->records.n, 1);
    assert_string_equal(v->records.d[0].text, "payload\nof two lines");
    assert_int_equal(v->records.d[0].len, u->records.d[0].len);
    assert_string_equal(v->records.d[0].meta, "{\"a\":1}");
    assert_int_equal(v->records.d[0].line, 12);
    assert_true(v->records.d[0].is_artifact);
    assert_int_equal(v->records.d[0].stage, AOT_N_STAGES);
    assert_string_equal(v->inputs.d[0].source, "L['x']");
    assert_int_equal(v->inputs.d[0].storage_bytes, 64);
    assert_true(v->inputs.d[0].requires_grad);
    assert_int_equal(v->symbols.d[0].hint, 5);
    assert_int_equal(v->notes.d[0].line, 9);
    free(ids);
    aot_unit_free(u);
    aot_unit_free(v);
    aot_queries_free(q);
    aot_session_close(s);
}

static void equal_texts_are_stored_once(void **state)
{
    (void)state;
    aot_session *s = NULL;
    aot_err err = {0};
    aot_unit *u = small_unit("the same"), *v = small_unit("the same");
    assert_int_equal(aot_session_create(&s, in_dir("twice.aots"), &err), AOT_OK);
    aot_recorder *r = NULL;
    aot_config c;
    aot_config_init(&c);
    assert_int_equal(aot_recorder_new(&r, s, &err), AOT_OK);
    assert_int_equal(aot_recorder_unit(r, u, &c, &err), AOT_OK);
    assert_int_equal(aot_recorder_unit(r, v, &c, &err), AOT_OK);
    aot_recorder_free(r);
    assert_int_equal(aot_session_finish(s, &err), AOT_OK);
    assert_int_equal(number(in_dir("twice.aots"), "SELECT count(*) FROM record"), 2);
    assert_int_equal(
        number(in_dir("twice.aots"), "SELECT count(*) FROM text WHERE text = 'the same'"), 1);
    aot_unit_free(u);
    aot_unit_free(v);
}

static void each_aot_graph_of_a_log_is_a_row(void **state)
{
    (void)state;
    import_one(fixture("logs/dropout_default.log.gz"), in_dir("rows.aots"));
    assert_int_equal(number(in_dir("rows.aots"), "SELECT count(*) FROM recorded_graphs"), 3);
    assert_int_equal(number(in_dir("rows.aots"),
                            "SELECT n_nodes FROM recorded_graphs WHERE kind='aot_joint_graph'"),
                     16);
    assert_int_equal(
        number(in_dir("rows.aots"), "SELECT count(*) FROM units WHERE path = 'autograd'"), 1);
    assert_int_equal(
        number(in_dir("rows.aots"), "SELECT count(*) FROM rng_sites WHERE stage = 'joint'"), 1);
    assert_int_equal(
        number(in_dir("rows.aots"), "SELECT count(*) FROM inputs WHERE source = 'L[''x'']'"), 1);
}

static void the_partition_of_a_log_is_in_the_views(void **state)
{
    (void)state;
    import_one(fixture("logs/dropout_default.log.gz"), in_dir("part.aots"));
    assert_int_equal(number(in_dir("part.aots"), "SELECT count(*) FROM saved"), 3);
    assert_int_equal(number(in_dir("part.aots"),
                            "SELECT count(*) FROM saved WHERE position = 0 AND name = 'primals_1'"),
                     1);
    assert_int_equal(
        number(in_dir("part.aots"),
               "SELECT count(*) FROM stage_graph WHERE stage='joint_cse' AND origin='derived'"),
        1);
    assert_int_equal(
        number(in_dir("part.aots"), "SELECT count(*) FROM stage_diff WHERE result = 'same'"), 4);
    assert_int_equal(
        number(in_dir("part.aots"), "SELECT count(*) FROM pass_run WHERE seconds IS NOT NULL"), 2);
    assert_int_equal(number(in_dir("part.aots"), "SELECT count(*) FROM memory_peaks"), 2);
    // what lives, less what is freed, plus what the next node allocates, is what lives then
    assert_true(number(in_dir("part.aots"),
                       "SELECT count(*) FROM memory_timeline WHERE side = 'backward'") > 3);
    assert_int_equal(
        number(
            in_dir("part.aots"),
            "SELECT count(*) FROM memory_timeline a JOIN memory_timeline b ON b.unit = a.unit AND "
            "b.side = a.side AND b.idx = a.idx + 1 WHERE b.live_bytes <> "
            "a.live_bytes - a.freed_bytes + b.allocated_bytes"),
        0);
    assert_true(number(in_dir("part.aots"), "SELECT count(*) FROM rewrites WHERE rule LIKE "
                                            "'gradient of %'") > 0);
}

static void other_files_are_refused_and_stay_as_they_are(void **state)
{
    (void)state;
    aot_session *s = NULL;
    aot_err err = {0};
    static const char text[] =
        "V1129 a log, not a session; longer than a header, so that nothing of it is guessed at all";
    write_file(in_dir("notes.txt"), text, sizeof text - 1);
    assert_int_equal(aot_session_create(&s, in_dir("notes.txt"), &err), AOT_E_SESSION);
    assert_non_null(strstr(err.msg, "not an aotscope session"));
    size_t n = 0;
    char *now = read_file(in_dir("notes.txt"), &n);
    assert_string_equal(now, text);
    free(now);

    sqlite3 *db = NULL;
    sqlite3_open(in_dir("other.db"), &db);
    sqlite3_exec(db, "PRAGMA application_id = 77; CREATE TABLE t(x); INSERT INTO t VALUES (3)",
                 NULL, NULL, NULL);
    sqlite3_close(db);
    err = (aot_err){0};
    assert_int_equal(aot_session_create(&s, in_dir("other.db"), &err), AOT_E_SESSION);
    assert_non_null(strstr(err.msg, "another program"));
    err = (aot_err){0};
    assert_int_equal(aot_session_open(&s, in_dir("other.db"), &err), AOT_E_SESSION);
    assert_non_null(strstr(err.msg, "0x0000004d"));
}

static void a_newer_session_is_named_as_such(void **state)
{
    (void)state;
    aot_session *s = NULL;
    aot_err err = {0};
    import_one(fixture("logs/inference_mlp.log.gz"), in_dir("newer.aots"));
    sqlite3 *db = NULL;
    sqlite3_open(in_dir("newer.aots"), &db);
    sqlite3_exec(db, "PRAGMA user_version = 99", NULL, NULL, NULL);
    sqlite3_close(db);
    assert_int_equal(aot_session_open(&s, in_dir("newer.aots"), &err), AOT_E_SESSION);
    assert_non_null(strstr(err.msg, "newer aotscope: format 99"));
    err = (aot_err){0};
    assert_int_equal(aot_session_create(&s, in_dir("newer.aots"), &err), AOT_E_SESSION);
}

static void a_damaged_session_is_an_error_not_a_crash(void **state)
{
    (void)state;
    import_one(fixture("logs/dynamic_mlp.log.gz"), in_dir("whole.aots"));
    size_t n = 0;
    char *d = read_file(in_dir("whole.aots"), &n);
    for (size_t keep = 100; keep < n; keep += n / 7) {
        write_file(in_dir("cut.aots"), d, keep);
        const char *input = in_dir("cut.aots");
        aot_model *m = NULL;
        aot_err err = {0};
        if (aot_model_open(&m, &input, 1, NULL, &err) == AOT_OK) {
            for (size_t i = 0; i < aot_model_n_units(m); i++) {
                aot_model_unit_line(m, i);
            }
            aot_model_free(m);
        } else {
            assert_int_equal(err.code, AOT_E_SESSION);
        }
    }
    memset(d + 8192, 0x5a, n > 40960 ? 32768 : n - 8192);
    write_file(in_dir("cut.aots"), d, n);
    aot_session *s = NULL;
    aot_err err = {0};
    aot_status st = aot_session_open(&s, in_dir("cut.aots"), &err);
    if (st == AOT_OK) {
        aot_queries *q = aot_queries_new(s);
        aot_unit *u = NULL;
        st = aot_query_unit(q, 0, &u, &err);
        aot_queries_free(q);
        aot_session_close(s);
    }
    assert_int_equal(st, AOT_E_SESSION);
    assert_non_null(strstr(err.msg, "damaged"));
    free(d);
}

static void an_older_session_stays_until_the_new_one_is_complete(void **state)
{
    (void)state;
    aot_session *s = NULL;
    aot_err err = {0};
    import_one(fixture("logs/inference_mlp.log.gz"), in_dir("keep.aots"));
    unsigned before = n_files();
    assert_int_equal(aot_session_create(&s, in_dir("keep.aots"), &err), AOT_OK);
    aot_unit *u = small_unit("new");
    record(s, u);
    aot_unit_free(u);
    assert_int_equal(number(in_dir("keep.aots"), "SELECT count(*) FROM unit WHERE frame = 3"), 0);
    assert_int_equal(number(in_dir("keep.aots"), "SELECT count(*) FROM recorded_graphs"), 1);
    aot_session_close(s); /* given up */
    assert_int_equal(number(in_dir("keep.aots"), "SELECT count(*) FROM recorded_graphs"), 1);
    assert_int_equal(n_files(), before);

    import_one(fixture("logs/dropout_default.log.gz"), in_dir("keep.aots"));
    assert_int_equal(number(in_dir("keep.aots"), "SELECT count(*) FROM recorded_graphs"), 3);
    assert_int_equal(n_files(), before);
}

static void an_import_that_reads_nothing_leaves_no_file(void **state)
{
    (void)state;
    const char *input = in_dir("nothing.txt");
    write_file(input, "hello\n", 6);
    unsigned before = n_files();
    aot_model_options opt = {.session_path = in_dir("none.aots")};
    aot_err err = {0};
    assert_int_not_equal(aot_record_inputs(&input, 1, &opt, NULL, &err), AOT_OK);
    assert_int_equal(n_files(), before);
}

static void a_finished_session_is_one_file(void **state)
{
    (void)state;
    unsigned before = n_files();
    import_one(fixture("logs/inference_mlp.log.gz"), in_dir("one.aots"));
    assert_int_equal(n_files(), before + 1);
}

static void a_session_in_use_is_not_replaced(void **state)
{
    (void)state;
    aot_session *s = NULL;
    aot_err err = {0};
    import_one(fixture("logs/inference_mlp.log.gz"), in_dir("busy.aots"));
    sqlite3 *db = NULL;
    sqlite3_open(in_dir("busy.aots"), &db);
    assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(aot_session_create(&s, in_dir("busy.aots"), &err), AOT_E_SESSION);
    assert_non_null(strstr(err.msg, "another program has this session open"));
    sqlite3_close(db);
}

static void one_import_at_a_time_writes_a_file(void **state)
{
    (void)state;
    aot_session *writer = NULL, *s = NULL;
    aot_err err = {0};
    unsigned before = n_files();
    assert_int_equal(aot_session_create(&writer, in_dir("two.aots"), &err), AOT_OK);
    assert_int_equal(aot_session_create(&s, in_dir("two.aots"), &err), AOT_E_SESSION);
    assert_non_null(strstr(err.msg, "another import is writing"));
    err = (aot_err){0};
    assert_int_equal(aot_session_finish(writer, &err), AOT_OK);
    assert_int_equal(aot_session_create(&writer, in_dir("two.aots"), &err), AOT_OK);
    aot_session_close(writer);
    assert_int_equal(n_files(), before + 1);
}

static void after_a_failed_statement_nothing_is_written_and_the_older_session_stays(void **state)
{
    (void)state;
    aot_session *s = NULL;
    aot_recorder *r = NULL;
    aot_err err = {0}, again = {0};
    import_one(fixture("logs/inference_mlp.log.gz"), in_dir("spoilt.aots"));
    unsigned before = n_files();
    assert_int_equal(aot_session_create(&s, in_dir("spoilt.aots"), &err), AOT_OK);
    assert_int_equal(aot_recorder_new(&r, s, &err), AOT_OK);
    assert_int_equal(aot_session_exec(s, "PRAGMA max_page_count = 1", &err), AOT_OK);
    aot_unit *u = small_unit("lost");
    aot_config config;
    aot_config_init(&config);
    aot_record *rec = &u->records.d[0];
    rec->len = 4000000;
    char *big = aot_arena_alloc(u->arena, rec->len + 1);
    memset(big, 'x', rec->len);
    big[rec->len] = 0;
    rec->text = big;
    assert_int_equal(aot_recorder_unit(r, u, &config, &err), AOT_E_IO);
    assert_non_null(strstr(err.msg, "could not be written"));
    assert_int_equal(aot_recorder_status(r, &again), AOT_E_IO);
    aot_unit_free(u);
    aot_recorder_free(r);
    err = (aot_err){0};
    assert_int_equal(aot_session_finish(s, &err), AOT_E_IO);
    assert_int_equal(number(in_dir("spoilt.aots"), "SELECT count(*) FROM recorded_graphs"), 1);
    assert_int_equal(n_files(), before);
}

static void a_foreign_database_with_our_number_is_refused(void **state)
{
    (void)state;
    aot_session *s = NULL;
    aot_err err = {0};
    sqlite3 *db = NULL;
    sqlite3_open(in_dir("mask.db"), &db);
    sqlite3_exec(db, "PRAGMA application_id = 1634694259; PRAGMA user_version = 1;"
                     "CREATE TABLE t(x); INSERT INTO t VALUES (3)",
                 NULL, NULL, NULL);
    sqlite3_close(db);
    assert_int_equal(aot_session_create(&s, in_dir("mask.db"), &err), AOT_E_SESSION);
    assert_non_null(strstr(err.msg, "another program"));
    size_t n = 0, n_before = 0;
    char *before = read_file(in_dir("mask.db"), &n_before);
    assert_int_equal(aot_session_create(&s, in_dir("mask.db"), NULL), AOT_E_SESSION);
    char *now = read_file(in_dir("mask.db"), &n);
    assert_int_equal(n, n_before);
    assert_memory_equal(now, before, n);
    free(now);
    free(before);
}

static void a_view_in_the_place_of_a_table_is_refused(void **state)
{
    (void)state;
    aot_session *s = NULL;
    aot_err err = {0};
    import_one(fixture("logs/inference_mlp.log.gz"), in_dir("view.aots"));
    sqlite3 *db = NULL;
    sqlite3_open(in_dir("view.aots"), &db);
    sqlite3_exec(db, "DROP TABLE text; CREATE VIEW text AS WITH RECURSIVE c(x) AS (SELECT 1 UNION "
                     "ALL SELECT x + 1 FROM c) SELECT x AS id, 'a' AS text FROM c",
                 NULL, NULL, NULL);
    sqlite3_close(db);
    assert_int_equal(aot_session_open(&s, in_dir("view.aots"), &err), AOT_E_SESSION);
    assert_non_null(strstr(err.msg, "text is no table"));
}

static void a_viewer_sees_what_was_committed_so_far(void **state)
{
    (void)state;
    aot_session *s = NULL;
    aot_err err = {0};
    assert_int_equal(aot_session_create(&s, in_dir("live.aots"), &err), AOT_OK);
    aot_unit *u = small_unit("live");
    record(s, u);
    aot_unit_free(u);
    assert_int_equal(number(in_dir("live.aots"), "SELECT count(*) FROM unit"), 1);
    assert_int_equal(aot_session_finish(s, &err), AOT_OK);
}

static void a_crash_loses_only_the_running_pass(void **state)
{
    (void)state;
    pid_t pid = fork();
    if (pid == 0) {
        aot_session *s = NULL;
        aot_recorder *r = NULL;
        aot_config c;
        aot_config_init(&c);
        aot_unit *u = small_unit("before the crash");
        bool ok = aot_session_create(&s, in_dir("crash.aots"), NULL) == AOT_OK &&
                  aot_recorder_new(&r, s, NULL) == AOT_OK &&
                  aot_recorder_unit(r, u, &c, NULL) == AOT_OK;
        if (ok) {
            aot_recorder_observer(r)->on_pass_begin(r, "partition");
        }
        _exit(ok ? 0 : 1);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
    assert_int_equal(number(in_dir("crash.aots"), "SELECT count(*) FROM unit"), 1);
    assert_int_equal(number(in_dir("crash.aots"), "SELECT count(*) FROM pass_run"), 0);
    assert_int_equal(
        number(in_dir("crash.aots"), "SELECT value = 'writing' FROM session WHERE key = 'state'"),
        1);
    const char *input = in_dir("crash.aots");
    aot_model *m = NULL;
    assert_int_equal(aot_model_open(&m, &input, 1, NULL, NULL), AOT_OK);
    assert_int_equal(aot_model_n_units(m), 1);
    assert_int_equal(aot_model_n_notes(m), 1); /* not complete */
    aot_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_recorded_unit_reads_back_equal),
        cmocka_unit_test(equal_texts_are_stored_once),
        cmocka_unit_test(each_aot_graph_of_a_log_is_a_row),
        cmocka_unit_test(the_partition_of_a_log_is_in_the_views),
        cmocka_unit_test(other_files_are_refused_and_stay_as_they_are),
        cmocka_unit_test(a_newer_session_is_named_as_such),
        cmocka_unit_test(a_damaged_session_is_an_error_not_a_crash),
        cmocka_unit_test(an_older_session_stays_until_the_new_one_is_complete),
        cmocka_unit_test(an_import_that_reads_nothing_leaves_no_file),
        cmocka_unit_test(a_finished_session_is_one_file),
        cmocka_unit_test(a_session_in_use_is_not_replaced),
        cmocka_unit_test(one_import_at_a_time_writes_a_file),
        cmocka_unit_test(after_a_failed_statement_nothing_is_written_and_the_older_session_stays),
        cmocka_unit_test(a_foreign_database_with_our_number_is_refused),
        cmocka_unit_test(a_view_in_the_place_of_a_table_is_refused),
        cmocka_unit_test(a_viewer_sees_what_was_committed_so_far),
        cmocka_unit_test(a_crash_loses_only_the_running_pass),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
