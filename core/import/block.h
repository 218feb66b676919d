/* Finds graph texts in a stream of lines: where a module text starts, which lines belong to it,
 * where it ends. Used by the TORCH_LOGS and the plain text importers. */
#ifndef AOT_IMPORT_BLOCK_H
#define AOT_IMPORT_BLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

typedef enum aot_block_state {
    AOT_BLOCK_IDLE,
    AOT_BLOCK_BODY,  /* inside a class, its return was not seen */
    AOT_BLOCK_TAIL,  /* inside a return, or just after it */
    AOT_BLOCK_DONE   /* return and an empty line were seen: a submodule may follow */
} aot_block_state;

typedef struct aot_block aot_block;
struct aot_block {
    aot_block_state state;
    aot_sb text;
    char heading[256];  /* what stood in "===== HEADING =====" before the class; "" if nothing */
    uint64_t line;      /* of the class line */
    size_t indent;      /* of the class line, taken off every line */
    uint64_t n_lines;   /* that are not empty */
    bool bare_def;      /* option: "def forward" without a class opens a text too */
    bool wrapped;       /* "def forward" without a class: one was put around it */
    bool open_return;   /* "return (" whose ")" is still to come */
    uint32_t foreign;   /* lines in a row that were no part of the graph */
    void *arg;
    /* A module text is complete; block.state says in which state it was left (BODY: cut off).
     * Called before the block is emptied. */
    void (*on_graph)(void *arg, aot_block *b);
};

void aot_block_line(aot_block *b, const char *s, size_t n, uint64_t line);
/* The text ends here whatever its state. */
void aot_block_end(aot_block *b);
void aot_block_free(aot_block *b);

/* "class X(torch.nn.Module):" with at most a file name before it; *at: where "class" starts. */
bool aot_block_is_class(const char *s, size_t n, size_t *at);
/* "===== NAME =====": copies NAME. */
bool aot_block_is_heading(const char *s, size_t n, char *name, size_t size);

#endif
