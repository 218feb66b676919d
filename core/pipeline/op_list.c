/* The settings decompose and keep: names of operators and what they can do for each.
 *
 * aten.gelu.default is one overload, aten.gelu all overloads of the packet, gelu the same of aten
 * or, if aten has none, of any namespace. */
#include "pipeline/op_list.h"

#include <string.h>

typedef struct word {
    const char *s;
    size_t n;
} word;

/* The next name of a list; false at its end. */
static bool next_word(const char **at, word *w)
{
    const char *p = *at + strspn(*at, ", \t");
    w->s = p;
    w->n = strcspn(p, ", \t");
    *at = p + w->n;
    return w->n != 0;
}

static bool equal(const char *s, const char *t, size_t n)
{
    return strlen(s) == n && memcmp(s, t, n) == 0;
}

/* How well a row answers to a name: 3 the overload, 2 the packet, 1 the packet's last part; 0
 * not. */
static int answers(aot_op_id op, word w)
{
    const aot_op_info *o = aot_op(op);
    const char *dot = strchr(o->packet, '.');
    return equal(o->packet, w.s, w.n)                                        ? 2
           : dot == NULL || (o->flags & AOT_OPF_PYTHON) != 0                 ? 0
           : equal(dot + 1, w.s, w.n) && strncmp(o->packet, "aten.", 5) == 0 ? 2
           : equal(dot + 1, w.s, w.n)                                        ? 1
                                                                             : 0;
}

static bool is_packet(word w)
{
    for (unsigned op = 1; op < AOT_N_OPS; op++) {
        if (answers((aot_op_id)op, w) != 0) {
            return true;
        }
    }
    return false;
}

/* Calls fn for each operator that the name means; returns how many. */
static unsigned each_op(word w, void (*fn)(void *arg, aot_op_id op), void *arg)
{
    static const char prefix[] = "torch.ops.";
    if (w.n > sizeof prefix - 1 && memcmp(w.s, prefix, sizeof prefix - 1) == 0) {
        w = (word){w.s + sizeof prefix - 1, w.n - (sizeof prefix - 1)};
    }
    aot_op_id exact = is_packet(w) ? AOT_OP_UNKNOWN : aot_op_find(w.s, w.n);
    if (exact != AOT_OP_UNKNOWN) {
        fn(arg, exact);
        return 1;
    }
    int best = 1;
    for (unsigned op = 1; op < AOT_N_OPS; op++) {
        int how = answers((aot_op_id)op, w);
        best = how > best ? how : best;
    }
    unsigned n = 0;
    for (unsigned op = 1; op < AOT_N_OPS; op++) {
        if (answers((aot_op_id)op, w) == best) {
            fn(arg, (aot_op_id)op);
            n++;
        }
    }
    return n;
}

typedef struct facts {
    /* rules to decompose by, in a table, composites above it */
    unsigned n_rules, n_tables, n_above;
} facts;

static void see(void *arg, aot_op_id op)
{
    facts *f = arg;
    uint32_t flags = aot_op(op)->flags;
    f->n_rules += aot_trace_rules_of(op)->expand != NULL;
    bool above = (flags & (AOT_OPF_COMPOSITE_IMPLICIT | AOT_OPF_AUTOGRAD_DECOMP)) != 0;
    f->n_above += above;
    f->n_tables += !above && (flags & (AOT_OPF_INDUCTOR_DECOMP | AOT_OPF_CORE_DECOMP)) != 0;
}

aot_status aot_op_list_check(const char *list, const char *setting, aot_err *err)
{
    word w;
    bool keep = strcmp(setting, "keep") == 0;
    for (const char *at = list; next_word(&at, &w);) {
        facts f = {0};
        int n = w.n < 80 ? (int)w.n : 80;
        if (each_op(w, see, &f) == 0) {
            return AOT_FAIL(err, AOT_E_USAGE,
                            "%s: no operator is called '%.*s'; `aotscope ops` lists them",
                            setting, n, w.s);
        }
        if (!keep && f.n_rules == 0) {
            return AOT_FAIL(
                err, AOT_E_USAGE,
                "%s: %.*s has no decomposition rule here; `aotscope ops %.*s` shows what "
                "it has",
                setting, n, w.s, n, w.s);
        }
        if (keep && f.n_tables == 0 && f.n_above == 0) {
            return AOT_FAIL(err, AOT_E_USAGE,
                            "%s: no table decomposes %.*s: it stays without being kept; `aotscope "
                            "ops %.*s` shows what it has",
                            setting, n, w.s, n, w.s);
        }
    }
    return AOT_OK;
}

aot_status aot_op_choices_check(const aot_config *config, aot_err *err)
{
    word w;
    bool export = strcmp(config->path, "export") == 0;
    for (const char *at = config->keep; !export && next_word(&at, &w);) {
        facts f = {0};
        if (each_op(w, see, &f) != 0 && f.n_tables == 0) {
            return AOT_FAIL(
                err, AOT_E_USAGE,
                "keep: %.*s is a composite: the dispatcher expands it before any table is "
                "asked; the export path keeps it (--path export)",
                w.n < 80 ? (int)w.n : 80, w.s);
        }
    }
    return AOT_OK;
}

static void choose_decompose(void *arg, aot_op_id op)
{
    if (aot_trace_rules_of(op)->expand != NULL) {
        ((uint8_t *)arg)[op] = AOT_CHOICE_DECOMPOSE;
    }
}

static void choose_keep(void *arg, aot_op_id op)
{
    ((uint8_t *)arg)[op] = AOT_CHOICE_KEEP;
}

const uint8_t *aot_op_choices(const aot_config *config, aot_arena *a)
{
    word w;
    if (config->decompose[0] == '\0' && config->keep[0] == '\0') {
        return NULL;
    }
    uint8_t *choice = AOT_NEW_ARRAY(a, uint8_t, AOT_N_OPS);
    memset(choice, 0, AOT_N_OPS);
    for (const char *at = config->decompose; next_word(&at, &w);) {
        each_op(w, choose_decompose, choice);
    }
    for (const char *at = config->keep; next_word(&at, &w);) {
        each_op(w, choose_keep, choice);
    }
    return choice;
}
