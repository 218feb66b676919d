/* What log lines have in common: glog prefixes, launchers' prefixes, ranks in names, UTF-8.
 *
 *   [default3]:[rank3]:V1129 14:44:12.811000 25371 torch/_dynamo/x.py:276] [0/0] ...
 *   launchers --------^ glog prefix -------------------------------------^ */
#include <ctype.h>
#include <string.h>

#include "base/path.h"
#include "import/importer.h"

static size_t digits(const char *s, size_t n, size_t i)
{
    size_t start = i;
    while (i < n && isdigit((unsigned char)s[i])) {
        i++;
    }
    return i - start;
}

size_t aot_import_glog(const char *s, size_t n, uint64_t *pid, const char **place,
                       size_t *place_len)
{
    // V1129 14:44:12.811000 25371 path:276]
    if (n < 24 || strchr("VIWECDF", s[0]) == NULL || s[0] == '\0' || digits(s, n, 1) != 4 ||
        s[5] != ' ' || digits(s, n, 6) != 2 || s[8] != ':' || digits(s, n, 9) != 2 ||
        s[11] != ':' || digits(s, n, 12) != 2 || s[14] != '.') {
        return 0;
    }
    size_t i = 15 + digits(s, n, 15);
    while (i < n && s[i] == ' ') {
        i++;
    }
    size_t len = digits(s, n, i);
    uint64_t id = 0;
    for (size_t k = 0; k < len; k++) {
        id = id * 10 + (uint64_t)(s[i + k] - '0');
    }
    i += len;
    if (len == 0 || i >= n || s[i] != ' ') {
        return 0;
    }
    const char *close = s + ++i;
    do { // a path may hold brackets: the one that closes the prefix follows ":276"
        close = memchr(close, ']', n - (size_t)(close - s));
        if (close == NULL) {
            return 0;
        }
        close++;
    } while (!isdigit((unsigned char)close[-2]));
    if (pid != NULL) {
        *pid = id;
    }
    if (place != NULL) {
        *place = s + i;
        *place_len = (size_t)(close - 1 - (s + i));
    }
    size_t end = (size_t)(close - s);
    return end < n && s[end] == ' ' ? end + 1 : end;
}

/* "[rank3]:" or "[default0]:" at s; rank of the digits, wins over a launcher's local number. */
static size_t bracket(const char *s, size_t n, int *rank, bool *named)
{
    size_t i = 1, name;
    if (n < 4 || s[0] != '[' || !isalpha((unsigned char)s[1])) {
        return 0;
    }
    while (i < n && i < 32 && (isalpha((unsigned char)s[i]) || s[i] == '_' || s[i] == '-')) {
        i++;
    }
    name = i - 1;
    size_t len = digits(s, n, i);
    if (len == 0 || len > 6 || i + len + 1 >= n || s[i + len] != ']' || s[i + len + 1] != ':') {
        return 0;
    }
    int r = 0;
    for (size_t k = 0; k < len; k++) {
        r = r * 10 + (s[i + k] - '0');
    }
    bool is_rank = name == 4 && memcmp(s + 1, "rank", 4) == 0;
    if (is_rank || !*named) {
        *rank = r;
        *named = is_rank;
    }
    return i + len + 2;
}

static size_t brackets(const char *s, size_t n, int *rank)
{
    size_t at = 0, len;
    bool named = false;
    while ((len = bracket(s + at, n - at, rank, &named)) > 0) {
        at += len;
        if (at + 1 < n && s[at] == ' ' && s[at + 1] == '[') {
            at++;
        }
    }
    return at;
}

size_t aot_import_launcher(const char *s, size_t n, int *rank)
{
    size_t at = brackets(s, n, rank), blanks = 0;
    if (at > 0 || n == 0) {
        return at;
    }
    while (blanks < n && s[blanks] == ' ') {
        blanks++;
    }
    size_t len = digits(s, n, blanks), skip = blanks + len + 2; // srun --label: "3: "
    if (len == 0 || len > 6 || skip >= n || s[skip - 2] != ':' || s[skip - 1] != ' ') {
        return 0;
    }
    int task = 0, deeper = -1;
    for (size_t k = 0; k < len; k++) {
        task = task * 10 + (s[blanks + k] - '0');
    }
    skip += brackets(s + skip, n - skip, &deeper);
    if (deeper < 0 && aot_import_glog(s + skip, n - skip, NULL, NULL, NULL) == 0) {
        return 0;
    }
    *rank = deeper >= 0 ? deeper : task;
    return skip;
}

int aot_import_rank_of_name(const char *path)
{
    const char *name = aot_file_name(path), *p;
    int rank = -1;
    for (p = name; (p = strstr(p, "rank")) != NULL; p += 4) {
        const char *d = p + 4;
        d += *d == '_' || *d == '-' || *d == '.';
        if ((p == name || !isalnum((unsigned char)p[-1])) && isdigit((unsigned char)*d)) {
            rank = 0;
            for (int k = 0; k < 7 && isdigit((unsigned char)*d); k++, d++) {
                rank = rank * 10 + (*d - '0');
            }
        }
    }
    return rank;
}

/* Bytes of the UTF-8 sequence at s; 0 if it is none, or a character that a terminal would obey. */
static size_t sequence(const unsigned char *s, size_t n)
{
    if (s[0] < 0x80) {
        bool line_end = s[0] == '\r' && n > 1 && s[1] == '\n';
        return (s[0] >= 0x20 && s[0] != 0x7f) || s[0] == '\n' || s[0] == '\t' || line_end;
    }
    if (s[0] == 0xc2 && n > 1 && s[1] < 0xa0) {
        return 0; // C1
    }
    size_t len = s[0] >= 0xf0 && s[0] < 0xf5 ? 4 : s[0] >= 0xe0 ? 3 : s[0] >= 0xc2 ? 2 : 0;
    if (len == 0 || len > n || s[0] >= 0xf5) {
        return 0;
    }
    for (size_t i = 1; i < len; i++) {
        if ((s[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] >= 0xa0) ||
        (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] >= 0x90)) {
        return 0; // overlong, surrogate or beyond U+10FFFF
    }
    return len;
}

/* First place at or after i that is not clean; n if there is none. */
static size_t first_bad(const unsigned char *s, size_t n, size_t i)
{
    while (i < n) {
        uint64_t w;
        while (i + 8 <= n) { // eight ASCII bytes at once
            memcpy(&w, s + i, 8);
            uint64_t delete = w ^ 0x7f7f7f7f7f7f7f7fu;
            if (((w | (w - 0x2020202020202020u) | (delete -0x0101010101010101u)) &
                 0x8080808080808080u) != 0) {
                break; // beyond ASCII, below a blank, or DEL
            }
            i += 8;
        }
        if (i < n) {
            size_t len = sequence(s + i, n - i);
            if (len == 0) {
                return i;
            }
            i += len;
        }
    }
    return n;
}

size_t aot_import_clean(aot_sb *out, const char *s, size_t n)
{
    const unsigned char *u = (const unsigned char *)s;
    size_t replaced = 0, from = 0, at;
    while ((at = first_bad(u, n, from)) < n) {
        aot_sb_add(out, s + from, at - from);
        aot_sb_add(out, "\xef\xbf\xbd", 3);
        from = at + 1;
        replaced++;
    }
    if (replaced > 0) {
        aot_sb_add(out, s + from, n - from);
    }
    return replaced;
}
