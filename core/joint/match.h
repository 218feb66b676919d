/* Patterns of calls and their matches in a graph.
 *
 * A pattern is written as text:
 *     s = aten.mul.Tensor~($inp, $other); aten.sub.Tensor(s, aten.amax.default(s, $dim, $keepdim))
 * $x captures any argument under that name (equal names must capture equal arguments), * matches
 * any argument, True, None, 3 and names such as torch.contiguous_format match themselves, [a, b] a
 * list. A call must have as many users as the pattern's: one, ^n for n, ~ for any number; what the
 * pattern gives back (the last statement, outputs apart by commas, None for none) may have any.
 * aten.bmm.* stands for every overload. A pattern can also be read off a graph (attention):
 * numbers, lists, dtypes and devices become *.
 * Mirrors: torch/_inductor/pattern_matcher.py (CallFunction, KeywordArg, MultiOutputPattern). */
#ifndef AOT_JOINT_MATCH_H
#define AOT_JOINT_MATCH_H

#include "joint/fx.h"

typedef enum pat_kind {
    PAT_ANY,   /* * */
    PAT_KEY,   /* $name */
    PAT_CALL,  /* another call of the pattern */
    PAT_CONST, /* equal to it */
    PAT_LIST
} pat_kind;

typedef struct pat_arg {
    uint8_t kind;
    uint32_t at; /* KEY: name (aot_str); CALL: index; LIST: first item in args */
    uint32_t n;  /* LIST */
    aot_arg value;
} pat_arg;

enum { PAT_MANY = -1, PAT_NO_CALL = -1 };

typedef struct pat_call {
    const char *op; /* full name, or the packet */
    bool packet;
    bool lists;     /* some argument is a list: all lists are looked into */
    bool is_output;
    int users;      /* PAT_MANY: any number */
    uint32_t args, n_args, kwargs, n_kwargs; /* kwargs: in args; names in keys beside them */
} pat_call;

typedef struct pattern {
    const char *name;
    AOT_VEC(pat_call) calls;
    AOT_VEC(pat_arg) args;
    AOT_VEC(aot_str) keys; /* by index in args: name of a keyword argument; else 0 */
    AOT_VEC(int) outs;     /* index of a call; PAT_NO_CALL */
} pattern;

typedef struct match_key {
    aot_str name;
    aot_arg value;
} match_key;

typedef struct match {
    const pattern *pat;
    AOT_VEC(uint32_t) nodes; /* matched calls, inputs before users */
    AOT_VEC(match_key) keys;
    AOT_VEC(uint32_t) outs;  /* by output; AOT_NO_NODE */
} match;

/* Reads the text form. Strings are interned in c. A text that is not well formed is our own bug. */
void pattern_parse(pattern *out, aot_ctx *c, const char *name, const char *text);
void pattern_free(pattern *p);
/* The pattern as text, one call a line, for tests. */
void pattern_print(aot_sb *out, const pattern *p, const aot_ctx *c);
/* Whether two patterns match the same graphs under the same names. */
bool pattern_same(const pattern *a, const pattern *b);
/* Whether a call could be the pattern's first output. */
bool pattern_starts_with(const pattern *p, aot_op_id op);

/* Matches the pattern with `node` as its first output. Free with match_free whatever is
 * returned. */
bool pattern_match(match *out, const pattern *p, fx *f, uint32_t node);
void match_free(match *m);
/* What was captured under a name; NULL if nothing was. */
const aot_arg *match_get(const match *m, const aot_ctx *c, const char *name);
uint32_t match_get_node(const match *m, const aot_ctx *c, const char *name); /* AOT_NO_NODE */
/* Takes out what was matched and has no users left, last first. */
void match_erase(const match *m, fx *f);

/* Equal as Python's == has it: True == 1 == 1.0. Lists by their items, in g. */
bool fx_arg_equal(const aot_graph *g, const aot_arg *a, const aot_arg *b);

#endif
