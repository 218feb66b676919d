/* Findings: what is wrong or wasteful in a unit, found without running it. */
#ifndef AOT_LINT_LINT_H
#define AOT_LINT_LINT_H

#include "base/vec.h"
#include "partition/partition.h"
#include "session/model.h"

typedef enum aot_finding_level {
    AOT_FINDING_NOTE,
    AOT_FINDING_WARNING,
    AOT_FINDING_ERROR
} aot_finding_level;
const char *aot_finding_level_name(aot_finding_level l); /* "error"; SARIF's words */

/* A row of findings.def. */
typedef struct aot_finding_rule {
    const char *name, *title, *remedy;
    aot_finding_level level;
} aot_finding_rule;
unsigned aot_finding_rule_count(void);
const aot_finding_rule *aot_finding_rule_at(unsigned i);

typedef struct aot_finding {
    const aot_finding_rule *rule;
    aot_node_id node;    /* in the partition's cut; AOT_NO_NODE: of the unit as a whole */
    const char *message; /* of this place: names, bytes */
    int64_t bytes;       /* that it is about; 0: none */
} aot_finding;

typedef AOT_VEC(aot_finding) aot_findings;

/* Appends what is found, rule by rule, nodes in order. Messages belong to the partition's context.
 * Cost: linear. */
void aot_lint(aot_findings *out, const aot_partition *p);

/* The same of a unit, and what there is to say without a partition: a joint graph that cannot be
 * cut is a finding. *p: the partition, NULL if there is none; messages belong to a or to p's
 * context.
 * Errors: what keeps the unit from being looked at (E_PARSE ...). */
AOT_NODISCARD aot_status aot_lint_unit(aot_findings *out, const aot_partition **p, aot_model *m,
                                       size_t unit, aot_arena *a, aot_err *err);

#endif
