/* Laying out with Graphviz, in a forked child: a graph that is too much for it ends in a time limit
 * and not in a program that hangs, and a crash inside Graphviz is one line of explanation. The
 * child sends what it rendered through a pipe; the parent reads until the end or the deadline. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "viewers/dot.h"
#include "viewers/viewer.h"

enum { MAX_PIXELS = 30000 }; /* cairo refuses images over 32767 */

static void write_all(int fd, const char *d, size_t n)
{
    while (n > 0) {
        ssize_t w = write(fd, d, n);
        if (w < 0 && errno == EINTR) {
            continue;
        }
        if (w <= 0) {
            _exit(4);
        }
        d += w;
        n -= (size_t)w;
    }
}

// Only the dimensions of PNG are bounded: then fewer dots an inch.
static void fit_pixels(Agraph_t *g, const char *format)
{
    double w = GD_bb(g).UR.x - GD_bb(g).LL.x, h = GD_bb(g).UR.y - GD_bb(g).LL.y;
    double inches = (w > h ? w : h) / 72.0 + 1.0, dpi = 144;
    if (strcmp(format, "png") != 0) {
        return;
    }
    if (inches * dpi > MAX_PIXELS) {
        dpi = MAX_PIXELS / inches;
    }
    char text[32];
    snprintf(text, sizeof text, "%.0f", dpi);
    agsafeset(g, (char *)(uintptr_t) "dpi", text, (char *)(uintptr_t) "");
}

static void child(const aot_picture *pic, const char *color, const char *format, int data,
                  int errors)
{
    signal(SIGPIPE, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    dup2(errors, STDERR_FILENO);
    GVC_t *gvc = gvContext();
    Agraph_t *g = aot_columns_layout(gvc, pic, color);
    if (!g) {
        _exit(2);
    }
    fit_pixels(g, format);
    char *bytes = NULL;
    unsigned int n = 0;
    if (gvRenderData(gvc, g, format, &bytes, &n) != 0 || n == 0) {
        _exit(3);
    }
    write_all(data, bytes, n);
    _exit(0); // nothing is freed: the process ends here
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

// Reads both pipes until they end; false if the deadline came first.
static bool read_until(int data, int errors, aot_sb *out, aot_sb *said, double deadline)
{
    struct pollfd p[2] = {{data, POLLIN, 0}, {errors, POLLIN, 0}};
    aot_sb *to[2] = {out, said};
    char buf[65536];
    while (p[0].fd >= 0 || p[1].fd >= 0) {
        double left = deadline - now();
        if (left <= 0) {
            return false;
        }
        int ready = poll(p, 2, left > 3600 ? 3600000 : (int)(left * 1000) + 1);
        if (ready < 0 && errno != EINTR) {
            return false;
        }
        for (int i = 0; i < 2 && ready > 0; i++) {
            if (p[i].fd < 0 || !p[i].revents) {
                continue;
            }
            ssize_t n = read(p[i].fd, buf, sizeof buf);
            if (n > 0) {
                if (i == 0 || said->n < 4096) {
                    aot_sb_add(to[i], buf, (size_t)n);
                }
            } else if (n == 0 || errno != EINTR) {
                p[i].fd = -1;
            }
        }
    }
    return true;
}

// The first thing Graphviz complained about, without what it says on every second graph.
static const char *first_line(aot_sb *said)
{
    char *line = said->n ? said->d : NULL;
    if (line) {
        line[strcspn(line, "\r\n")] = 0;
    }
    return line && *line ? line : "no message";
}

static bool finish(pid_t pid, bool in_time, double limit, size_t n, aot_sb *said, aot_sb *why)
{
    if (!in_time) {
        kill(pid, SIGKILL);
    }
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (!in_time) {
        aot_sb_addf(why, "laying out took longer than %g seconds (--time-limit)", limit);
    } else if (WIFSIGNALED(status)) {
        aot_sb_addf(why, "Graphviz stopped with signal %d: %s", WTERMSIG(status), first_line(said));
    } else if (WEXITSTATUS(status) == 0 && n == 0) {
        aot_sb_addf(why, "Graphviz ended without a picture: %s", first_line(said));
    } else if (WEXITSTATUS(status) != 0) {
        aot_sb_addf(why, "Graphviz could not %s: %s",
                    WEXITSTATUS(status) == 2 ? "lay out" : "render", first_line(said));
    } else {
        return true;
    }
    return false;
}

bool aot_picture_render(aot_sb *out, const aot_picture *pic, const char *color, const char *format,
                        double time_limit, aot_sb *why)
{
    int data[2], errors[2];
    if (pipe(data) != 0) {
        aot_sb_addf(why, "no pipe: %s", strerror(errno));
        return false;
    }
    if (pipe(errors) != 0) {
        aot_sb_addf(why, "no pipe: %s", strerror(errno));
        close(data[0]);
        close(data[1]);
        return false;
    }
    double deadline = now() + time_limit;
    size_t was = out->n;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        close(data[0]);
        close(errors[0]);
        child(pic, color, format, data[1], errors[1]);
    }
    close(data[1]);
    close(errors[1]);
    bool ok = pid > 0;
    if (ok) {
        aot_sb said = {0};
        bool in_time = read_until(data[0], errors[0], out, &said, deadline);
        ok = finish(pid, in_time, time_limit, out->n - was, &said, why);
        aot_sb_free(&said);
    } else {
        aot_sb_addf(why, "no process: %s", strerror(errno));
    }
    close(data[0]);
    close(errors[0]);
    if (!ok) {
        aot_sb_clear(out);
    }
    return ok;
}
