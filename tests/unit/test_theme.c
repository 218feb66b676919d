/* Themes of colours, and a screen as text, HTML and SVG. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "viewers/theme.h"

/* What a reader must be able to tell apart. */
static const aot_style verdicts[] = {AOT_STYLE_SAVED, AOT_STYLE_RECOMPUTED, AOT_STYLE_BACKWARD,
                                     AOT_STYLE_RANDOM, AOT_STYLE_FORWARD};
enum { N_VERDICTS = sizeof verdicts / sizeof *verdicts };
static const int depths[] = {8, 16, 256};

static void verdicts_look_different_in_every_theme_with_colours(void **state)
{
    (void)state;
    for (int t = 0; t < AOT_N_THEMES; t++) {
        for (size_t d = 0; t != AOT_THEME_MONO && d < 3; d++) {
            for (int i = 0; i < N_VERDICTS; i++) {
                for (int k = 0; k < i; k++) {
                    assert_string_not_equal(aot_theme_sgr((aot_theme)t, verdicts[i], depths[d]),
                                            aot_theme_sgr((aot_theme)t, verdicts[k], depths[d]));
                }
            }
        }
    }
}

static void the_safe_theme_has_no_red_and_no_green(void **state)
{
    (void)state;
    for (int s = 0; s < AOT_N_STYLES; s++) {
        for (size_t d = 0; d < 2; d++) {
            aot_look look = aot_look_of(aot_theme_sgr(AOT_THEME_SAFE, (aot_style)s, depths[d]));
            assert_false(look.fg % 8 == 1 || look.fg % 8 == 2);
        }
        // of 256 colours: blue is not the least part of what is not grey, or red and green are both
        // there
        aot_look look = aot_look_of(aot_theme_sgr(AOT_THEME_SAFE, (aot_style)s, 256));
        if (look.fg >= 16 && look.fg < 232) {
            int c = look.fg - 16, r = c / 36, g = c / 6 % 6, b = c % 6;
            assert_false(r >= 3 && g <= 1 && b <= 1);
            assert_false(g >= 3 && r <= 1 && b <= 1);
        }
    }
}

static void mono_has_no_colours(void **state)
{
    (void)state;
    for (int s = 0; s < AOT_N_STYLES; s++) {
        for (size_t d = 0; d < 3; d++) {
            aot_look look = aot_look_of(aot_theme_sgr(AOT_THEME_MONO, (aot_style)s, depths[d]));
            assert_int_equal(look.fg, -1);
            assert_int_equal(look.bg, -1);
        }
    }
}

static void no_colours_are_no_codes(void **state)
{
    (void)state;
    for (int s = 0; s < AOT_N_STYLES; s++) {
        assert_string_equal(aot_theme_sgr(AOT_THEME_DEFAULT, (aot_style)s, 0), "");
    }
}

static void codes_are_read(void **state)
{
    (void)state;
    aot_look look = aot_look_of("1;4;38;5;214;48;5;16");
    assert_true(look.bold && look.underline && !look.dim && !look.reverse);
    assert_int_equal(look.fg, 214);
    assert_int_equal(look.bg, 16);
    look = aot_look_of("2;7;93;104");
    assert_true(look.dim && look.reverse);
    assert_int_equal(look.fg, 11);
    assert_int_equal(look.bg, 12);
    char rgb[8];
    aot_palette_rgb(214, rgb);
    assert_string_equal(rgb, "#ffaf00");
    aot_palette_rgb(245, rgb);
    assert_string_equal(rgb, "#8a8a8a");
}

static void an_unknown_theme_names_the_known_ones(void **state)
{
    (void)state;
    aot_err err = {0};
    assert_int_equal(aot_theme_use("sunset", &err), AOT_E_USAGE);
    assert_non_null(strstr(err.msg, "colorblind"));
    assert_int_equal(aot_theme_now(), AOT_THEME_DEFAULT);
    err = (aot_err){0};
    assert_int_equal(aot_theme_use("light", &err), AOT_OK);
    assert_int_equal(aot_theme_now(), AOT_THEME_LIGHT);
    assert_int_equal(aot_theme_use("default", &err), AOT_OK);
}

/* "a<b" in the style of saved values, written to a name with the ending. */
static char *written(const char *path, aot_status expected)
{
    aot_canvas c;
    aot_sb out = {0};
    aot_err err = {0};
    aot_canvas_init(&c, 1, 6, false);
    aot_canvas_put(&c, 0, 0, AOT_STYLE_SAVED, "a<b");
    assert_int_equal(aot_canvas_write(&out, &c, path, "x & y", &err), expected);
    aot_canvas_free(&c);
    char *text = aot_xstrdup(aot_sb_text(&out));
    aot_sb_free(&out);
    return text;
}

static void a_screen_is_written_as_its_name_ends(void **state)
{
    (void)state;
    char *text = written("s.txt", AOT_OK);
    assert_string_equal(text, "a<b\n");
    free(text);
    text = written("s.html", AOT_OK);
    assert_non_null(strstr(text, "<title>x &amp; y</title>"));
    assert_non_null(strstr(text, "<span style=\"color:#ffaf00;font-weight:bold\">a&lt;b</span>"));
    free(text);
    text = written("dir.x/s.svg", AOT_OK);
    assert_non_null(
        strstr(text, "textLength=\"24\" fill=\"#ffaf00\" font-weight=\"bold\">a&lt;b</text>"));
    free(text);
    text = written("s.ansi", AOT_OK);
    assert_string_equal(text, "\033[0;1;38;5;214ma<b\033[0m\n");
    free(text);
    text = written("s.gif", AOT_E_USAGE);
    assert_string_equal(text, "");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verdicts_look_different_in_every_theme_with_colours),
        cmocka_unit_test(the_safe_theme_has_no_red_and_no_green),
        cmocka_unit_test(mono_has_no_colours),
        cmocka_unit_test(no_colours_are_no_codes),
        cmocka_unit_test(codes_are_read),
        cmocka_unit_test(an_unknown_theme_names_the_known_ones),
        cmocka_unit_test(a_screen_is_written_as_its_name_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
