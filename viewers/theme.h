/* Themes: which colours a style has. The theme in force is one for the program, as the terminal
 * is. */
#ifndef AOT_VIEWERS_THEME_H
#define AOT_VIEWERS_THEME_H

#include <stddef.h>

#include "base/err.h"
#include "viewers/canvas.h"

typedef enum aot_theme { /* themes.def */
#define THEME(id, name, background, text, sentence) AOT_THEME_##id,
#define COLOR(theme, style, sgr8, sgr16, sgr256)
#include "viewers/themes.def"
#undef THEME
#undef COLOR
    AOT_N_THEMES
} aot_theme;

typedef struct aot_theme_info {
    const char *name, *background, *text, *sentence; /* "#rrggbb" of pictures */
} aot_theme_info;

const aot_theme_info *aot_theme_get(aot_theme t);
aot_theme aot_theme_find(const char *name); /* AOT_N_THEMES if there is none */
aot_theme aot_theme_now(void);
/* Puts a theme in force by its name. E_USAGE: names those that there are. */
AOT_NODISCARD aot_status aot_theme_use(const char *name, aot_err *err);

/* SGR codes of a style in a theme ("1;38;5;39"), "" for plain text. colors: 0, 8, 16 or 256. */
const char *aot_theme_sgr(aot_theme t, aot_style s, int colors);
/* The same in the theme in force. */
const char *aot_style_sgr(aot_style s, int colors);

typedef struct aot_look {
    int fg, bg; /* 0..255 of the terminal's palette; -1: its own */
    bool bold, dim, underline, reverse;
} aot_look;
/* What SGR codes say; others than those of the tables are passed over. */
aot_look aot_look_of(const char *sgr);
/* "#rrggbb" of a colour of xterm's palette of 256. */
void aot_palette_rgb(int color, char out[8]);

#endif
