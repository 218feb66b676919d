/* Compares recorded stages with what aotscope derives from the recorded joint graph. */
#ifndef AOT_SESSION_CHECK_H
#define AOT_SESSION_CHECK_H

#include "import/unit.h"
#include "partition/partition.h"

typedef enum aot_check_verdict {
    AOT_CHECK_SAME,
    AOT_CHECK_DIFFERS,
    AOT_CHECK_LEFT_OUT, /* nothing to compare, other passes ran in between, or a difference of a
                           known kind, whose lines are then given: see reason */
    AOT_CHECK_ERROR
} aot_check_verdict;
const char *
aot_check_verdict_name(aot_check_verdict v); /* "same", "differs", "left out", "error" */

typedef struct aot_check_result {
    aot_stage stage;
    aot_check_verdict verdict;
    bool through_passes;            /* compared after Inductor's joint-graph passes */
    const char *reason;             /* NULL if there is nothing to say */
    uint32_t line;                  /* of the recorded text, from 1; 0 unknown */
    uint64_t input_line;            /* the same in the input; 0 unknown */
    /* the first lines that differ, "" where one text has ended; NULL: none do */
    const char *recorded, *derived;
} aot_check_result;

enum { AOT_CHECK_MAX = 2 }; /* forward, backward */

/* Checks what the unit recorded. partition: of the recorded joint graph, or NULL with part_err
 * saying why there is none (NULL as well: the unit has no joint graph). Texts belong to a. Returns
 * the number of results: one for each recorded forward and backward graph. */
size_t aot_check_unit(aot_check_result out[AOT_CHECK_MAX], const aot_unit *u,
                      const aot_partition *partition, const aot_err *part_err, aot_arena *a);

enum { AOT_CHECK_TRACE_MAX = 2 }; /* joint or inference, runtime */

/* Traces the unit's Dynamo graph and compares with its recorded joint or inference graph, names of
 * intermediate values aside, and then with the recorded ViewAndMutationMeta, field by field (stage
 * runtime). Returns the number of results; 0: the unit has not both graphs. What aotscope cannot
 * trace is left out with the reason. */
size_t aot_check_trace(aot_check_result out[AOT_CHECK_TRACE_MAX], const aot_unit *u,
                       const aot_config *config, aot_arena *a);
/* Why the rules of the PyTorch that wrote the unit may be others than ours; NULL if it was 2.11.
 * recorded: an AOT graph of the unit, its descriptors tell how old the writer is. */
const char *aot_check_other_rules(const aot_unit *u, const aot_graph *recorded, aot_arena *a);
/* Why a difference is no fault: the first of known_differences.def that applies; NULL: none.
 * stage: which differs; recorded: as above; dynamo: what was traced, NULL if only a recorded joint
 * graph was cut. */
const char *aot_check_known(const aot_unit *u, aot_stage stage, const aot_graph *recorded,
                            const aot_graph *dynamo, aot_arena *a);

/* Why the unit's forward and backward do not follow from what was derived: passes ran in between
 * that the derivation has not. NULL if nothing tells so. cut: the graph that was cut, NULL if there
 * is none; backend: the setting under which it was derived ("inductor_joint": Inductor's
 * joint-graph passes are in it), NULL: no passes. Belongs to a or is static. */
const char *aot_check_passes_between(const aot_unit *u, const aot_graph *cut, const char *backend,
                                     aot_arena *a);
/* Whether the records say that Inductor compiled the unit. */
bool aot_unit_is_inductors(const aot_unit *u);

/* The normal form in which texts are compared: no comment lines, no blank lines, no trailing
 * blanks; the symbol of a generator state's length is hidden, it has an arbitrary number. line_of
 * (may be NULL) receives, for each line kept, its number in the text, from 1; the caller frees
 * *line_of. */
size_t aot_normal_text(aot_sb *out, const char *text, size_t n, uint32_t **line_of);

#endif
