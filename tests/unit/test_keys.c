/* The key table and the prompt: reading, overriding, showing; editing, history, completion. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tui/keymap.h"
#include "tui/prompt.h"

static const char *const graph_maps[] = {"graph", NULL};
static const char *const units_maps[] = {"units", NULL};

static void a_map_is_asked_before_any(void **state)
{
    (void)state;
    aot_keymap *k = aot_keymap_new();
    assert_int_equal(aot_keymap_find(k, graph_maps, 'h'), AOT_ACT_STAGE_PREV);
    assert_int_equal(aot_keymap_find(k, units_maps, 'h'), AOT_ACT_HELP);
    assert_int_equal(aot_keymap_find(k, units_maps, 'j'), AOT_ACT_DOWN);
    assert_int_equal(aot_keymap_find(k, units_maps, '%'), AOT_ACT_NONE);
    aot_keymap_free(k);
}

static void later_lines_win_and_none_unbinds(void **state)
{
    (void)state;
    aot_err err = {0};
    char keys[100];
    aot_keymap *k = aot_keymap_new();
    assert_int_equal(aot_keymap_read(k, "# mine\nbind any j up\nbind any k none\n", "f", &err),
                     AOT_OK);
    assert_int_equal(aot_keymap_find(k, units_maps, 'j'), AOT_ACT_UP);
    assert_int_equal(aot_keymap_find(k, units_maps, 'k'), AOT_ACT_NONE);
    aot_keymap_all(k, AOT_ACT_UP, keys, sizeof keys);
    assert_non_null(strstr(keys, "j"));
    assert_null(strstr(keys, "k"));
    aot_keymap_free(k);
}

static void a_wrong_line_is_named(void **state)
{
    (void)state;
    aot_keymap *k = aot_keymap_new();
    static const char *const wrong[] = {"\nbind any j\n", "\nbind any j fly\n",
                                        "\nbind any <Foo> up\n", "\nbound any j up\n",
                                        "\nbind any j up up\n"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        aot_err err = {0};
        assert_int_equal(aot_keymap_read(k, wrong[i], "keys", &err), AOT_E_PARSE);
        assert_int_equal(err.at.line, 2);
        assert_string_equal(err.file, "keys");
    }
    aot_keymap_free(k);
}

static void every_action_has_a_key_a_name_and_a_group(void **state)
{
    (void)state;
    aot_keymap *k = aot_keymap_new();
    for (int a = AOT_ACT_NONE + 1; a < AOT_N_ACTIONS; a++) {
        char keys[100];
        assert_string_not_equal(aot_keymap_all(k, (aot_action)a, keys, sizeof keys), "");
        assert_int_equal(aot_action_find(aot_action_name((aot_action)a)), a);
        assert_string_not_equal(aot_action_group((aot_action)a), "");
    }
    aot_keymap_free(k);
}

static void keys_are_read_as_they_are_written(void **state)
{
    (void)state;
    const char *s = "<Enter><C-l><F12><lt>é<x";
    assert_int_equal(aot_key_read(&s), AOT_KEY_ENTER);
    assert_int_equal(aot_key_read(&s), 12);
    assert_int_equal(aot_key_read(&s), AOT_KEY_F12);
    assert_int_equal(aot_key_read(&s), '<');
    assert_int_equal(aot_key_read(&s), 0xe9);
    assert_int_equal(aot_key_read(&s), '<');
    assert_int_equal(aot_key_read(&s), 'x');
    assert_int_equal(aot_key_read(&s), AOT_KEY_NONE);
}

/* ---- the prompt ---- */

static void complete(void *arg, const char *text, size_t *start, prompt_words *words)
{
    (void)arg;
    (void)text;
    static const char *const known[] = {"search", "sort", "stage", "goto"};
    *start = 0;
    for (size_t i = 0; i < 4; i++) {
        prompt_add_word(words, known[i], "what it does");
    }
}

static aot_prompt prompt;

static int open_prompt(void **state)
{
    (void)state;
    prompt_init(&prompt, complete, NULL);
    prompt_open(&prompt, PROMPT_COMMAND, "");
    return 0;
}

static int close_prompt(void **state)
{
    (void)state;
    prompt_done(&prompt);
    return 0;
}

static prompt_event type(const char *keys)
{
    prompt_event e = PROMPT_NOTHING;
    while (*keys) {
        e = prompt_key(&prompt, aot_key_read(&keys));
    }
    return e;
}

#define assert_text(expected) assert_string_equal(aot_sb_text(&prompt.text), expected)

static void text_is_edited_where_the_cursor_is(void **state)
{
    (void)state;
    type("héllo<Left><Left><BS><BS>a");
    assert_text("halo");
    type("<Home>X<End>Y<C-w>");
    assert_text("");
    type("one two<C-w>");
    assert_text("one ");
    type("<Home><Del><C-k>");
    assert_text("");
}

static void backspace_on_an_empty_line_closes(void **state)
{
    (void)state;
    assert_int_equal(type("a<BS>"), PROMPT_CHANGED);
    assert_int_equal(type("<BS>"), PROMPT_CANCELLED);
    assert_int_equal(prompt.kind, PROMPT_NONE);
}

static void up_finds_older_lines_with_the_same_beginning(void **state)
{
    (void)state;
    static const char *const lines[] = {"stage joint<Enter>", "goto mm<Enter>",
                                        "stage aten<Enter>"};
    for (size_t i = 0; i < 3; i++) {
        prompt_open(&prompt, PROMPT_COMMAND, "");
        assert_int_equal(type(lines[i]), PROMPT_DONE);
    }
    prompt_open(&prompt, PROMPT_COMMAND, "");
    type("st<Up>");
    assert_text("stage aten");
    type("<Up>");
    assert_text("stage joint");
    type("<Up>");
    assert_text("stage joint");
    type("<Down><Down>");
    assert_text("st");
}

static void tab_completes_the_common_part_then_each_word(void **state)
{
    (void)state;
    type("g<Tab>");
    assert_text("goto ");
    prompt_open(&prompt, PROMPT_COMMAND, "");
    type("s");
    assert_int_equal(prompt.words.n, 3); // offered while one types
    type("<Tab>");
    assert_text("search");
    type("<Tab>");
    assert_text("sort");
    type("<Tab><Tab>");
    assert_text("search");
    type("<S-Tab>");
    assert_text("stage");
    prompt_open(&prompt, PROMPT_COMMAND, "");
    type("sea<Tab>");
    assert_text("search ");
}

static void words_are_ranked_by_how_they_fit(void **state)
{
    (void)state;
    assert_int_equal(prompt_rank("stage-next", "st"), 0);
    assert_int_equal(prompt_rank("stage-next", "next"), 1);
    assert_int_equal(prompt_rank("stage-next", "age"), 2);
    assert_int_equal(prompt_rank("stage-next", "sgnx"), 3);
    assert_int_equal(prompt_rank("stage-next", "xs"), -1);
    assert_int_equal(prompt_rank("Stage", "st"), 0);
    assert_int_equal(prompt_rank("stage", "ST"), -1);
    type("ot"); // inside of "goto", scattered in "sort"
    assert_int_equal(prompt.words.n, 2);
    assert_string_equal(prompt.words.d[0].word, "goto");
    assert_string_equal(prompt.words.d[1].word, "sort");
}

#define PROMPT_TEST(name) cmocka_unit_test_setup_teardown(name, open_prompt, close_prompt)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_map_is_asked_before_any),
        cmocka_unit_test(later_lines_win_and_none_unbinds),
        cmocka_unit_test(a_wrong_line_is_named),
        cmocka_unit_test(every_action_has_a_key_a_name_and_a_group),
        cmocka_unit_test(keys_are_read_as_they_are_written),
        PROMPT_TEST(text_is_edited_where_the_cursor_is),
        PROMPT_TEST(backspace_on_an_empty_line_closes),
        PROMPT_TEST(up_finds_older_lines_with_the_same_beginning),
        PROMPT_TEST(tab_completes_the_common_part_then_each_word),
        PROMPT_TEST(words_are_ranked_by_how_they_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
