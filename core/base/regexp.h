/* Regular expressions that people write (POSIX extended): the one place that compiles them. */
#ifndef AOT_BASE_REGEXP_H
#define AOT_BASE_REGEXP_H

#include <regex.h>
#include <stdbool.h>

#include "base/err.h"

/* The library's compiler recurses over parentheses and writes repetitions out, so that a short text
 * can cost all the stack or memory there is: what is longer, deeper or larger is refused before. */
enum {
    AOT_REGEXP_BYTES = 1000, /* length of the text */
    AOT_REGEXP_DEPTH = 50,   /* parentheses in each other */
    AOT_REGEXP_SIGNS = 2000, /* signs with all + and {N,M} written out */
};

/* On success regfree(out) releases it; nothing is held after an error.
 * Errors: E_USAGE: the limit that is passed, or why the text is no regular expression. */
AOT_NODISCARD aot_status aot_regexp_compile(regex_t *out, const char *text, bool ignore_case,
                                            aot_err *err);

#endif
