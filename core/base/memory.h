/* How the C library treats freed memory. */
#ifndef AOT_BASE_MEMORY_H
#define AOT_BASE_MEMORY_H

/* For the begin of a program that makes and frees arrays of the size of a graph again and again:
 * what is freed stays with the process, since pages that come anew from the system cost as much as
 * the work on them. Does nothing where the C library has no such switch. */
void aot_keep_freed_memory(void);

#endif
