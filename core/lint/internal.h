/* Rules of units: lint_unit.c has them, lint.c the table. */
#ifndef AOT_LINT_INTERNAL_H
#define AOT_LINT_INTERNAL_H

#include "lint/lint.h"

typedef struct unit_lint {
    aot_model *m;
    size_t unit;
    const aot_partition *p; /* NULL: the joint graph could not be cut, or there is none */
    const aot_err *why;     /* why it could not; code AOT_OK: it could */
    aot_findings *out;
    const aot_finding_rule *rule;
    aot_arena *arena;
} unit_lint;

#define FINDING(fn, name, level, title, remedy)
#define UNIT_FINDING(fn, name, level, title, remedy) void lint_unit_##fn(unit_lint *l);
#include "lint/findings.def"
#undef FINDING
#undef UNIT_FINDING

/* Runs the unit's rules of findings.def. */
void lint_unit_rules(unit_lint *l);

#endif
