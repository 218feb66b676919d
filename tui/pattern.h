/* What search and filter look for. */
#ifndef AOT_TUI_PATTERN_H
#define AOT_TUI_PATTERN_H

#include <regex.h>
#include <stdbool.h>

#include "base/err.h"

/* A pattern: plain text is looked for as it is, else as an extended regular expression. */
typedef struct aot_pattern {
    char *text; /* NULL: none */
    bool is_regex, ignore_case, inverse;
    regex_t regex;
} aot_pattern;

/* In place of the pattern before. Smart case: small letters only match both cases; may_invert: a
 * text that begins with ! means what does not match. Errors: E_PARSE: what is wrong with the
 * expression. */
AOT_NODISCARD aot_status aot_pattern_make(aot_pattern *p, const char *text, bool may_invert,
                                          aot_err *err);
void aot_pattern_drop(aot_pattern *p); /* all zero is fine */
bool aot_pattern_hits(const aot_pattern *p, const char *s);

#endif
