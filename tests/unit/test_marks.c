/* Marks and notes are in the session, or in the reader's own file, and nothing of them is lost. */
#include "fixture.h"

#include <dirent.h>

#include "session/marks.h"
#include "session/record_inputs.h"
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

static aot_model *open_one(const char *input)
{
    aot_model *m = NULL;
    aot_err err = {0};
    if (aot_model_open(&m, &input, 1, NULL, &err) != AOT_OK) {
        fail_msg("%s: %s", input, err.msg);
    }
    return m;
}

static void import_to(const char *path)
{
    const char *input = fixture("logs/dropout_default.log.gz");
    aot_model_options opt = {.session_path = path};
    aot_err err = {0};
    assert_int_equal(aot_record_inputs(&input, 1, &opt, NULL, &err), AOT_OK);
}

static aot_marks *open_marks(aot_model *m)
{
    aot_err err = {0};
    aot_marks *k = aot_marks_open(m, in_dir("marks.sqlite"), &err);
    assert_int_equal(err.code, AOT_OK);
    return k;
}

static void mark_two(aot_marks *k)
{
    aot_err err = {0};
    assert_int_equal(aot_marks_set(k, 0, AOT_STAGE_JOINT, "mm", 'a', &err), AOT_OK);
    assert_int_equal(aot_marks_note(k, 0, AOT_STAGE_JOINT, "mm", "the \"large\" one", &err),
                     AOT_OK);
}

static void assert_two(aot_marks *k)
{
    assert_int_equal(aot_marks_count(k), 2);
    assert_string_equal(aot_marks_find(k, 'a')->node, "mm");
    assert_int_equal(aot_marks_find(k, 'a')->unit, 0);
    assert_int_equal(aot_marks_find(k, 'a')->stage, AOT_STAGE_JOINT);
    assert_null(aot_marks_find(k, 'b'));
    assert_string_equal(aot_marks_note_of(k, 0, "mm"), "the \"large\" one");
    assert_int_equal(aot_marks_letter_of(k, 0, "mm"), 'a');
    assert_null(aot_marks_note_of(k, 0, "mm_1"));
}

static void close_both(aot_marks *k, aot_model *m)
{
    aot_marks_close(k);
    aot_model_free(m);
}

static void a_session_keeps_them_also_when_it_is_made_anew(void **state)
{
    (void)state;
    const char *path = in_dir("s.aots");
    import_to(path);
    aot_model *m = open_one(path);
    aot_marks *k = open_marks(m);
    mark_two(k);
    assert_non_null(strstr(aot_marks_where(k), "kept in "));
    assert_non_null(strstr(aot_marks_where(k), "s.aots"));
    close_both(k, m);
    import_to(in_dir("s.aots"));
    m = open_one(in_dir("s.aots"));
    k = open_marks(m);
    assert_two(k);
    close_both(k, m);
    assert_int_equal(access(in_dir("marks.sqlite"), F_OK), -1);
}

static void a_session_of_an_older_program_gets_the_table(void **state)
{
    (void)state;
    const char *path = in_dir("s.aots");
    sqlite3 *db = NULL;
    import_to(path);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "DROP VIEW marks; DROP TABLE mark", NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_close(db);
    aot_model *m = open_one(path);
    aot_marks *k = open_marks(m);
    mark_two(k);
    close_both(k, m);
    m = open_one(path);
    k = open_marks(m);
    assert_two(k);
    close_both(k, m);
}

static void those_of_a_log_are_found_again_with_the_log_and_its_session(void **state)
{
    (void)state;
    aot_model *m = open_one(fixture("logs/dropout_default.log.gz"));
    aot_marks *k = open_marks(m);
    mark_two(k);
    assert_non_null(strstr(aot_marks_where(k), "marks.sqlite"));
    assert_non_null(strstr(aot_marks_where(k), "aotscope import"));
    close_both(k, m);
    m = open_one(fixture("logs/dropout_default.log.gz"));
    k = open_marks(m);
    assert_two(k);
    close_both(k, m);
    m = open_one(fixture("logs/dynamic_mlp.log.gz"));
    k = open_marks(m);
    assert_int_equal(aot_marks_count(k), 0);
    close_both(k, m);
    import_to(in_dir("s.aots"));
    m = open_one(in_dir("s.aots"));
    k = open_marks(m);
    assert_two(k);
    close_both(k, m);
}

static void a_session_that_cannot_be_written_says_so_and_loses_nothing(void **state)
{
    (void)state;
    const char *path = in_dir("s.aots");
    sqlite3 *db = NULL;
    import_to(path);
    aot_model *m = open_one(path);
    aot_marks *k = open_marks(m);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    aot_err err = {0};
    assert_int_equal(aot_marks_note(k, 0, AOT_STAGE_JOINT, "mm", "the \"large\" one", &err),
                     AOT_OK);
    assert_non_null(strstr(aot_marks_where(k), "s.aots cannot be written"));
    assert_non_null(strstr(aot_marks_where(k), "marks.sqlite"));
    sqlite3_close(db);
    assert_int_equal(aot_marks_set(k, 0, AOT_STAGE_JOINT, "mm", 'a', &err), AOT_OK);
    close_both(k, m);
    m = open_one(path);
    k = open_marks(m);
    assert_two(k);
    close_both(k, m);
}

static void a_letter_is_at_one_place_and_an_empty_note_is_none(void **state)
{
    (void)state;
    aot_model *m = open_one(fixture("logs/dropout_default.log.gz"));
    aot_marks *k = open_marks(m);
    aot_err err = {0};
    mark_two(k);
    assert_int_equal(aot_marks_set(k, 0, AOT_STAGE_FORWARD, "mm_1", 'a', &err), AOT_OK);
    assert_int_equal(aot_marks_note(k, 0, AOT_STAGE_JOINT, "mm", "", &err), AOT_OK);
    assert_int_equal(aot_marks_set(k, 0, AOT_STAGE_JOINT, "", 'b', &err), AOT_E_USAGE);
    assert_int_equal(aot_marks_set(k, 0, AOT_STAGE_JOINT, "mm", 7, &err), AOT_E_USAGE);
    for (int again = 0; again < 2; again++) {
        assert_int_equal(aot_marks_count(k), 1);
        assert_string_equal(aot_marks_find(k, 'a')->node, "mm_1");
        assert_null(aot_marks_note_of(k, 0, "mm"));
        if (again == 0) {
            close_both(k, m);
            m = open_one(fixture("logs/dropout_default.log.gz"));
            k = open_marks(m);
        }
    }
    close_both(k, m);
}

static void a_damaged_file_is_named(void **state)
{
    (void)state;
    write_file(in_dir("marks.sqlite"), "this is no database, and it is long enough to tell", 50);
    aot_model *m = open_one(fixture("logs/dropout_default.log.gz"));
    aot_err err = {0};
    aot_marks *k = aot_marks_open(m, in_dir("marks.sqlite"), &err);
    assert_int_equal(err.code, AOT_E_SESSION);
    assert_non_null(strstr(err.file, "marks.sqlite"));
    err = (aot_err){0};
    assert_int_equal(aot_marks_set(k, 0, AOT_STAGE_JOINT, "mm", 'a', &err), AOT_OK);
    assert_non_null(strstr(aot_marks_where(k), "until aotscope ends"));
    assert_int_equal(aot_marks_letter_of(k, 0, "mm"), 'a');
    close_both(k, m);
}

#define MARKS_TEST(name) cmocka_unit_test_setup_teardown(name, make_dir, remove_dir)

int main(void)
{
    const struct CMUnitTest tests[] = {
        MARKS_TEST(a_session_keeps_them_also_when_it_is_made_anew),
        MARKS_TEST(a_session_of_an_older_program_gets_the_table),
        MARKS_TEST(those_of_a_log_are_found_again_with_the_log_and_its_session),
        MARKS_TEST(a_session_that_cannot_be_written_says_so_and_loses_nothing),
        MARKS_TEST(a_letter_is_at_one_place_and_an_empty_note_is_none),
        MARKS_TEST(a_damaged_file_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
