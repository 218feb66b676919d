/* The commands of a replay: one function each, by the table. */
#include "tui/replay_script.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "tui/replay_report.h"
#include "viewers/format.h"

typedef struct doing {
    aot_replay_unit *u;
    aot_replay *r;
    const char *arg; /* "" if there is none */
    const aot_replay_teller *t;
    bool quit;
} doing;

static void note(const doing *d, const char *text)
{
    d->t->note(d->t->arg, text);
}

static void show(const doing *d)
{
    if (aot_replay_at(d->r) == AOT_REPLAY_NONE) {
        note(d, "before the first node\n");
    } else {
        d->t->frame(d->t->arg, d->u, aot_replay_at(d->r));
    }
}

static aot_status number_of(int64_t *n, const doing *d, aot_err *err)
{
    *n = 1;
    return d->arg[0] == '\0' || aot_int_read(n, d->arg, 0, INT64_MAX)
               ? AOT_OK
               : AOT_FAIL(err, AOT_E_USAGE, "'%s' is no number from 0 on", d->arg);
}

static aot_status moved(const doing *d, bool there)
{
    show(d);
    if (!there) {
        note(d, aot_replay_at(d->r) == AOT_REPLAY_NONE ? "" : "there is nothing behind it\n");
    }
    return AOT_OK;
}

static aot_status do_step(doing *d, aot_err *err)
{
    int64_t n;
    AOT_TRY(number_of(&n, d, err));
    return moved(d, aot_replay_step(d->r, n));
}

static aot_status do_back(doing *d, aot_err *err)
{
    int64_t n;
    AOT_TRY(number_of(&n, d, err));
    aot_replay_step(d->r, -n);
    show(d);
    return AOT_OK;
}

static aot_status do_next(doing *d, aot_err *err)
{
    (void)err;
    return moved(d, aot_replay_next(d->r));
}

static aot_status do_continue(doing *d, aot_err *err)
{
    (void)err;
    if (aot_replay_continue(d->r)) {
        show(d);
    } else {
        note(d, "no break up to the end\n");
    }
    return AOT_OK;
}

static aot_status do_restart(doing *d, aot_err *err)
{
    (void)err;
    aot_replay_go(d->r, AOT_REPLAY_NONE);
    return AOT_OK;
}

static aot_status do_break(doing *d, aot_err *err)
{
    return aot_replay_break(d->r, d->arg, err);
}

static aot_status do_delete(doing *d, aot_err *err)
{
    int64_t n;
    AOT_TRY(number_of(&n, d, err));
    if (d->arg[0] == '\0' || (uint64_t)n >= aot_replay_n_breaks(d->r)) {
        return AOT_FAIL(err, AOT_E_USAGE, "there is no break '%s': info breaks lists them", d->arg);
    }
    aot_replay_unbreak(d->r, (size_t)n);
    return AOT_OK;
}

/* Runs until the node is reached; -1 the forward's only if it has it. */
static size_t reach(const doing *d, aot_replay_side side)
{
    const aot_graph *g = aot_replay_unit_graph(d->u, side);
    bool in_body = strchr(d->arg, '/') != NULL; // cond/true_graph_0/add
    if (g == NULL || (!in_body && aot_graph_find(g, d->arg) == AOT_NO_NODE)) {
        return AOT_REPLAY_NONE;
    }
    for (size_t i = aot_replay_n(d->r);
         aot_replay_find(d->r, side, d->arg) == AOT_REPLAY_NONE && aot_replay_reach(d->r, i);) {
        i = aot_replay_n(d->r);
    }
    return aot_replay_find(d->r, side, d->arg);
}

static aot_status no_node(const doing *d, aot_err *err)
{
    return AOT_FAIL(err, AOT_E_USAGE,
                    "no node %s is run: show --stage forward and backward name them", d->arg);
}

static aot_status do_goto(doing *d, aot_err *err)
{
    size_t i = reach(d, AOT_REPLAY_FORWARD);
    i = i != AOT_REPLAY_NONE ? i : reach(d, AOT_REPLAY_BACKWARD);
    if (i == AOT_REPLAY_NONE) {
        return no_node(d, err);
    }
    aot_replay_go(d->r, i);
    show(d);
    return AOT_OK;
}

static aot_status do_print(doing *d, aot_err *err)
{
    if (d->arg[0] == '\0') {
        show(d);
        return AOT_OK;
    }
    size_t f = reach(d, AOT_REPLAY_FORWARD), b = reach(d, AOT_REPLAY_BACKWARD);
    if (f == AOT_REPLAY_NONE && b == AOT_REPLAY_NONE) {
        return no_node(d, err);
    }
    if (f != AOT_REPLAY_NONE) {
        d->t->frame(d->t->arg, d->u, f);
    }
    if (b != AOT_REPLAY_NONE) {
        d->t->frame(d->t->arg, d->u, b);
    }
    return AOT_OK;
}

static void info_live(const doing *d, aot_sb *out)
{
    char live[32], peak[32];
    size_t at = aot_replay_at(d->r);
    const aot_replay_frame *f = at != AOT_REPLAY_NONE ? aot_replay_frame_at(d->r, at) : NULL;
    if (f != NULL) {
        aot_sb_addf(out, "live %s of a peak of %s so far\n",
                    aot_format_bytes(live, sizeof live, f->live_bytes),
                    aot_format_bytes(peak, sizeof peak,
                                     aot_replay_peak(d->r, (aot_replay_side)f->side)));
    } else {
        aot_sb_addz(out, "before the first node\n");
    }
}

static void info_breaks(const doing *d, aot_sb *out)
{
    for (size_t i = 0; i < aot_replay_n_breaks(d->r); i++) {
        aot_sb_addf(out, "%zu  %s\n", i, aot_replay_break_text(d->r, i));
    }
}

static void info_generator(const doing *d, aot_sb *out)
{
    size_t at = aot_replay_at(d->r);
    for (size_t i = at == AOT_REPLAY_NONE ? 0 : at + 1; i-- > 0;) { // the last one that drew
        const aot_replay_frame *f = aot_replay_frame_at(d->r, i);
        if (f->draws) {
            aot_sb_addf(out, "generator %08x at %u since %s\n", (unsigned)(f->after.hash >> 32),
                        f->after.position, aot_replay_name(d->r, f));
            return;
        }
    }
    aot_sb_addz(out, "nothing was drawn so far\n");
}

static aot_status do_info(doing *d, aot_err *err)
{
    static const struct {
        const char *name;
        void (*tell)(const doing *d, aot_sb *out);
    } kinds[] = {{"live", info_live}, {"breaks", info_breaks}, {"generator", info_generator}};
    aot_sb out = {0};
    bool known = strcmp(d->arg, "run") == 0;
    if (known) {
        aot_replay_print_sum(&out, d->u);
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(d->arg, kinds[i].name) == 0) {
            kinds[i].tell(d, &out);
            known = true;
        }
    }
    note(d, aot_sb_text(&out));
    aot_sb_free(&out);
    return known ? AOT_OK
                 : AOT_FAIL(err, AOT_E_USAGE, "info of '%s': say live, breaks, generator or run",
                            d->arg);
}

static aot_status do_quit(doing *d, aot_err *err)
{
    (void)err;
    d->quit = true;
    return AOT_OK;
}

/* ---- the table
 * --------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    aot_status (*fn)(doing *, aot_err *);
} commands[] = {
#define CMD(name, arg, sentence) {#name, do_##name},
#include "tui/replay_commands.def"
#undef CMD
};

enum { N_COMMANDS = sizeof commands / sizeof *commands };

static aot_status unknown(const char *name, aot_err *err)
{
    aot_sb list = {0};
    for (size_t i = 0; i < N_COMMANDS; i++) {
        aot_sb_addf(&list, "%s%s", i > 0 ? ", " : "", commands[i].name);
    }
    aot_status s =
        AOT_FAIL(err, AOT_E_USAGE, "'%s' is no command; there are %s", name, aot_sb_text(&list));
    aot_sb_free(&list);
    return s;
}

aot_status aot_replay_do(aot_replay_unit *u, const char *line, const aot_replay_teller *t,
                         bool *quit, aot_err *err)
{
    char *text = aot_xstrdup(line), *name = text, *arg;
    size_t n = strlen(text);
    aot_status s = AOT_OK;
    while (n > 0 && isspace((unsigned char)text[n - 1])) {
        text[--n] = '\0';
    }
    while (isspace((unsigned char)*name)) {
        name++;
    }
    for (arg = name; *arg != '\0' && !isspace((unsigned char)*arg);) {
        arg++;
    }
    while (isspace((unsigned char)*arg)) {
        *arg++ = '\0';
    }
    doing d = {u, aot_replay_of(u), arg, t, false};
    if (*name != '\0' && *name != '#') {
        size_t i = 0;
        while (i < N_COMMANDS && strcmp(commands[i].name, name) != 0) {
            i++;
        }
        s = i < N_COMMANDS ? commands[i].fn(&d, err) : unknown(name, err);
    }
    *quit = d.quit;
    free(text);
    return s;
}
