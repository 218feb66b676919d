/* The table of pyops.def. */
#include "ir/pyops.h"

#include <string.h>

static const aot_pyop pyops[] = {
#define PYOP(name, n, before, between, after) {name, n, before, between, after, false},
#define PYOP_INPLACE(name, symbol) {name, 2, "", symbol, "", true},
#include "ir/pyops.def"
#undef PYOP
#undef PYOP_INPLACE
};

const aot_pyop *aot_pyops(size_t *n)
{
    *n = sizeof pyops / sizeof *pyops;
    return pyops;
}

const aot_pyop *aot_pyop_of_target(const char *target)
{
    if (strncmp(target, "operator.", 9) != 0) {
        return NULL;
    }
    for (size_t i = 0; i < sizeof pyops / sizeof *pyops; i++) {
        if (strcmp(pyops[i].name, target + 9) == 0) {
            return &pyops[i];
        }
    }
    return NULL;
}
