/* The program on a terminal of its own (forkpty): what only happens there. While a big graph is
 * read and cut the last row says so; keys typed meanwhile are taken afterwards; a signal ends it at
 * once, and the terminal is given back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/str.h"

enum { LAYERS = 12000, PATIENCE_S = 60 };

static char path[] = "/tmp/aotscope-terminal.XXXXXX";

/* A joint graph of LAYERS products and their gradients, that takes a while to read. */
static int write_graph(void **state)
{
    (void)state;
    static const char t[] = "\"f32[8, 8][8, 1]cpu\"";
    int fd = mkstemp(path);
    FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (f == NULL) {
        return -1;
    }
    fputs("class joint(torch.nn.Module):\n    def forward(self, primals, tangents):\n        ", f);
    fprintf(f, "primals_1: %s; primals_2: %s; tangents_1: %s; \n\n", t, t, t);
    fputs("        primals_1, primals_2, tangents_1, = fx_pytree.tree_flatten_spec([primals, "
          "tangents], "
          "self._in_spec)\n",
          f);
    for (int i = 0; i < LAYERS; i++) {
        char x[16] = "primals_1";
        if (i > 0) {
            snprintf(x, sizeof x, "sin_%d", i - 1);
        }
        fprintf(f, "        mm_%d: %s = torch.ops.aten.mm.default(%s, primals_2)\n", i, t, x);
        fprintf(f, "        sin_%d: %s = torch.ops.aten.sin.default(mm_%d)\n", i, t, i);
    }
    for (int i = LAYERS - 1; i >= 0; i--) {
        char g[16] = "tangents_1";
        if (i < LAYERS - 1) {
            snprintf(g, sizeof g, "mx_%d", i + 1);
        }
        fprintf(f, "        cos_%d: %s = torch.ops.aten.cos.default(mm_%d)\n", i, t, i);
        fprintf(f, "        mul_%d: %s = torch.ops.aten.mul.Tensor(%s, cos_%d)\n", i, t, g, i);
        fprintf(f, "        mx_%d: %s = torch.ops.aten.mm.default(mul_%d, primals_2)\n", i, t, i);
    }
    fprintf(f, "        return pytree.tree_unflatten([sin_%d, mx_0, None], self._out_spec)\n",
            LAYERS - 1);
    return fclose(f);
}

static int remove_graph(void **state)
{
    (void)state;
    return unlink(path);
}

typedef struct terminal {
    pid_t pid;
    int fd;
    aot_sb seen;
} terminal;

static void start_in(terminal *t, const char *locale)
{
    struct winsize size = {.ws_row = 24, .ws_col = 100};
    const char *program = getenv("AOTSCOPE");
    if (program == NULL) {
        skip();
    }
    *t = (terminal){0};
    t->pid = forkpty(&t->fd, NULL, NULL, &size);
    assert_true(t->pid >= 0);
    if (t->pid == 0) {
        setenv("TERM", "xterm", 1);
        setenv("LC_ALL", locale, 1);
        unsetenv("XDG_CONFIG_HOME");
        setenv("HOME", "/nonexistent", 1);
        execl(program, program, path, (char *)NULL);
        _exit(127);
    }
}

static void start(terminal *t)
{
    start_in(t, "C");
}

/* Reads until a text came (from byte `from` on; NULL: until the terminal is closed); whether that
 * happened. */
static bool wait_for(terminal *t, size_t from, const char *text)
{
    char buf[4096];
    time_t end = time(NULL) + PATIENCE_S;
    while (time(NULL) < end) {
        if (text != NULL && t->seen.n > from &&
            memmem(t->seen.d + from, t->seen.n - from, text, strlen(text)) != NULL) {
            return true;
        }
        struct pollfd p = {.fd = t->fd, .events = POLLIN};
        ssize_t n = poll(&p, 1, 1000) > 0 ? read(t->fd, buf, sizeof buf) : 1;
        if (n <= 0) { // the program closed it
            return text == NULL;
        }
        if (p.revents & POLLIN) {
            aot_sb_add(&t->seen, buf, (size_t)n);
        }
    }
    return false;
}

static void type(terminal *t, const char *keys)
{
    assert_int_equal(write(t->fd, keys, strlen(keys)), (ssize_t)strlen(keys));
}

static int end(terminal *t)
{
    int status = 0;
    if (!wait_for(t, t->seen.n, NULL)) {
        kill(t->pid, SIGKILL);
    }
    assert_int_equal(waitpid(t->pid, &status, 0), t->pid);
    close(t->fd);
    return status;
}

/* What xterm is sent last: the screen that was there before. */
static bool gave_back(const terminal *t)
{
    return memmem(t->seen.d, t->seen.n, "\033[?1049l", 8) != NULL;
}

static void what_takes_long_is_told_and_keys_wait(void **state)
{
    (void)state;
    terminal t;
    start(&t);
    bool told = wait_for(&t, 0, "reading") || wait_for(&t, 0, "solving");
    assert_true(told);
    char keys[200], screen[100], text[8192] = "";
    snprintf(screen, sizeof screen, "%s.txt", path);
    snprintf(keys, sizeof keys, ":stage forward\r:export-screen %s\rQ", screen);
    type(&t, keys); // before the graph is there
    int status = end(&t);
    FILE *f = fopen(screen, "r");
    assert_non_null(f);
    assert_true(fread(text, 1, sizeof text - 1, f) > 0);
    fclose(f);
    unlink(screen);
    assert_non_null(strstr(text, "forward: "));
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_true(gave_back(&t));
    aot_sb_free(&t.seen);
}

static void a_signal_ends_it_even_while_it_computes(void **state)
{
    (void)state;
    terminal t;
    start(&t);
    assert_true(wait_for(&t, 0, "ing ...") || wait_for(&t, 0, "ing joint"));
    kill(t.pid, SIGTERM);
    int status = end(&t);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 2);
    assert_true(gave_back(&t));
    aot_sb_free(&t.seen);
}

/* Lone and cut-off bytes of UTF-8: curses would wait for the rest and hold back all keys behind
 * them. */
static void bytes_that_are_no_character_hold_no_key_back(void **state)
{
    (void)state;
    static const char *const strays[] = {"\x97", "\xc3", "\xe2\x82", "\xff\xc3\xa9\xf0\x9f"};
    for (size_t i = 0; i < sizeof strays / sizeof *strays; i++) {
        terminal t;
        start_in(&t, "C.UTF-8");
        assert_true(wait_for(&t, 0, "reading") || wait_for(&t, 0, "solving"));
        type(&t, strays[i]);
        type(&t, "Q");
        int status = end(&t);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        aot_sb_free(&t.seen);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_takes_long_is_told_and_keys_wait),
        cmocka_unit_test(a_signal_ends_it_even_while_it_computes),
        cmocka_unit_test(bytes_that_are_no_character_hold_no_key_back),
    };
    return cmocka_run_group_tests(tests, write_graph, remove_graph);
}
