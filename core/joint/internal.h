/* Shared by the files of this folder: the state of one run and the steps. */
#ifndef AOT_JOINT_INTERNAL_H
#define AOT_JOINT_INTERNAL_H

#include "joint/fx.h"
#include "joint/match.h"
#include "joint/trace.h"
#include "rules/fake.h"

typedef struct joint {
    fx f;
    const aot_config *config;
    const aot_joint_in *in;
    aot_arena *scratch;
    uint32_t count;        /* matches: the graph is sorted at the end if there were any */
    uint8_t *zero, *one;   /* by node: a full of 0 or 1 that folding made */
    size_t n_marks;
    struct attention_set *attention; /* made when first needed */
} joint;

/* Says why something was left as it is. node may be AOT_NO_NODE. */
void joint_note(joint *j, uint32_t node, const char *fmt, ...) AOT_PRINTF(3, 4);

/* One pass. */
typedef aot_status joint_pass_fn(joint *j, aot_err *err);
#define JOINT_PASS(name, fn, sentence) joint_pass_fn fn;
#include "joint/joint_passes.def"
#undef JOINT_PASS

/* What a graph pattern does where it matches. j is NULL in a trace (early patterns only). */
typedef void joint_handler(joint *j, fx *f, const match *m);
#define GRAPH_PATTERN(group, name, handler, text) joint_handler handler;
#include "joint/graph_patterns.def"
#undef GRAPH_PATTERN

/* ---- noop.c ---- */
/* Removes operators that give back what they are given. storage: NULL, or the group of each
 * placeholder in order. */
void joint_remove_noops(fx *f, const int *storage, int n_storage);

/* ---- apply.c ---- */
typedef enum joint_group {
    JOINT_EARLY, JOINT_PATTERNS, JOINT_RANDPERM, JOINT_SOFTMAX
} joint_group;
/* Applies the patterns of one group to every node, the last one first; returns how many matched.
 * JOINT_PATTERNS takes the attention patterns and JOINT_RANDPERM after its own. */
uint32_t joint_apply(joint *j, fx *f, joint_group group);
/* The early patterns on a trace. */
void joint_early_patterns(fx *f);
/* Puts a trace where a match is: its outputs take the place of the match's, its inputs are args.
 * Mirrors ReplacementPatternEntry.replace_with_graph. */
void joint_replace(fx *f, const match *m, const trace *t, const aot_arg *args);

/* ---- attention.c ---- */
/* Tries the attention patterns at a node; true if one was replaced. */
bool joint_attention_root(const fx *f, uint32_t node); /* whether it is worth trying */
bool joint_try_attention(joint *j, uint32_t node);
void joint_attention_free(joint *j);

/* ---- types ---- */
static inline aot_fake joint_type(const fx *f, uint32_t id)
{
    return aot_fake_of_meta(f->c, fx_node(f, id)->meta);
}
/* An argument as a size: a number, or what a symbol's node stands for. False: neither. */
bool joint_dim(const fx *f, const aot_arg *a, aot_dim *out);

#endif
