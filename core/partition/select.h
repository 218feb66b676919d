/* The selection language: which nodes of a graph are meant, in one line of text.
 *
 *     op:mm bytes>1M !saved        matrix products of more than a mebibyte that are not saved
 *     gelu|relu line:model.py:12   name or operator fits the regular expression, and that line
 *
 * Terms stand apart by blanks and all must hold; `!` in front negates one. A term is NAME:VALUE
 * (commas give alternatives), NAME>NUMBER (also >= < <= = and K M G T, KB KiB ...), a word of the
 * table (saved), or a regular expression (POSIX extended; small letters fit capitals too) that the
 * value's name or operator must contain. "..." keeps blanks, and makes a word of the table a plain
 * text. select_terms.def lists the terms. */
#ifndef AOT_PARTITION_SELECT_H
#define AOT_PARTITION_SELECT_H

#include "partition/partition.h"

typedef struct aot_select_term aot_select_term;

typedef struct aot_select {
    aot_select_term *terms; /* NULL: every node is meant */
    size_t n_terms;
    /* a term asks what only a partition tells; without one it holds for no node */
    bool needs_partition;
    bool needs_modules;   /* a term asks for modules */
} aot_select;

/* out is freed with aot_select_free. Text of blanks alone selects every node.
 * Errors: E_USAGE (names the term, what is wrong with it and what there is). */
AOT_NODISCARD aot_status aot_select_parse(aot_select *out, const char *text, aot_err *err);
void aot_select_free(aot_select *s); /* all zero is fine */

/* What is known of the nodes of one graph. */
typedef struct aot_select_on {
    const aot_graph *g;
    const aot_partition *p;      /* NULL: none */
    const char *const *modules;  /* by node of g: "layers.0.mlp", "" or NULL; NULL: not known */
    /* by node of g: where it is in p->cut, AOT_NO_NODE if nowhere; NULL: g is p->cut, or there is
     * no partition */
    aot_node_id *cut;
} aot_select_on;

/* g, p and modules are borrowed; p may be of another graph of the unit and another context: nodes
 * are found by name. Cost: linear. */
void aot_select_begin(aot_select_on *out, const aot_graph *g, const aot_partition *p,
                      const char *const *modules);
void aot_select_end(aot_select_on *on);
/* Whether a node is meant. Cost: that of its texts. */
bool aot_select_match(const aot_select *s, const aot_select_on *on, aot_node_id id);

/* The module that each node of the joint graph (or of the graph that is cut) belongs to, from the
 * sources of its parameters: param_paths by primal, "layers.0.fc.weight", NULL where it is none. A
 * node that reads a parameter is in that parameter's module; one between two such nodes of the
 * forward in the module that holds both: "" is the outermost one, NULL: not known. The list has an
 * entry a node and is in a. */
const char *const *aot_select_modules(const aot_graph *g, const char *const *param_paths,
                                      uint32_t n, aot_arena *a);
/* How such a path is shown: "layers.0", "(the outermost module)", "(in no module)". */
const char *aot_module_words(const char *path);

/* Rows of the table, for help and completion. */
typedef enum aot_select_kind {
    AOT_SELECT_TEXT,
    AOT_SELECT_NUMBER,
    AOT_SELECT_WORD
} aot_select_kind;
typedef struct aot_select_row {
    aot_select_kind kind;
    const char *name, *arg, *doc;
} aot_select_row;
size_t aot_select_count(void);
aot_select_row aot_select_row_at(size_t i);

#endif
