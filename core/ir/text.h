/* PyTorch's readable text of a graph, in and out. Mirrors torch/fx/graph.py:_gen_python_code and
 * torch/fx/graph_module.py:_print_readable. */
#ifndef AOT_IR_TEXT_H
#define AOT_IR_TEXT_H

#include "ir/graph.h"

/* What the parser skipped or could not read; the graph is returned all the same if it can be. */
typedef struct aot_parse_note {
    aot_pos at;
    char msg[192];
} aot_parse_note;

/* Reads one module text ("class X(torch.nn.Module): def forward(...): ..." with its submodules).
 * first_line: line number of text[0] in the input, for positions (0 is taken as 1).
 * A line that cannot be read is an error: E_PARSE with line, column and what was expected.
 * Owns: *out belongs to c.   Cost: one pass over the text. */
AOT_NODISCARD aot_status aot_parse_graph(aot_graph **out, aot_ctx *c, const char *text, size_t n,
                                         uint32_t first_line, aot_err *err);

enum {
    AOT_PRINT_PLAIN = 0,
    AOT_PRINT_NO_COMMENTS = 1 << 0, /* leave out "# File:" lines and blank lines */
    AOT_PRINT_ONE_LINE = 1 << 1,    /* one-line signature whatever the layout says */
    AOT_PRINT_EXPANDED = 1 << 2
};
/* Appends the graph's text, with submodules, as PyTorch prints it. */
void aot_print_graph(aot_sb *out, const aot_graph *g, unsigned flags);
/* Appends one node's statement without the freeing part and without newline. */
void aot_print_node(aot_sb *out, const aot_graph *g, aot_node_id id);
void aot_print_arg(aot_sb *out, const aot_graph *g, const aot_arg *a);
/* Python's repr of a float: shortest digits that read back equal. */
void aot_print_float(aot_sb *out, double v);

#endif
