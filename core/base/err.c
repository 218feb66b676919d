/* Statuses and their texts; the one place where an aot_err is filled. */
#include "base/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *aot_status_name(aot_status s)
{
    static const char *const names[] = {
#define AOT_ERROR(id, sentence) #id,
#include "errors.def"
#undef AOT_ERROR
    };
    return (size_t)s < sizeof names / sizeof *names ? names[s] : "?";
}

aot_status aot_fail_at(aot_err *err, aot_status code, aot_pos at, const char *c_file, int c_line,
                       const char *fmt, ...)
{
    if (err == NULL || err->code != AOT_OK) {
        return code;
    }
    err->code = code;
    err->at = at;
    err->c_file = c_file;
    err->c_line = c_line;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(err->msg, sizeof err->msg, fmt, ap);
    va_end(ap);
    return code;
}

void aot_err_in_file(aot_err *err, const char *file)
{
    if (err != NULL && err->file[0] == '\0' && file != NULL) {
        snprintf(err->file, sizeof err->file, "%s", file);
    }
}

const char *aot_err_text(const aot_err *err, char *buf, unsigned long size)
{
    int n = 0;
    if (size == 0) {
        return buf;
    }
    buf[0] = '\0';
    if (err->file[0] != '\0') {
        n = snprintf(buf, size, "%s:", err->file);
    }
    if (n >= 0 && (unsigned long)n < size && err->at.line != 0) {
        n += snprintf(buf + n, size - (unsigned long)n, "%u:", err->at.line);
        if ((unsigned long)n < size && err->at.column != 0) {
            n += snprintf(buf + n, size - (unsigned long)n, "%u:", err->at.column);
        }
    }
    if (n >= 0 && (unsigned long)n < size) {
        snprintf(buf + n, size - (unsigned long)n, "%s%s", n > 0 ? " " : "", err->msg);
    }
    return buf;
}

void aot_oom(unsigned long bytes)
{
    fprintf(stderr, "aotscope: out of memory (%lu bytes asked for)\n", bytes);
    exit(2);
}
