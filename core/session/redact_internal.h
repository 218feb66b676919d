/* Shared by the parts of redaction: made-up names (redact_names.c), graphs (redact_graph.c), units
 * (redact.c). Texts that are returned live as long as the redactor. */
#ifndef AOT_SESSION_REDACT_INTERNAL_H
#define AOT_SESSION_REDACT_INTERNAL_H

#include "base/str.h"
#include "ir/graph.h"
#include "session/redact.h"

/* "n7" for a name of the user; the same for the same name. The number that FX put behind stays,
 * since it counts by it (x, x_1: n7, n7_1), and so does export's prefix (p_x: p_n7). */
const char *red_name(aot_redactor *r, const char *s, size_t n);
/* "n7.n8" for a dotted path; numbers stay. */
const char *red_path(aot_redactor *r, const char *s, size_t n);
/* "file_1.py" */
const char *red_file(aot_redactor *r, const char *path);
/* Name of a Python function: "<lambda>" and "<module>" stay. */
const char *red_function(aot_redactor *r, const char *s, size_t n);
/* Dynamo's expression for an input. Also remembers what the placeholder named after it becomes. */
const char *red_source(aot_redactor *r, const char *source);
/* Printed metadata, descriptors, signatures: words and quoted names. renamed: value names that have
 * a new one already, NULL for none; belongs to the caller. */
typedef const char *red_rename_fn(void *arg, const char *s, size_t n);
const char *red_repr(aot_redactor *r, const char *s, size_t n, red_rename_fn *renamed, void *arg);

/* Whether FX and AOTAutograd name values so, whatever the user wrote: mul_1, primals_3, s77. */
bool red_is_value_word(const aot_redactor *r, const char *s, size_t n);
/* Whether a text constant of a call is of PyTorch's vocabulary: 'mean', 'cuda:0', 'float32', a
 * number. */
bool red_is_text_word(const aot_redactor *r, const char *s, size_t n);
/* The new name of a placeholder that was named after a source, or of its alias in lower case; NULL:
 * no source is known. */
const char *red_of_source(const aot_redactor *r, const char *s, size_t n);
const char *red_lower(aot_redactor *r, const char *s); /* a copy in lower case */
/* becomes lives as long as r. */
void red_remember(aot_redactor *r, const char *s, size_t n, const char *becomes);

/* Rewrites the text of a graph record; false if it cannot be read. */
bool red_graph(aot_redactor *r, aot_record *rec, aot_arena *a);
/* Target of a call: kept if it is PyTorch's. */
const char *red_target(aot_redactor *r, const char *s, size_t n);
/* "ns::name(Tensor x) -> Tensor" of a custom operator. */
const char *red_schema(aot_redactor *r, const char *s, size_t n);

#endif
