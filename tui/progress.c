/* The progress line of long work: percent, amount, rate and time left, on standard error and only
 * when that is a terminal. Redrawn at most ten times a second; nothing is shown for work that is
 * done within a fifth of a second. */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tui/cmd.h"

static struct {
    char what[64];
    double start, drawn; /* seconds; drawn 0: nothing yet */
    bool visible;
} bar;

enum { BAR_CELLS = 24 };
static const double FIRST = 0.2, EVERY = 0.1;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void amount(char *buf, size_t size, double n)
{
    static const char units[] = " kMGT";
    int u = 0;
    while (n >= 1000 && units[u + 1] != '\0') {
        n /= 1000;
        u++;
    }
    if (u == 0) {
        snprintf(buf, size, "%.0f", n);
    } else {
        snprintf(buf, size, "%.1f%c", n, units[u]);
    }
}

static void draw(const char *what, uint64_t done, uint64_t total, double elapsed)
{
    char n[32], rate[32];
    double per_second = elapsed > 0 ? (double)done / elapsed : 0;
    amount(n, sizeof n, (double)done);
    amount(rate, sizeof rate, per_second);
    fprintf(stderr, "\r\033[K%.40s ", what);
    if (total == 0 || done > total) {
        fprintf(stderr, "%s  %s/s", n, rate);
    } else {
        double share = (double)done / (double)total;
        int full = (int)(share * BAR_CELLS);
        fputc('[', stderr);
        for (int i = 0; i < BAR_CELLS; i++) {
            fputc(i < full ? '#' : '.', stderr);
        }
        fprintf(stderr, "] %3d%%  %s  %s/s", (int)(share * 100), n, rate);
        if (per_second > 0 && elapsed > 1) {
            long left = (long)((double)(total - done) / per_second + 0.5);
            fprintf(stderr, "  %ld:%02ld left", left / 60, left % 60);
        }
    }
    fflush(stderr);
    bar.visible = true;
}

void aot_cmd_progress(void *arg, const char *what, uint64_t done, uint64_t total)
{
    (void)arg;
    static int terminal = -1;
    if (terminal < 0) {
        terminal = isatty(STDERR_FILENO);
    }
    if (!terminal) {
        return;
    }
    double t = now();
    if (strncmp(bar.what, what, sizeof bar.what - 1) != 0) {
        aot_cmd_progress_end();
        snprintf(bar.what, sizeof bar.what, "%s", what);
        bar.start = t;
        bar.drawn = 0;
    }
    if (t - bar.start < FIRST || t - bar.drawn < EVERY) {
        return;
    }
    bar.drawn = t;
    draw(what, done, total, t - bar.start);
}

void aot_cmd_progress_end(void)
{
    if (bar.visible) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
    }
    bar.visible = false;
    bar.what[0] = '\0';
}
