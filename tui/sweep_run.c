/* Cuts units at many budgets in several processes. Work is divided into tasks: a unit, a solver,
 * and some of its budgets, or a quarter of the range that is bisected. How it is divided changes no
 * result: the quarters are always the same, and grids are lists. A child is forked with what it
 * needs in memory, writes '.' for each point, then NUL and its points as JSON; end of file tells
 * that it is done. Processes rather than threads: GLPK and our lazily filled tables are not for two
 * threads. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "session/unit_pareto.h"
#include "tui/open_model.h"
#include "tui/sweep.h"

enum { QUARTERS = 4, SMALL_TEXT = 100000 }; /* bytes of a graph below which its grid is one task */

typedef struct child {
    pid_t pid; /* 0: the slot is free */
    int fd;
    int unit; /* number */
    bool ended_points; /* NUL was read: what follows is JSON */
    aot_sb json;
} child;

typedef struct job {
    aot_sweep *s;
    const aot_sweep_ask *ask;
    child *children;
    int n_running;
    const char *why; /* of a unit without a joint graph; NULL: none was seen */
    int next; /* number of the next joint graph */
    size_t unit, n_unread, n_meant;
    uint64_t n_points, n_tasks; /* seen so far, for sharding */
    uint64_t done, total;
    aot_err err;
} job;

typedef struct task {
    const aot_unit *u;
    const aot_record *r;
    aot_config config;
    aot_pareto_ask ask;
} task;

static void count_points(job *j, uint64_t n)
{
    j->done += n;
    j->total = j->total < j->done ? j->done : j->total;
    aot_cmd_progress(NULL, "points", j->done, j->total);
}

/* ---- one task -------------------------------------------------------------------------------- */

typedef struct teller {
    job *j; /* in this process */
    int fd; /* in a child */
} teller;

static void tell(void *arg, uint64_t done, uint64_t total)
{
    teller *t = arg;
    (void)done;
    (void)total;
    if (t->j != NULL) {
        count_points(t->j, 1);
    } else if (write(t->fd, ".", 1) != 1) {
        _exit(1); // the parent is gone
    }
}

/* All of a task's points; if none can be cut, each says why. */
static aot_pareto *run_task(task *k, teller *t)
{
    aot_memory_options walk = {0};
    aot_pareto *x = NULL;
    aot_err err = {0};
    k->ask.progress = tell;
    k->ask.progress_arg = t;
    if (aot_unit_pareto(&x, k->u, k->r, &k->config, &k->ask, &walk, &err) == AOT_OK) {
        return x;
    }
    x = aot_pareto_new();
    double ends[] = {k->ask.from, k->ask.to};
    const double *budgets = k->ask.budgets != NULL ? k->ask.budgets : ends;
    for (size_t i = 0; i < (k->ask.budgets != NULL ? k->ask.n_budgets : 2); i++) {
        aot_pareto_point p = {.budget = budgets[i], .solver = k->ask.solvers[0], .error = err.msg};
        aot_pareto_add(x, &p, k->ask.solvers, 1);
    }
    return x;
}

static void write_all(int fd, const char *data, size_t n)
{
    while (n > 0) {
        ssize_t w = write(fd, data, n);
        if (w < 0 && errno != EINTR) {
            _exit(1);
        }
        data += w > 0 ? w : 0;
        n -= w > 0 ? (size_t)w : 0;
    }
}

static void be_child(task *k, int fd)
{
    teller t = {.fd = fd};
    aot_pareto *x = run_task(k, &t);
    json_t *points = json_array();
    for (size_t i = 0; i < x->points.n; i++) {
        json_array_append_new(points, aot_sweep_point_json(&x->points.d[i], false));
    }
    char *text = json_dumps(points, JSON_COMPACT);
    write_all(fd, "", 1);
    write_all(fd, text, strlen(text));
    _exit(0);
}

/* ---- children -------------------------------------------------------------------------------- */

static void finish_child(job *j, child *c)
{
    int status = 0;
    aot_err err = {0};
    close(c->fd);
    while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR) {
    }
    json_t *points = c->json.n != 0 ? json_loadb(c->json.d, c->json.n, 0, NULL) : NULL;
    if (points != NULL) {
        aot_sweep_unit *u = aot_sweep_unit_of(j->s, c->unit, "", "", 0);
        err.code = aot_sweep_points_read(u->pareto, points, j->s->solvers.d, j->s->solvers.n, &err);
    } else {
        AOT_FAIL(&err, AOT_E_IO, "a process that cut unit %d ended by %s %d; --jobs 1 shows where",
                 c->unit, WIFSIGNALED(status) ? "signal" : "exit code",
                 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    }
    json_decref(points);
    if (err.code != AOT_OK && j->err.code == AOT_OK) {
        j->err = err;
    }
    aot_sb_free(&c->json);
    *c = (child){0};
    j->n_running--;
}

static void read_child(job *j, child *c)
{
    char buf[65536];
    ssize_t n = read(c->fd, buf, sizeof buf);
    if (n < 0 && errno == EINTR) {
        return;
    }
    if (n <= 0) {
        finish_child(j, c);
        return;
    }
    size_t at = 0;
    if (!c->ended_points) {
        while (at < (size_t)n && buf[at] == '.') {
            at++;
        }
        count_points(j, at);
        if (at < (size_t)n) {
            c->ended_points = true;
            at++;
        }
    }
    aot_sb_add(&c->json, buf + at, (size_t)n - at);
}

/* Reads from children until no more than `most` of them run. */
static void wait_for(job *j, int most)
{
    struct pollfd *fds = aot_xcalloc((size_t)j->ask->jobs, sizeof *fds);
    while (j->n_running > most) {
        for (int i = 0; i < j->ask->jobs; i++) {
            fds[i] = (struct pollfd){.fd = j->children[i].pid != 0 ? j->children[i].fd : -1,
                                     .events = POLLIN};
        }
        if (poll(fds, (nfds_t)j->ask->jobs, -1) < 0) {
            continue;
        }
        for (int i = 0; i < j->ask->jobs; i++) {
            if (fds[i].revents != 0) {
                read_child(j, &j->children[i]);
            }
        }
    }
    free(fds);
}

static void start(job *j, task *k, int unit)
{
    int fd[2];
    if (j->ask->jobs > 1) {
        wait_for(j, j->ask->jobs - 1);
    }
    fflush(NULL);
    pid_t pid = -1;
    if (j->ask->jobs > 1 && pipe(fd) == 0) {
        pid = fork();
        if (pid < 0) {
            close(fd[0]);
            close(fd[1]);
        }
    }
    if (pid < 0) { // alone, or no process is to be had
        teller t = {.j = j};
        aot_pareto *x = run_task(k, &t), *to = aot_sweep_unit_of(j->s, unit, "", "", 0)->pareto;
        for (size_t i = 0; i < x->points.n; i++) {
            aot_pareto_add(to, &x->points.d[i], j->s->solvers.d, j->s->solvers.n);
        }
        aot_pareto_free(x);
        return;
    }
    if (pid == 0) {
        close(fd[0]);
        be_child(k, fd[1]);
    }
    close(fd[1]);
    child *c = j->children;
    while (c->pid != 0) {
        c++;
    }
    *c = (child){.pid = pid, .fd = fd[0], .unit = unit};
    j->n_running++;
}

/* ---- dividing -------------------------------------------------------------------------------- */

static bool is_ours(const job *j, uint64_t n)
{
    return n % (uint64_t)j->s->n_shards == (uint64_t)j->s->shard - 1;
}

static void bisect_unit(job *j, task *k, size_t solver, int unit)
{
    k->ask.solvers = &j->s->solvers.d[solver];
    k->ask.n_solvers = 1;
    k->ask.step = j->ask->step;
    for (int q = 0; q < QUARTERS; q++) {
        if (is_ours(j, j->n_tasks++)) {
            k->ask.from = (double)q / QUARTERS;
            k->ask.to = (double)(q + 1) / QUARTERS;
            start(j, k, unit);
        }
    }
}

static void grid_of_unit(job *j, task *k, size_t solver, int unit)
{
    double *mine = aot_xcalloc(j->ask->n_budgets + 1, sizeof *mine);
    size_t n = 0, slices = k->r->len > SMALL_TEXT ? (size_t)j->ask->jobs : 1;
    for (size_t i = 0; i < j->ask->n_budgets; i++) {
        if (is_ours(j, j->n_points++)) {
            mine[n++] = j->ask->budgets[i];
        }
    }
    j->total += n;
    slices = slices > n ? n : slices;
    for (size_t i = 0; i < slices; i++) {
        size_t from = n * i / slices, to = n * (i + 1) / slices;
        k->ask.solvers = &j->s->solvers.d[solver];
        k->ask.n_solvers = 1;
        k->ask.budgets = mine + from;
        k->ask.n_budgets = to - from;
        start(j, k, unit);
    }
    free(mine);
}

static void on_unit(void *arg, const aot_unit *u)
{
    job *j = arg;
    task k = {.u = u, .r = aot_unit_stage(u, AOT_STAGE_JOINT)};
    aot_err err = {0};
    char label[96];
    const char *only = aot_args_get(j->ask->a, "unit");
    size_t unit = j->unit++;
    if (!aot_cmd_is_cut(u, unit)) {
        j->why = j->why != NULL ? j->why : aot_unit_missing_reason(u, AOT_STAGE_JOINT);
        return;
    }
    int number = j->next++; // of all joint graphs, whatever --unit picks
    if (!aot_cmd_unit_is(u, unit, only)) {
        return;
    }
    j->n_meant++;
    if (aot_cmd_unit_config(&k.config, j->ask->a, u, &err) != AOT_OK) { // run() checked --set
        aot_cmd_fail(&err);
        j->n_unread++;
        return;
    }
    aot_cmd_warn_passes(u, unit, NULL, k.config.backend);
    aot_cmd_warn_assumed_in(u, unit, k.r);
    aot_sweep_unit_of(j->s, number, aot_unit_label(&u->key, label, sizeof label),
                      u->title != NULL ? u->title : "", k.config.activation_memory_budget);
    for (size_t s = 0; s < j->s->solvers.n; s++) {
        k.ask = (aot_pareto_ask){0};
        if (j->s->bisected) {
            bisect_unit(j, &k, s, number);
        } else {
            grid_of_unit(j, &k, s, number);
        }
    }
}

aot_status aot_sweep_run(aot_sweep *s, const aot_sweep_ask *ask, size_t *n_unread, aot_err *err)
{
    job j = {.s = s, .ask = ask, .children = aot_xcalloc((size_t)ask->jobs, sizeof *j.children)};
    aot_status st = aot_cmd_each_unit(ask->a, ask->a->inputs[0], on_unit, &j, err);
    wait_for(&j, 0);
    aot_cmd_progress_end();
    free(j.children);
    *n_unread = j.n_unread;
    if (st == AOT_OK && j.err.code != AOT_OK) {
        *err = j.err;
        st = j.err.code;
    }
    if (st == AOT_OK && j.next != 0 && j.n_meant == 0) {
        st = AOT_FAIL(err, AOT_E_USAGE,
                      "no unit '%s' with a joint graph: `aotscope show %s --units` lists them",
                      aot_args_get(ask->a, "unit"), ask->a->inputs[0]);
        aot_err_in_file(err, ask->a->inputs[0]);
    }
    if (st == AOT_OK && j.next == 0) {
        st = aot_cmd_no_joint(ask->a->inputs[0], j.why, err);
    }
    return st;
}
