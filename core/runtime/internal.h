/* Between the files of runtime. */
#ifndef AOT_RUNTIME_INTERNAL_H
#define AOT_RUNTIME_INTERNAL_H

#include "runtime/wrappers.h"

#define WRAPPER(id, name, paths, function, sentence)                                               \
    void rt_##function(const aot_runtime *r, aot_wrapper_use *u);
#include "runtime/wrappers.def"
#undef WRAPPER

void rt_line(aot_wrapper_use *u, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
bool rt_is_autograd(const aot_runtime *r);
/* "input 2 (l_x_)" for an input of the graph; "the base of inputs 0 (l_a_) and 1 (l_b_)". */
const char *rt_input(const aot_runtime *r, int inner);
/* "input 2 (l_x_)" for an input of the user's function. */
const char *rt_outer(const aot_runtime *r, int outer);
/* "outputs 3 to 5", "output 3", with the word that is given. */
const char *rt_range(aot_arena *a, const char *word, int first, int n);

#endif
