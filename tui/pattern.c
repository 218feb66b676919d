/* Patterns of search and filter. A text without a sign of regular expressions is looked for as it
 * is, which is much faster. */
#include "tui/pattern.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/regexp.h"
#include "base/arena.h"

void aot_pattern_drop(aot_pattern *p)
{
    if (p->text && p->is_regex) {
        regfree(&p->regex);
    }
    free(p->text);
    *p = (aot_pattern){0};
}

aot_status aot_pattern_make(aot_pattern *p, const char *text, bool may_invert, aot_err *err)
{
    aot_pattern q = {.inverse = may_invert && *text == '!', .ignore_case = true};
    text += q.inverse;
    for (const char *s = text; *s; s++) {
        q.ignore_case = q.ignore_case && !isupper((unsigned char)*s);
    }
    q.is_regex = strpbrk(text, "\\^$.[]|()*+?{}") != NULL;
    if (q.is_regex) {
        AOT_TRY(aot_regexp_compile(&q.regex, text, q.ignore_case, err));
    }
    aot_pattern_drop(p);
    *p = q;
    p->text = aot_xstrdup(text);
    return AOT_OK;
}

bool aot_pattern_hits(const aot_pattern *p, const char *s)
{
    bool hit = p->is_regex      ? regexec(&p->regex, s, 0, NULL, 0) == 0
               : p->ignore_case ? strcasestr(s, p->text) != NULL
                                : strstr(s, p->text) != NULL;
    return hit != p->inverse;
}
