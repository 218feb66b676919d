/* The table of themes, and what its SGR codes mean: COLOR rows are looked up by theme and style, a
 * "-" in them leads to the next smaller number of colours, then to the default theme, then to
 * styles.def. */
#include "viewers/theme.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

static const aot_theme_info themes[AOT_N_THEMES] = {
#define THEME(id, name, background, text, sentence) {name, background, text, sentence},
#define COLOR(theme, style, sgr8, sgr16, sgr256)
#include "viewers/themes.def"
#undef THEME
#undef COLOR
};

typedef struct color_row {
    aot_theme theme;
    aot_style style;
    const char *sgr[3]; // 8, 16, 256 colours
} color_row;

static const color_row colors_of[] = {
#define THEME(id, name, background, text, sentence)
#define COLOR(theme, style, sgr8, sgr16, sgr256) \
    {AOT_THEME_##theme, AOT_STYLE_##style, {sgr8, sgr16, sgr256}},
#include "viewers/themes.def"
#undef THEME
#undef COLOR
};

static aot_theme now = AOT_THEME_DEFAULT;

const aot_theme_info *aot_theme_get(aot_theme t)
{
    return &themes[(unsigned)t < AOT_N_THEMES ? t : AOT_THEME_DEFAULT];
}

aot_theme aot_theme_find(const char *name)
{
    int t = 0;
    while (t < AOT_N_THEMES && strcmp(themes[t].name, name) != 0) {
        t++;
    }
    return (aot_theme)t;
}

aot_theme aot_theme_now(void)
{
    return now;
}

aot_status aot_theme_use(const char *name, aot_err *err)
{
    aot_theme t = aot_theme_find(name);
    if (t == AOT_N_THEMES) {
        aot_sb all = {0};
        for (int i = 0; i < AOT_N_THEMES; i++) {
            aot_sb_addf(&all, "%s%s", i ? ", " : "", themes[i].name);
        }
        aot_status st = AOT_FAIL(err, AOT_E_USAGE, "there is no theme '%s'; there are %s", name,
                                 aot_sb_text(&all));
        aot_sb_free(&all);
        return st;
    }
    now = t;
    return AOT_OK;
}

/* What a theme itself says at a depth (0: 8 colours, 1: 16, 2: 256); NULL if nothing. 16 colours
 * take those of 8; 256 colours do not: their codes are of another kind. */
static const char *own_sgr(aot_theme t, aot_style s, int depth)
{
    for (size_t i = 0; i < sizeof colors_of / sizeof *colors_of; i++) {
        const color_row *r = &colors_of[i];
        if (r->theme == t && r->style == s) {
            const char *sgr = r->sgr[depth];
            sgr = depth == 1 && strcmp(sgr, "-") == 0 ? r->sgr[0] : sgr;
            return strcmp(sgr, "-") == 0 ? NULL : sgr;
        }
    }
    return NULL;
}

const char *aot_theme_sgr(aot_theme t, aot_style s, int colors)
{
    if (colors == 0) {
        return "";
    }
    int depth = colors >= 256 ? 2 : colors >= 16 ? 1 : 0;
    const char *sgr = own_sgr(t, s, depth);
    if (!sgr && t != AOT_THEME_DEFAULT) {
        sgr = own_sgr(AOT_THEME_DEFAULT, s, depth);
    }
    return sgr ? sgr : depth == 2 ? aot_style_get(s)->sgr256 : aot_style_get(s)->sgr8;
}

const char *aot_style_sgr(aot_style s, int colors)
{
    return aot_theme_sgr(now, s, colors);
}

aot_look aot_look_of(const char *sgr)
{
    aot_look look = {.fg = -1, .bg = -1};
    while (*sgr) {
        char *end;
        long v = strtol(sgr, &end, 10);
        if (end == sgr) {
            break;
        }
        if ((v == 38 || v == 48) && strncmp(end, ";5;", 3) == 0) {
            long color = strtol(end + 3, &end, 10);
            *(v == 38 ? &look.fg : &look.bg) = (int)color;
        } else if (v >= 30 && v <= 37) {
            look.fg = (int)(v - 30);
        } else if (v >= 40 && v <= 47) {
            look.bg = (int)(v - 40);
        } else if (v >= 90 && v <= 97) {
            look.fg = (int)(v - 90 + 8);
        } else if (v >= 100 && v <= 107) {
            look.bg = (int)(v - 100 + 8);
        }
        look.bold |= v == 1;
        look.dim |= v == 2;
        look.underline |= v == 4;
        look.reverse |= v == 7;
        sgr = *end == ';' ? end + 1 : end;
    }
    return look;
}

void aot_palette_rgb(int color, char out[8])
{
    static const unsigned basic[16] = {0x000000, 0xcd0000, 0x00cd00, 0xcdcd00, 0x0000ee, 0xcd00cd,
                                       0x00cdcd, 0xe5e5e5, 0x7f7f7f, 0xff0000, 0x00ff00, 0xffff00,
                                       0x5c5cff, 0xff00ff, 0x00ffff, 0xffffff};
    unsigned rgb;
    if (color < 16) {
        rgb = basic[color < 0 ? 0 : color];
    } else if (color < 232) { // a cube of 6 steps a side: 0, 95, 135, ... 255
        unsigned c = (unsigned)color - 16, part[3] = {c / 36, c / 6 % 6, c % 6};
        for (int i = 0; i < 3; i++) {
            part[i] = part[i] ? 55 + 40 * part[i] : 0;
        }
        rgb = part[0] << 16 | part[1] << 8 | part[2];
    } else {
        rgb = (8 + 10 * ((unsigned)color - 232)) * 0x010101;
    }
    snprintf(out, 8, "#%06x", rgb & 0xffffff);
}
