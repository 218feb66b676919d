/* Memory of storages: what is given back is kept by size class for the next that asks, so that a
 * graph which runs in steady state asks the system for nothing. */
#ifndef AOT_EXEC_BLOCKS_H
#define AOT_EXEC_BLOCKS_H

#include <stddef.h>

typedef struct aot_blocks aot_blocks;

aot_blocks *aot_blocks_new(void);
void aot_blocks_free(aot_blocks *b); /* NULL is fine; blocks that are taken stay valid until then */
/* At least that many bytes, undefined; ends the program where there is no memory. *bytes becomes
 * what there is. b NULL: from the system. */
void *aot_blocks_take(aot_blocks *b, size_t *bytes);
/* Back to where it was taken from; bytes as take left them. */
void aot_blocks_give(aot_blocks *b, void *block, size_t bytes);

#endif
