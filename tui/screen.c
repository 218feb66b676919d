/* The terminal through curses: takes it over and gives it back (also after a crash or a signal),
 * reads keys, and shows a canvas. Curses compares with what is on the screen and sends the rest.
 *
 * Styles come as SGR strings ("1;38;5;39") from the theme and become attributes and colour pairs.
 * Colours: none, 8, 16 or 256, whichever both aot_colors_for and the terminal allow. */
#include "tui/screen.h"

#include <curses.h>
#include <fcntl.h>
#include <limits.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <term.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

#include "viewers/theme.h"

static struct {
    SCREEN *screen;
    bool open;
    attr_t attrs[AOT_N_STYLES];
    short pairs[AOT_N_STYLES];
    screen_mouse mouse;
    struct termios tty;      /* as it was */
    char restore[128];       /* what puts the terminal back, for crash handlers */
    size_t n_restore;
} s;

static volatile sig_atomic_t wants_end;

/* Who holds the lock may use curses: the program while it draws and waits for keys, and while it
 * computes the thread that tells so. */
enum { BUSY_MS = 50, MAX_AHEAD = 1024, CHARACTER_MS = 25 };
static struct {
    pthread_t thread;
    pthread_mutex_t lock;
    bool on;       /* there is such a thread */
    bool busy;     /* the program computes, and does not hold the lock */
    bool ended;
    uint64_t since; /* of busy */
    aot_progress *progress;
    aot_key ahead[MAX_AHEAD]; /* keys that came meanwhile */
    int n_ahead;
} watcher = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* For a moment of a computation. */
static void take_screen(void)
{
    if (watcher.busy) {
        pthread_mutex_lock(&watcher.lock);
    }
}

static void give_screen(void)
{
    if (watcher.busy) {
        pthread_mutex_unlock(&watcher.lock);
    }
}

static void screen_unwatch(void);

/* ---- signals ---- */

static void on_end(int sig)
{
    (void)sig;
    wants_end = 1;
}

/* Only calls that are safe in a handler: the terminal must be usable after a crash. */
static void on_crash(int sig)
{
    tcsetattr(STDIN_FILENO, TCSANOW, &s.tty);
    ssize_t n = write(STDOUT_FILENO, s.restore, s.n_restore);
    (void)n;
    signal(sig, SIG_DFL);
    raise(sig);
}

static void catch_signal(int sig, void (*handler)(int), bool only_default)
{
    struct sigaction old, sa = {.sa_handler = handler};
    sigemptyset(&sa.sa_mask);
    if (sigaction(sig, NULL, &old) == 0 && (!only_default || old.sa_handler == SIG_DFL)) {
        sigaction(sig, &sa, NULL);
    }
}

static void add_restore(const char *cap)
{
    const char *text = tigetstr(cap);
    if (!text || text == (const char *)-1) {
        return;
    }
    size_t n = strlen(text);
    if (s.n_restore + n < sizeof s.restore) {
        memcpy(s.restore + s.n_restore, text, n);
        s.n_restore += n;
    }
}

static void catch_signals(void)
{
    static const char *const caps[] = {"sgr0", "rmkx", "cnorm", "rmcup"};
    s.n_restore = 0;
    for (size_t i = 0; i < sizeof caps / sizeof *caps; i++) {
        add_restore(caps[i]);
    }
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        catch_signal(ends[i], on_end, false);
    }
    for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++) {
        catch_signal(crashes[i], on_crash, true); // a sanitizer's handler is left alone
    }
}

/* ---- styles ---- */

static attr_t attrs_of(const aot_look *look)
{
    return (look->bold ? A_BOLD : 0) | (look->dim ? A_DIM : 0) |
           (look->underline ? A_UNDERLINE : 0) | (look->reverse ? A_REVERSE : 0);
}

static void make_styles(void)
{
    int colors = aot_colors_for(STDOUT_FILENO);
    if (colors == 0 || !has_colors() || start_color() == ERR) {
        colors = 0;
    }
    // some terminals refuse their own colours as default: white on black then
    bool own = colors && use_default_colors() == OK;
    colors = colors > COLORS ? (COLORS >= 16 ? 16 : 8) : colors;
    // without colours the theme that needs none: attributes say something still
    aot_theme theme = colors ? aot_theme_now() : AOT_THEME_MONO;
    short next = 1;
    for (int i = 0; i < AOT_N_STYLES; i++) {
        aot_look look = aot_look_of(aot_theme_sgr(theme, (aot_style)i, colors ? colors : 8));
        s.attrs[i] = attrs_of(&look);
        s.pairs[i] = 0;
        if (colors && (look.fg >= 0 || look.bg >= 0) && next < COLOR_PAIRS) {
            short f = look.fg >= 0 ? (short)look.fg : own ? -1 : COLOR_WHITE;
            short b = look.bg >= 0 ? (short)look.bg : own ? -1 : COLOR_BLACK;
            if (init_pair(next, f, b) == OK) {
                s.pairs[i] = next++;
            }
        }
    }
}

void screen_restyle(void)
{
    take_screen();
    if (s.open) {
        make_styles();
        clearok(stdscr, TRUE);
    }
    give_screen();
}

/* ---- open and close ---- */

bool screen_possible(aot_err *err)
{
    const char *term = getenv("TERM");
    int rc = 0;
    if (!isatty(STDOUT_FILENO) || (!isatty(STDIN_FILENO) && access("/dev/tty", R_OK | W_OK) != 0)) {
        (void)AOT_FAIL(err, AOT_E_USAGE, "there is no terminal here");
        return false;
    }
    if (!term || !*term || strcmp(term, "dumb") == 0) {
        (void)AOT_FAIL(err, AOT_E_USAGE, "this terminal cannot place its cursor (TERM is %s)",
                       term && *term ? term : "not set");
        return false;
    }
    if (setupterm(term, STDOUT_FILENO, &rc) != OK) {
        (void)AOT_FAIL(err, AOT_E_USAGE, "this terminal is not known here (TERM is %s)", term);
        return false;
    }
    const char *cup = tigetstr("cup");
    bool moves = cup && cup != (const char *)-1;
    del_curterm(cur_term); // newterm makes its own
    if (!moves) {
        (void)AOT_FAIL(err, AOT_E_USAGE, "this terminal cannot place its cursor (TERM is %s)",
                       term);
        return false;
    }
    return true;
}

aot_status screen_open(bool mouse, aot_err *err)
{
    if (!screen_possible(err)) {
        return AOT_E_USAGE;
    }
    // the log may have come through a pipe: keys come from the terminal then
    if (!isatty(STDIN_FILENO)) {
        int tty = open("/dev/tty", O_RDWR);
        if (tty < 0 || dup2(tty, STDIN_FILENO) < 0) {
            return AOT_FAIL(err, AOT_E_USAGE, "there is no terminal to read keys from");
        }
        close(tty);
    }
    const char *term = getenv("TERM");
    tcgetattr(STDIN_FILENO, &s.tty);
    s.screen = newterm(NULL, stdout, stdin);
    if (!s.screen) {
        return AOT_FAIL(err, AOT_E_USAGE, "this terminal cannot be drawn on (TERM is %s)", term);
    }
    set_term(s.screen);
    s.open = true;
    set_escdelay(25);
    raw();
    noecho();
    nonl();
    keypad(stdscr, TRUE);
    curs_set(0);
    if (mouse) {
        mousemask(BUTTON1_PRESSED | BUTTON1_CLICKED | BUTTON1_DOUBLE_CLICKED | BUTTON4_PRESSED |
                      BUTTON5_PRESSED,
                  NULL);
    }
    make_styles();
    catch_signals();
    return AOT_OK;
}

void screen_close(void)
{
    if (s.open) {
        s.open = false;
        screen_unwatch();
        // where there is no second screen the shell's prompt comes here
        move(LINES - 1, 0);
        clrtoeol();
        refresh();
        endwin();
        delscreen(s.screen);
    }
}

void screen_size(int *rows, int *cols)
{
    *rows = LINES;
    *cols = COLS;
}

bool screen_wants_end(void)
{
    return wants_end != 0;
}

/* ---- showing ---- */

static void show_cell(int y, int x, const aot_cell *cell)
{
    wchar_t text[3] = {(wchar_t)cell->ch, (wchar_t)cell->mark, 0};
    // where our table and the C library's differ, what is drawn must still be as wide as we think
    if (cell->ch > 126 && wcwidth(text[0]) != cell->width) {
        text[0] = cell->width == 1 ? L'?' : 0xff1f;
        text[1] = 0;
        if (wcwidth(text[0]) != cell->width) {
            text[0] = L'?';
        }
    }
    cchar_t ch;
    attr_t attrs = s.attrs[cell->style] | (cell->selected ? A_REVERSE : 0);
    if (setcchar(&ch, text, attrs, s.pairs[cell->style], NULL) == OK) {
        mvadd_wch(y, x, &ch);
    }
}

void screen_show(const aot_canvas *c, int cursor_row, int cursor_col)
{
    erase();
    for (int y = 0; y < c->rows && y < LINES; y++) {
        for (int x = 0; x < c->cols && x < COLS; x++) {
            const aot_cell *cell = aot_canvas_at(c, y, x);
            if (cell->width == 0 || (cell->ch == ' ' && cell->style == AOT_STYLE_NORMAL &&
                                     !cell->selected)) {
                continue;
            }
            show_cell(y, x, cell);
        }
    }
    curs_set(cursor_row >= 0 ? 1 : 0);
    if (cursor_row >= 0) {
        move(cursor_row, cursor_col);
    }
    refresh();
}

void screen_redraw(void)
{
    take_screen();
    clearok(stdscr, TRUE);
    give_screen();
}

/* ---- keys ---- */

static aot_key read_mouse(void)
{
    MEVENT m;
    if (getmouse(&m) != OK) {
        return AOT_KEY_NONE;
    }
    s.mouse = (screen_mouse){m.y, m.x, 0, (m.bstate & BUTTON1_DOUBLE_CLICKED) != 0};
    if (m.bstate & BUTTON4_PRESSED) {
        s.mouse.wheel = -1;
    } else if (m.bstate & BUTTON5_PRESSED) {
        s.mouse.wheel = 1;
    }
    return AOT_KEY_MOUSE;
}

screen_mouse screen_last_mouse(void)
{
    return s.mouse;
}

static aot_key function_key(wint_t ch)
{
    if (ch >= KEY_F(1) && ch <= KEY_F(12)) {
        return AOT_KEY_F1 + (aot_key)(ch - KEY_F(1));
    }
    switch (ch) {
    case KEY_UP: return AOT_KEY_UP;
    case KEY_DOWN: return AOT_KEY_DOWN;
    case KEY_LEFT: return AOT_KEY_LEFT;
    case KEY_RIGHT: return AOT_KEY_RIGHT;
    case KEY_PPAGE: return AOT_KEY_PGUP;
    case KEY_NPAGE: return AOT_KEY_PGDN;
    case KEY_HOME: return AOT_KEY_HOME;
    case KEY_END: return AOT_KEY_END;
    case KEY_ENTER: return AOT_KEY_ENTER;
    case KEY_BTAB: return AOT_KEY_STAB;
    case KEY_BACKSPACE: return AOT_KEY_BS;
    case KEY_DC: return AOT_KEY_DEL;
    case KEY_RESIZE: return AOT_KEY_RESIZE;
    case KEY_MOUSE: return read_mouse();
    default: return AOT_KEY_NONE;
    }
}

static aot_key character_key(wchar_t ch)
{
    return ch == L'\n' ? AOT_KEY_ENTER : ch == L'\b' ? AOT_KEY_BS : (aot_key)ch;
}

/* The rest of a character that began with `first`, or none: get_wch would hold back all keys after
 * a byte that begins no character. What does not go on with it is the next key. */
static aot_key read_character(int first)
{
    mbstate_t state = {0};
    wchar_t ch = 0;
    char byte = (char)first;
    size_t got = mbrtowc(&ch, &byte, 1, &state);
    timeout(CHARACTER_MS);
    while (got == (size_t)-2) {
        int next = getch();
        if (next == ERR) {
            return AOT_KEY_NONE;
        }
        byte = (char)next;
        got = next > UCHAR_MAX ? (size_t)-1 : mbrtowc(&ch, &byte, 1, &state);
        if (got == (size_t)-1) {
            ungetch(next);
        }
    }
    return got == (size_t)-1 ? AOT_KEY_NONE : character_key(ch);
}

static aot_key read_key(int ms)
{
    timeout(ms);
    int ch = getch();
    if (ch == ERR) {
        return AOT_KEY_NONE;
    }
    if (ch > UCHAR_MAX) {
        return function_key((wint_t)ch);
    }
    return ch < 0x80 ? character_key((wchar_t)ch) : read_character(ch);
}

aot_key screen_key(int ms)
{
    if (watcher.n_ahead == 0) {
        return read_key(ms);
    }
    aot_key k = watcher.ahead[0];
    memmove(watcher.ahead, watcher.ahead + 1, (size_t)--watcher.n_ahead * sizeof *watcher.ahead);
    return k;
}

/* ---- while the program computes ---- */

static uint64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* "reading joint: 42%, 0.4 s; Esc stops it" in the last row. */
static void tell_busy(uint64_t ms)
{
    aot_progress *p = watcher.progress;
    const char *what = atomic_load(&p->what), *of = atomic_load(&p->of);
    uint64_t done = atomic_load(&p->done), total = atomic_load(&p->total);
    char text[160], share[16] = "";
    if (what != NULL && total > 0) {
        snprintf(share, sizeof share, " %d%%", (int)(done * 100 / total));
    }
    bool stops = what != NULL && atomic_load(&p->may_stop);
    snprintf(text, sizeof text, "%s%s%s ...%s %.1f s%s", what != NULL ? what : "working",
             what != NULL && of != NULL ? " " : "", what != NULL && of != NULL ? of : "", share,
             (double)ms / 1000, stops ? "; Esc stops it" : "");
    attr_set(s.attrs[AOT_STYLE_NOTICE], s.pairs[AOT_STYLE_NOTICE], NULL);
    mvaddnstr(LINES - 1, 0, " ", COLS - 1);
    addnstr(text, COLS - 2);
    clrtoeol();
    standend();
    refresh();
}

/* Keys wait for the program; Esc and ^C stop what can be stopped. */
static void take_ahead(void)
{
    for (aot_key k; watcher.n_ahead < MAX_AHEAD && (k = read_key(0)) != AOT_KEY_NONE;) {
        if ((k == AOT_KEY_ESC || k == 3) && atomic_load(&watcher.progress->may_stop)) {
            atomic_store(&watcher.progress->stop, true);
        } else if (k != AOT_KEY_MOUSE) {
            watcher.ahead[watcher.n_ahead++] = k;
        }
    }
}

static void *watch(void *arg)
{
    static const struct timespec pause = {.tv_nsec = BUSY_MS * 1000000L};
    for (bool ended = false; !ended;) {
        nanosleep(&pause, NULL);
        pthread_mutex_lock(&watcher.lock); // waits while the program does
        ended = watcher.ended;
        uint64_t ms = now_ms() - watcher.since;
        if (!ended && watcher.busy && wants_end) { // nobody else would see it soon
            endwin();
            _exit(AOT_SCREEN_ENDED);
        }
        if (!ended && watcher.busy && ms >= BUSY_MS) {
            tell_busy(ms);
            take_ahead();
        }
        pthread_mutex_unlock(&watcher.lock);
    }
    return arg;
}

void screen_watch(aot_progress *p)
{
    watcher.progress = p;
    watcher.ended = false;
    pthread_mutex_lock(&watcher.lock);
    watcher.on = pthread_create(&watcher.thread, NULL, watch, NULL) == 0;
    if (!watcher.on) { // then nobody tells
        pthread_mutex_unlock(&watcher.lock);
    }
}

static void screen_unwatch(void)
{
    screen_busy(false);
    if (watcher.on) {
        watcher.on = false;
        watcher.ended = true;
        pthread_mutex_unlock(&watcher.lock);
        pthread_join(watcher.thread, NULL);
    }
}

void screen_busy(bool busy)
{
    if (!watcher.on || busy == watcher.busy) {
        return;
    }
    if (busy) {
        watcher.since = now_ms();
        watcher.busy = true;
        pthread_mutex_unlock(&watcher.lock);
    } else {
        pthread_mutex_lock(&watcher.lock);
        watcher.busy = false;
    }
}

/* ---- leaving the screen for a while ---- */

void screen_suspend(void)
{
    take_screen();
    def_prog_mode();
    endwin();
    struct sigaction old, sa = {.sa_handler = SIG_DFL};
    sigemptyset(&sa.sa_mask);
    sigaction(SIGTSTP, &sa, &old);
    kill(0, SIGTSTP); // the whole job, a wrapping shell script too
    sigaction(SIGTSTP, &old, NULL);
    reset_prog_mode();
    clearok(stdscr, TRUE);
    refresh();
    give_screen();
}

int screen_run(const char *const *argv)
{
    int status = 0;
    take_screen();
    def_prog_mode();
    endwin();
    pid_t pid = fork();
    if (pid == 0) {
        static const int back[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP};
        for (size_t i = 0; i < sizeof back / sizeof *back; i++) {
            signal(back[i], SIG_DFL);
        }
        execvp(argv[0], (char *const *)(uintptr_t)argv);
        _exit(127);
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0) {
    }
    reset_prog_mode();
    clearok(stdscr, TRUE);
    refresh();
    give_screen();
    return pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool screen_copy(const char *text)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *term = getenv("TERM");
    size_t n = strlen(text);
    if (!term || strcmp(term, "linux") == 0 || strncmp(term, "vt", 2) == 0 || n > 70000) {
        return false;
    }
    aot_sb b = {0};
    aot_sb_addz(&b, "\033]52;c;");
    for (size_t i = 0; i < n; i += 3) {
        uint32_t v = (uint32_t)(unsigned char)text[i] << 16;
        v |= i + 1 < n ? (uint32_t)(unsigned char)text[i + 1] << 8 : 0;
        v |= i + 2 < n ? (unsigned char)text[i + 2] : 0;
        aot_sb_addc(&b, digits[v >> 18]);
        aot_sb_addc(&b, digits[v >> 12 & 63]);
        aot_sb_addc(&b, i + 1 < n ? digits[v >> 6 & 63] : '=');
        aot_sb_addc(&b, i + 2 < n ? digits[v & 63] : '=');
    }
    aot_sb_addc(&b, '\a');
    take_screen();
    bool ok = write(STDOUT_FILENO, b.d, b.n) == (ssize_t)b.n;
    give_screen();
    aot_sb_free(&b);
    return ok;
}
