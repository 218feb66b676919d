/* Screens without a terminal: keys from a file, screens on standard output. For tests, and for
 * pictures in documents. Lines of the file:
 *     # comment
 *     keys j j <Enter> /gelu<Enter>     keys, blanks between them mean nothing
 *     type :goto addmm<Enter>           keys, a blank is one
 *     size 200x60
 *     screen TITLE                      prints the screen as text
 *     styles TITLE                      prints a letter for the style of each cell
 *     frames N KEYS                     presses KEYS N times and prints how long a frame took: the
 *                                       keys, one drawing and one slice of work, as on a terminal;
 *                                       and in how many a step began that a terminal would tell of
 *     stop                              the next graph that is read is stopped, as by Esc
 * meanwhile */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/progress.h"
#include "tui/app.h"

static aot_progress progress;

static void settle(aot_app *app)
{
    int cursor;
    aot_app_draw(app, &cursor); // lists learn their heights
    while (aot_app_work(app)) {
    }
}

static aot_status press(aot_app *app, const char *keys, bool blanks, aot_pos at, aot_err *err)
{
    while (*keys) {
        if (*keys == ' ' && !blanks) {
            keys++;
            continue;
        }
        aot_key k = aot_key_read(&keys);
        if (k == AOT_KEY_NONE) {
            return AOT_FAIL_POS(err, AOT_E_PARSE, at, "'%s' is no key", keys);
        }
        if (!aot_app_wants_end(app)) {
            aot_app_key(app, k);
            settle(app);
        }
    }
    return AOT_OK;
}

static void print_screen(aot_app *app, const char *title, bool styles)
{
    int cursor;
    aot_sb text = {0};
    if (aot_app_wants_end(app)) {
        printf("--- %s: left aotscope\n", title);
        return;
    }
    settle(app);
    const aot_canvas *c = aot_app_draw(app, &cursor);
    if (styles) {
        aot_canvas_styles(&text, c);
    } else {
        aot_canvas_text(&text, c);
    }
    printf("--- %s (%dx%d)\n%s", title, c->cols, c->rows, aot_sb_text(&text));
    aot_sb_free(&text);
}

static int by_time(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static uint64_t processor_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* A frame ends when its drawing is there; the slice of work that follows delays the next key. Of
 * this process alone: what else runs on the machine is not our doing. */
static aot_status time_frames(aot_app *app, unsigned n, const char *keys, aot_pos at, aot_err *err)
{
    uint64_t *ns = aot_xcalloc(n + 1, sizeof *ns);
    aot_status st = AOT_OK;
    unsigned told = 0;
    settle(app);
    for (unsigned i = 0; i < n && st == AOT_OK; i++) {
        int cursor;
        uint64_t start = processor_ns();
        unsigned begun = atomic_load(&progress.begun);
        const char *k = keys;
        while (*k && st == AOT_OK) {
            aot_key key = *k == ' ' ? (k++, AOT_KEY_NONE) : aot_key_read(&k);
            if (key == AOT_KEY_NONE && k[-1] != ' ') {
                st = AOT_FAIL_POS(err, AOT_E_PARSE, at, "'%s' is no key", k);
            } else if (key != AOT_KEY_NONE && !aot_app_wants_end(app)) {
                aot_app_key(app, key);
            }
        }
        aot_app_draw(app, &cursor);
        if (aot_app_rest(app) == 0) { // else it waits until keys rest
            aot_app_work(app);
        }
        ns[i] = processor_ns() - start;
        told += atomic_load(&progress.begun) != begun;
    }
    if (st == AOT_OK && n > 0) {
        qsort(ns, n, sizeof *ns, by_time);
        printf("frames of %s: %u, median %.3f ms, 99%% %.3f ms, longest %.3f ms", keys, n,
               (double)ns[n / 2] / 1e6, (double)ns[n * 99 / 100] / 1e6, (double)ns[n - 1] / 1e6);
        printf(told > 0 ? ", a step told of in %u\n" : "\n", told);
    }
    free(ns);
    return st;
}

static aot_status run_line(aot_app *app, char *line, uint32_t number, aot_err *err)
{
    aot_pos at = {number, 1};
    size_t n = strcspn(line, " ");
    char *rest = line + n + strspn(line + n, " ");
    line[n] = 0;
    if (strcmp(line, "keys") == 0 || strcmp(line, "type") == 0) {
        return press(app, rest, line[0] == 't', at, err);
    }
    if (strcmp(line, "screen") == 0 || strcmp(line, "styles") == 0) {
        print_screen(app, rest, line[1] == 't');
        return AOT_OK;
    }
    if (strcmp(line, "stop") == 0) {
        progress.stop_next = true;
        return AOT_OK;
    }
    unsigned times;
    int used = 0;
    if (strcmp(line, "frames") == 0 && sscanf(rest, "%u %n", &times, &used) == 1 && used > 0) {
        return time_frames(app, times, rest + used, at, err);
    }
    int cols, rows;
    if (strcmp(line, "size") == 0 && sscanf(rest, "%dx%d", &cols, &rows) == 2 && cols > 0 &&
        rows > 0 && cols <= 1000 && rows <= 1000) {
        aot_app_resize(app, rows, cols);
        settle(app);
        return AOT_OK;
    }
    return AOT_FAIL_POS(
        err, AOT_E_PARSE, at,
        "expected 'keys', 'type', 'size COLSxROWS', 'screen', 'styles', 'stop' or 'frames N KEYS'");
}

int aot_tui_script(aot_app *app, const char *path, aot_err *err)
{
    FILE *f = strcmp(path, "-") == 0 ? stdin : fopen(path, "r");
    char line[4096];
    uint32_t number = 0;
    aot_status st = AOT_OK;
    if (!f) {
        (void)AOT_FAIL(err, AOT_E_IO, "cannot read the script %s: %s", path, strerror(errno));
        return AOT_EXIT_ERROR;
    }
    aot_progress_watch(&progress);
    settle(app);
    while (st == AOT_OK && fgets(line, sizeof line, f)) {
        number++;
        line[strcspn(line, "\r\n")] = 0;
        if (line[0] && line[0] != '#') {
            st = run_line(app, line, number, err);
        }
    }
    if (st == AOT_OK && ferror(f)) { // a folder, for example
        st = AOT_FAIL(err, AOT_E_IO, "cannot read the script: %s", strerror(errno));
    }
    aot_progress_watch(NULL);
    if (f != stdin) {
        fclose(f);
    }
    aot_err_in_file(err, path);
    return st == AOT_OK ? AOT_EXIT_SAME : AOT_EXIT_ERROR;
}
