/* Errors: a status returned by every function that can fail, and details in an
 * aot_err that the caller owns. The first error wins: a caller may add context
 * (file, pass, node) but does not replace the message. */
#ifndef AOT_BASE_ERR_H
#define AOT_BASE_ERR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#if defined(__GNUC__)
#define AOT_NODISCARD __attribute__((warn_unused_result))
#define AOT_PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))
#define AOT_NORETURN __attribute__((noreturn))
#else
#define AOT_NODISCARD
#define AOT_PRINTF(fmt, first)
#define AOT_NORETURN
#endif

/* One row a status: see errors.def. */
typedef enum aot_status {
#define AOT_ERROR(id, sentence) AOT_##id,
#include "errors.def"
#undef AOT_ERROR
} aot_status;

/* A place in an imported text. Line and column count from 1; 0 = unknown. */
typedef struct aot_pos {
    uint32_t line, column;
} aot_pos;

typedef struct aot_err {
    aot_status code;
    aot_pos at;         /* place in the input, if any */
    char file[256];     /* input file, "" if none */
    char msg[512];      /* one line, no "failed to", values included */
    const char *c_file; /* our own source, for bug reports */
    int c_line;
} aot_err;

/* "OK", "PARSE", ...: the row's name. Borrowed, static. */
const char *aot_status_name(aot_status s);

/* Sets *err (if not NULL and not yet set) and returns code. */
aot_status aot_fail_at(aot_err *err, aot_status code, aot_pos at, const char *c_file, int c_line,
                       const char *fmt, ...) AOT_PRINTF(6, 7);

#define AOT_FAIL(err, code, ...) \
    aot_fail_at((err), (code), (aot_pos){0, 0}, __FILE__, __LINE__, __VA_ARGS__)
#define AOT_FAIL_POS(err, code, pos, ...) \
    aot_fail_at((err), (code), (pos), __FILE__, __LINE__, __VA_ARGS__)

/* Returns from the calling function when a call fails; for functions that hold no resource. */
#define AOT_TRY(call)                        \
    do {                                     \
        aot_status try_status_ = (call);     \
        if (try_status_ != AOT_OK) {         \
            return try_status_;              \
        }                                    \
    } while (0)

/* Names the input file of an error that has none yet. */
void aot_err_in_file(aot_err *err, const char *file);

/* Writes "FILE:LINE:COLUMN: message" into buf (always terminated); returns buf. */
const char *aot_err_text(const aot_err *err, char *buf, unsigned long size);

/* Out of memory is not an error to be handled: prints one line and exits with 2. */
AOT_NORETURN void aot_oom(unsigned long bytes);

#endif
