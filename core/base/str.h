/* Interned strings: equal texts have equal ids, so names compare as integers.
 * And aot_sb, a string builder on the heap. */
#ifndef AOT_BASE_STR_H
#define AOT_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint32_t aot_str; /* id within one aot_strtab; 0 is the empty string and "none" */
typedef struct aot_strtab aot_strtab;

aot_strtab *aot_strtab_new(void);
void aot_strtab_free(aot_strtab *t);
aot_str aot_intern(aot_strtab *t, const char *s, size_t n);
aot_str aot_intern_z(aot_strtab *t, const char *s);
/* Looks up without adding: 0 if the text is unknown. */
aot_str aot_intern_find(const aot_strtab *t, const char *s, size_t n);
const char *aot_str_text(const aot_strtab *t, aot_str s); /* 0-terminated; lives as long as t */
size_t aot_str_len(const aot_strtab *t, aot_str s);
uint32_t aot_strtab_count(const aot_strtab *t); /* ids are below this */

typedef struct aot_sb {
    char *d; /* 0-terminated after any call; NULL while empty */
    size_t n, cap;
} aot_sb;

void aot_sb_add(aot_sb *b, const char *s, size_t n);
void aot_sb_addz(aot_sb *b, const char *s);
void aot_sb_addc(aot_sb *b, char c);
void aot_sb_addf(aot_sb *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void aot_sb_add_i64(aot_sb *b, int64_t v);
void aot_sb_pad(aot_sb *b, char c, size_t n);
const char *aot_sb_text(const aot_sb *b); /* "" while empty */
void aot_sb_clear(aot_sb *b);             /* keeps the memory */
void aot_sb_free(aot_sb *b);

bool aot_starts_with(const char *s, const char *prefix);
/* "4096", "8MiB", "1.5GB"; false: it is no size. */
bool aot_bytes_parse(int64_t *bytes, const char *text);
bool aot_ends_with(const char *s, const char *suffix);

/* Control characters that a terminal would obey become '?', in place: C0 but for tabs and line
 * feeds, DEL, C1. For texts that come from elsewhere. Returns s, which may be NULL. */
char *aot_text_disarm(char *s);

#endif
