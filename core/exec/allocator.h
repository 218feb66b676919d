/* What PyTorch's caching allocator for CUDA would reserve for a forward and a backward: the blocks
 * of memsim.h handed out and taken back in order.
 *
 * Modelled: sizes rounded up to 512 B; two pools, of requests up to 1 MiB and larger ones; segments
 * of 2 MiB in the small pool, in the large one of 20 MiB for requests below 10 MiB, else the
 * request rounded up to 2 MiB; the smallest free block that fits, at equal sizes the lowest
 * address; splitting, and joining with free neighbours. Not modelled: streams, what other units
 * leave behind, expandable segments, settings of PYTORCH_CUDA_ALLOC_CONF, giving memory back when
 * the device is full, and workspaces of libraries.
 * Mirrors: c10/cuda/CUDACachingAllocator.cpp. */
#ifndef AOT_EXEC_ALLOCATOR_H
#define AOT_EXEC_ALLOCATOR_H

#include "exec/memsim.h"

typedef struct aot_reserved {
    int64_t allocated_peak; /* rounded sizes of what lives */
    int64_t reserved_peak;  /* segments held */
    int64_t reserved_end;
    uint32_t n_segments;    /* at the end */
} aot_reserved;

/* m: walked without rounding (the allocator rounds). The backward begins with the forward's cache.
 * Cost: each request looks at the free blocks of its pool. */
void aot_allocator_replay(aot_reserved *forward, aot_reserved *backward, const aot_memory *m);
/* 512 B at least, and a multiple of it; 0 for 0. */
int64_t aot_allocator_round(int64_t bytes);

#endif
