/* `aotscope INPUT...` on a terminal: opens the model with a progress bar, takes the screen over,
 * and runs the loop. One frame: all keys that wait, then one drawing; without keys, slices of work.
 * With --script the same application runs without a screen. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tui/app.h"
#include "tui/open_model.h"
#include "tui/screen.h"
#include "viewers/theme.h"

const aot_option aot_tui_options[] = {
    AOT_OPTIONS_INPUT,
    {"ascii", 0, NULL, false,
     "Draw with ASCII characters only (the default unless the locale is UTF-8)."},
    {"mouse", 0, NULL, false, "Let the mouse select and scroll (Shift then selects text)."},
    {"theme", 0, "NAME", false,
     "Colours: default, light, colorblind or mono (also AOTSCOPE_THEME; in it :theme NAME)."},
    {"script", 0, "FILE", false, "Take keys from a file and print screens; needs no terminal."},
    {"size", 0, "COLSxROWS", false, "Size of the screens of --script (80x24)."},
    {0},
};

static int run_script(const aot_args *a)
{
    aot_model *m = NULL;
    aot_err err = {0};
    const char *size = aot_args_get(a, "size");
    int cols = 80, rows = 24;
    if (size && (sscanf(size, "%dx%d", &cols, &rows) != 2 || cols < 1 || rows < 1 || cols > 1000 ||
                 rows > 1000)) {
        return aot_cmd_usage(a->cmd, "--size takes COLSxROWS such as 80x24, not '%s'", size);
    }
    if (aot_cmd_open(&m, a, &err) != AOT_OK) {
        return aot_cmd_fail(&err);
    }
    aot_app *app = aot_app_new(m, aot_args_has(a, "ascii"), false, &err);
    aot_app_resize(app, rows, cols);
    err = (aot_err){0}; // opening names its input in it; from here on errors are the script's
    int code = aot_tui_script(app, aot_args_get(a, "script"), &err);
    aot_app_free(app);
    return code == AOT_EXIT_SAME ? code : aot_cmd_fail(&err);
}

/* ---- history of the prompt ---- */

/* $XDG_DATA_HOME/aotscope/history; false if there is no place for it. */
static bool history_path(char *buf, size_t size, bool make)
{
    const char *xdg = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    if (xdg && *xdg) {
        snprintf(buf, size, "%s/aotscope", xdg);
    } else if (home && *home) {
        snprintf(buf, size, "%s/.local/share/aotscope", home);
    } else {
        return false;
    }
    if (make) {
        mkdir(buf, 0700); // its parent may be missing too: then there is no history
    }
    size_t n = strlen(buf);
    snprintf(buf + n, size - n, "/history");
    return true;
}

static void read_history(aot_prompt *p)
{
    char path[4096], line[1024];
    FILE *f = history_path(path, sizeof path, false) ? fopen(path, "r") : NULL;
    while (f && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = 0;
        int kind = line[0] - '0';
        if (kind > PROMPT_NONE && kind < N_PROMPTS && line[1] == ' ' && line[2]) {
            aot_vec_push(&p->history[kind], aot_xstrdup(line + 2));
        }
    }
    if (f) {
        fclose(f);
    }
}

static void write_history(const aot_prompt *p)
{
    char path[4096];
    size_t lines = 0;
    for (int k = PROMPT_NONE + 1; k < N_PROMPTS; k++) {
        lines += p->history[k].n;
    }
    FILE *f = lines && history_path(path, sizeof path, true) ? fopen(path, "w") : NULL;
    for (int k = PROMPT_NONE + 1; f && k < N_PROMPTS; k++) {
        for (size_t i = 0; i < p->history[k].n; i++) {
            fprintf(f, "%d %s\n", k, p->history[k].d[i]);
        }
    }
    if (f) {
        fclose(f);
    }
}

/* ---- the loop ---- */

static void fit(aot_app *app)
{
    int rows, cols;
    screen_size(&rows, &cols);
    aot_app_resize(app, rows, cols);
}

static void take_key(aot_app *app, aot_key k)
{
    if (k == AOT_KEY_RESIZE) {
        fit(app);
        return;
    }
    screen_busy(true);
    if (k == AOT_KEY_MOUSE) {
        screen_mouse m = screen_last_mouse();
        aot_app_click(app, m.row, m.col, m.wheel, m.twice);
    } else {
        aot_app_key(app, k);
    }
    screen_busy(false);
}

static void loop(aot_app *app)
{
    unsigned nothing = 0;
    bool dirty = true, more = true;
    while (!aot_app_wants_end(app) && !screen_wants_end()) {
        if (dirty) {
            int cursor;
            screen_busy(true);
            const aot_canvas *c = aot_app_draw(app, &cursor);
            screen_busy(false);
            screen_show(c, cursor >= 0 ? c->rows - 1 : -1, cursor);
        }
        aot_key k = screen_key(more ? aot_app_rest(app) : -1);
        if (k == AOT_KEY_NONE && more) {
            screen_busy(true);
            more = aot_app_work(app);
            screen_busy(false);
            dirty = true;
            continue;
        }
        // a terminal that is gone answers at once, again and again
        nothing = k == AOT_KEY_NONE ? nothing + 1 : 0;
        if (nothing > 1000) {
            return;
        }
        dirty = k != AOT_KEY_NONE;
        for (int burst = 0; k != AOT_KEY_NONE && burst < 256 && !aot_app_wants_end(app); burst++) {
            take_key(app, k);
            k = screen_key(0);
        }
        more = true;
    }
}

static int refuse(const aot_args *a, const aot_err *err)
{
    aot_cmd_note("aotscope: %s.\n", err->msg);
    fputs("The same in batch form: 'aotscope info", stderr);
    for (size_t i = 0; i < a->n_inputs; i++) {
        aot_cmd_note(" %s", a->inputs[i]);
    }
    fputs("', and likewise 'show', 'partition', 'check', 'export'; 'aotscope help' lists them.\n",
          stderr);
    return AOT_EXIT_ERROR;
}

int aot_tui_run(const aot_args *a)
{
    aot_model *m = NULL;
    aot_err err = {0};
    if (aot_args_has(a, "theme") && aot_theme_use(aot_args_get(a, "theme"), &err) != AOT_OK) {
        return aot_cmd_usage(a->cmd, "%s", err.msg);
    }
    if (aot_args_has(a, "script")) {
        return run_script(a);
    }
    if (!screen_possible(&err)) { // before a long import
        return refuse(a, &err);
    }
    if (aot_cmd_open(&m, a, &err) != AOT_OK) {
        return aot_cmd_fail(&err);
    }
    bool ascii = aot_args_has(a, "ascii") || !aot_locale_is_utf8();
    static aot_progress progress;
    aot_cmd_progress_end();
    if (screen_open(aot_args_has(a, "mouse"), &err) != AOT_OK) {
        aot_model_free(m);
        return refuse(a, &err);
    }
    aot_progress_watch(&progress);
    screen_watch(&progress);
    screen_busy(true); // a single unit is read at once
    aot_app *app = aot_app_new(m, ascii, true, &err);
    screen_busy(false);
    if (!app) {
        screen_close();
        return aot_cmd_fail(&err);
    }
    fit(app);
    read_history(aot_app_prompt(app));
    loop(app);
    screen_close();
    write_history(aot_app_prompt(app));
    aot_app_free(app);
    return screen_wants_end() ? AOT_EXIT_ERROR : AOT_EXIT_SAME; // stopped from outside
}
