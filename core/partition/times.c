/* Measured times: a sorted list of names, looked up by value, overload and operator. */
#include "partition/times.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/file.h"

typedef struct row {
    char *name;
    double ms;
    uint32_t line;
} row;

struct aot_times {
    AOT_VEC(row) rows; /* sorted by name */
    double rate;       /* milliseconds a flop of what is known */
};

void aot_times_free(aot_times *t)
{
    for (size_t i = 0; t != NULL && i < t->rows.n; i++) {
        free(t->rows.d[i].name);
    }
    if (t != NULL) {
        aot_vec_free(&t->rows);
        free(t);
    }
}

static int by_name_and_line(const void *a, const void *b)
{
    const row *x = a, *y = b;
    int d = strcmp(x->name, y->name);
    return d != 0 ? d : x->line < y->line ? -1 : x->line > y->line;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const row *)a)->name, ((const row *)b)->name);
}

static const row *find(const aot_times *t, const char *name, size_t n)
{
    char key[200];
    snprintf(key, sizeof key, "%.*s", (int)(n < sizeof key ? n : sizeof key - 1), name);
    row r = {.name = key};
    return t->rows.n == 0 ? NULL : bsearch(&r, t->rows.d, t->rows.n, sizeof r, by_name);
}

/* The line of a node; NULL if there is none. */
static const row *row_of(const aot_times *t, const aot_graph *g, aot_node_id id)
{
    const char *name = aot_node_name(g, id), *op = aot_node_target(g, id);
    const row *r = find(t, name, strlen(name));
    if (r != NULL || aot_node_at(g, id)->kind != AOT_CALL_FUNCTION) {
        return r;
    }
    bool torch_op = aot_starts_with(op, "torch.ops.");
    op += torch_op ? strlen("torch.ops.") : 0;
    const char *dot = torch_op ? strrchr(op, '.') : NULL;
    r = find(t, op, strlen(op));
    return r == NULL && dot != NULL ? find(t, op, (size_t)(dot - op)) : r;
}

double aot_times_of(const aot_times *t, const aot_graph *g, aot_node_id id, double flops)
{
    const row *r = row_of(t, g, id);
    return r != NULL ? r->ms : flops * t->rate;
}

/* "name, ms" of one line; false if it is neither that nor a comment. */
static bool read_line(aot_times *t, char *line, uint32_t at)
{
    char *name = line + strspn(line, " \t\""), *end;
    size_t n = strcspn(name, ",\t\"\r\n#");
    char *number = name + n + strspn(name + n, ",\t \"");
    while (n > 0 && name[n - 1] == ' ') {
        n--;
    }
    if (n == 0) {
        return name[0] == '\0' || strchr("#\r\n", name[0]) != NULL;
    }
    double ms = strtod(number, &end);
    if (end == number || !(ms >= 0) || isinf(ms) || end[strspn(end, " \t\r\n")] != '\0') {
        return false;
    }
    row r = {aot_xstrndup(name, n), ms, at};
    if (aot_starts_with(r.name, "torch.ops.")) {
        memmove(r.name, r.name + 10, n - 9);
    }
    aot_vec_push(&t->rows, r);
    return true;
}

/* The titles of the columns: words of this list alone. */
static bool is_title(const char *line)
{
    static const char *const words[] = {"name",     "node",   "value",    "op",
                                        "operator", "kernel", "ms",       "milliseconds",
                                        "time",     "times",  "duration", "measured"};
    size_t n, k;
    for (const char *p = line;; p += n) {
        p += strspn(p, " ,\t\r\"'()[]_");
        n = strcspn(p, " ,\t\r\"'()[]_");
        for (k = 0; k < sizeof words / sizeof *words; k++) {
            if (strlen(words[k]) == n && strncasecmp(words[k], p, n) == 0) {
                break;
            }
        }
        if (n == 0 || k == sizeof words / sizeof *words) {
            return n == 0;
        }
    }
}

/* The text is cut into its lines. The place is in the message: who prints it may leave out the
 * error's file. */
static aot_status read_rows(aot_times *t, char *text, const char *path, aot_err *err)
{
    for (uint32_t at = 1; *text != '\0'; at++) {
        size_t n = strcspn(text, "\n");
        bool last = text[n] == '\0';
        text[n] = '\0';
        if (!read_line(t, text, at) && !(at == 1 && is_title(text))) {
            text[strcspn(text, "\r")] = '\0';
            return AOT_FAIL(err, AOT_E_USAGE,
                            "%s:%u: '%.80s' is no NAME,MILLISECONDS such as addmm_3,0.13", path, at,
                            text);
        }
        text += n + !last;
    }
    return AOT_OK;
}

/* Sorts, and refuses a name that has two lines: which of them holds would be chance. */
static aot_status sort_rows(aot_times *t, const char *path, aot_err *err)
{
    if (t->rows.n != 0) {
        qsort(t->rows.d, t->rows.n, sizeof *t->rows.d, by_name_and_line);
    }
    for (size_t i = 1; i < t->rows.n; i++) {
        const row *a = &t->rows.d[i - 1], *b = &t->rows.d[i];
        if (strcmp(a->name, b->name) == 0) {
            return AOT_FAIL(err, AOT_E_USAGE,
                            "%s:%u: '%.80s' has a time in line %u and another in line %u: %g and "
                            "%g ms; keep one",
                            path, b->line, a->name, a->line, b->line, a->ms, b->ms);
        }
    }
    return AOT_OK;
}

/* The rate of what the graph has. */
static aot_status finish(aot_times *t, const char *path, const aot_graph *g, const double *flops,
                         aot_err *err)
{
    double ms = 0, known = 0;
    bool any = false;
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const row *r = row_of(t, g, i);
        any |= r != NULL;
        if (r != NULL && flops[i] > 0) {
            ms += r->ms;
            known += flops[i];
        }
    }
    t->rate = known > 0 ? ms / known : 0;
    return any ? AOT_OK
               : AOT_FAIL(
                     err, AOT_E_PARSE,
                     "none of the %zu times in %s is of a value or operator of the graph; write "
                     "lines such as aten.mm,0.08 or addmm_3,0.13",
                     t->rows.n, path);
}

aot_status aot_times_read(aot_times **out, const char *path, const aot_graph *g,
                          const double *flops, aot_err *err)
{
    aot_sb text = {0};
    aot_times *t = aot_xcalloc(1, sizeof *t);
    aot_status s = aot_file_read_text(&text, "times", path, err);
    s = s == AOT_OK && text.n != 0 ? read_rows(t, text.d, path, err) : s;
    aot_sb_free(&text);
    s = s == AOT_OK ? sort_rows(t, path, err) : s;
    s = s == AOT_OK ? finish(t, path, g, flops, err) : s;
    if (s != AOT_OK) {
        aot_times_free(t);
        return s;
    }
    *out = t;
    return AOT_OK;
}
