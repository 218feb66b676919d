/* Shared by the parser's files: what is being read, and the steps that more than one needs. */
#ifndef AOT_IR_PARSE_INTERNAL_H
#define AOT_IR_PARSE_INTERNAL_H

#include "ir/text.h"

enum { MAX_NEST = 64, MAX_MODULE_NEST = 64 };

typedef struct module {
    aot_graph *g;
    size_t indent;
} module;

/* What a name stands for in the module that is being read. */
typedef struct binding {
    uint32_t scope, node;
} binding;

typedef struct parser {
    aot_ctx *c;
    aot_graph *g; /* the module being read */
    const char *p, *end, *line_start;
    uint32_t line, scope;
    int nest;
    aot_err *err;
    module stack[MAX_MODULE_NEST];
    int depth;
    AOT_VEC(binding) names;        /* by aot_str */
    AOT_VEC(uint32_t) src_of_text; /* by aot_str; within the current scope */
    AOT_VEC(uint32_t) src_scope;
    AOT_VEC(aot_arg) stack_args; /* items of containers that are still open */
    uint32_t src;
    bool frees_unused; /* a value that nobody reads was freed on its own line */
} parser;

aot_status ps_fail(parser *ps, const char *expected);
bool ps_at_line_end(const parser *ps);
void ps_blanks(parser *ps);
void ps_next_line(parser *ps);
bool ps_looking_at(const parser *ps, const char *tok);
bool ps_take(parser *ps, const char *tok);
bool ps_ident_char(char ch);
size_t ps_ident_len(const parser *ps, const char *p);
size_t ps_path_len(const parser *ps, const char *p);
const char *ps_balanced(const parser *ps, const char *p);
binding *ps_binding_of(parser *ps, aot_str s);
void ps_bind(parser *ps, aot_str s, aot_node_id id);
aot_node_id ps_lookup(const parser *ps, const char *s, size_t n);
aot_status ps_parse_value(parser *ps, aot_arg *out);
aot_status ps_parse_assign(parser *ps, aot_node *n);
void ps_set_args(parser *ps, aot_node *n, const aot_arg *a, uint16_t count);
aot_status ps_add_node(parser *ps, aot_node *n);
aot_status ps_end_statement(parser *ps);
aot_status ps_parse_statement(parser *ps);

#endif
