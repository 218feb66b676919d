/* Settings: the table made from config.def, and values read and written as Python spells them.
 * Everything works on rows (type letter, offset, range text), so a new setting is a row in the
 * table and nothing here:  "cse=False" -> c->cse = false;  c->activation_memory_budget -> "0.5".
 * Numbers are read and written in the C locale, since the terminal interface sets the user's.
 * Mirrors: torch/_functorch/config.py (2.11): names and defaults. */
#include "pipeline/config.h"

#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "pipeline/op_list.h"

#define DEF_TEXT_B(def, text) ((def) ? "True" : "False")
#define DEF_TEXT_I(def, text) text
#define DEF_TEXT_F(def, text) text
#define DEF_TEXT_S(def, text) def
#define DEF_TEXT_L(def, text) def

static const aot_config_row rows[] = {
#define CONFIG(field, name, type, def, range, doc) \
    {name, range, doc, DEF_TEXT_##type(def, #def), #type[0], offsetof(aot_config, field)},
#include "pipeline/config.def"
#undef CONFIG
};

#define N_ROWS (sizeof rows / sizeof *rows)
#define MAX_NAME 64 /* longer texts are not compared by edit distance */
#define MAX_NEAR 4  /* names offered for an unknown one */

typedef union value {
    bool b;
    long i;
    double f;
    const char *s; /* n_s bytes */
} value;

size_t aot_config_count(void)
{
    return N_ROWS;
}

const aot_config_row *aot_config_row_at(size_t i)
{
    return &rows[i];
}

static const aot_config_row *find(const char *name, size_t n)
{
    for (size_t i = 0; i < N_ROWS; i++) {
        if (strlen(rows[i].name) == n && memcmp(rows[i].name, name, n) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

const aot_config_row *aot_config_find(const char *name)
{
    return find(name, strlen(name));
}

static void set_text_field(char *field, size_t size, const char *text, size_t n)
{
    n = n < size - 1 ? n : size - 1;
    memset(field, 0, size); /* whole struct comparable by memcmp */
    memcpy(field, text, n);
}

void aot_config_init(aot_config *c)
{
    memset(c, 0, sizeof *c);
#define INIT_B(field, def) field = def
#define INIT_I(field, def) field = def
#define INIT_F(field, def) field = def
#define INIT_S(field, def) set_text_field(field, sizeof field, def, sizeof def - 1)
#define INIT_L INIT_S
#define CONFIG(field, name, type, def, range, doc) INIT_##type(c->field, def);
#include "pipeline/config.def"
#undef CONFIG
}

/* strtod and printf write the locale's decimal sign; Python always a point. */
static locale_t enter_c_locale(locale_t *c)
{
    *c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    return *c != (locale_t)0 ? uselocale(*c) : (locale_t)0;
}

static void leave_c_locale(locale_t c, locale_t before)
{
    if (c != (locale_t)0) {
        uselocale(before);
        freelocale(c);
    }
}

static double to_double(const char *s, char **end)
{
    locale_t c, before = enter_c_locale(&c);
    double v = strtod(s, end);
    leave_c_locale(c, before);
    return v;
}

/* "lo..hi" with either side empty; numbers as in config.def. */
static bool in_range(const char *range, double v)
{
    const char *dots = strstr(range, "..");
    if (dots == NULL) {
        return !isnan(v);
    }
    bool above = dots == range || v >= to_double(range, NULL);
    return above && (dots[2] == '\0' || v <= to_double(dots + 2, NULL)) && !isnan(v);
}

/* Is s one of the words of choices? */
static bool is_choice(const char *choices, const char *s, size_t n)
{
    for (const char *p = choices; *p != '\0'; p += strspn(p, " ")) {
        size_t len = strcspn(p, " ");
        if (len == n && memcmp(p, s, n) == 0) {
            return true;
        }
        p += len;
    }
    return false;
}

static void store(aot_config *c, const aot_config_row *row, value v, size_t n_s)
{
    char *field = (char *)c + row->offset;
    switch (row->type) {
    case 'B':
        *(aot_config_B *)field = v.b;
        break;
    case 'I':
        *(aot_config_I *)field = v.i;
        break;
    case 'F':
        *(aot_config_F *)field = v.f;
        break;
    default:
        set_text_field(field, row->type == 'L' ? sizeof(aot_config_L) : sizeof(aot_config_S), v.s,
                       n_s);
        break;
    }
}

/* Copies s without Python's digit separators; false if one does not stand between digits. */
static bool drop_underscores(const char *s, char *out, size_t size)
{
    size_t n = 0;
    for (size_t i = 0; s[i] != '\0'; i++) {
        if (s[i] == '_') {
            if (i == 0 || !isdigit((unsigned char)s[i - 1]) || !isdigit((unsigned char)s[i + 1])) {
                return false;
            }
        } else if (n + 1 == size) {
            return false;
        } else {
            out[n++] = s[i];
        }
    }
    out[n] = '\0';
    return n != 0;
}

static bool read_bool(const char *s, bool *out)
{
    static const char *const words[] = {"False", "True", "false", "true", "0", "1"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(words[i], s) == 0) {
            *out = i % 2 != 0;
            return true;
        }
    }
    return false;
}

static bool read_long(const char *s, long *out)
{
    char digits[MAX_NAME], *end;
    if (!drop_underscores(s, digits, sizeof digits)) {
        return false;
    }
    errno = 0;
    *out = strtol(digits, &end, 10);
    return *end == '\0' && end != digits && errno == 0;
}

static bool read_double(const char *s, double *out)
{
    char digits[MAX_NAME], *end;
    /* Only digits, sign, point and exponent, or inf and nan: strtod would take 0x1p3 too. */
    if (!drop_underscores(s, digits, sizeof digits) || strpbrk(digits, "xXpP(") != NULL) {
        return false;
    }
    *out = to_double(digits, &end);
    return *end == '\0' && end != digits;
}

/* Long texts are operators with commas between, or the name of a file. */
static bool is_operators(const aot_config_row *row)
{
    return strncmp(row->range, "operators", strlen("operators")) == 0;
}

/* What may stand after the equals sign, in words. */
static void describe(aot_sb *b, const aot_config_row *row)
{
    if (row->type == 'B') {
        aot_sb_addz(b, "True or False");
        return;
    }
    if (row->type == 'L') {
        aot_sb_addf(b, "%s of %d bytes at most", is_operators(row) ? "a list" : row->range,
                    (int)sizeof(aot_config_L) - 1);
        return;
    }
    if (row->type == 'S') {
        for (const char *p = row->range; *p != '\0'; p++) {
            aot_sb_addz(b, *p == ' ' ? ", " : (char[2]){*p, '\0'});
        }
        return;
    }
    aot_sb_addz(b, row->type == 'I' ? "a whole number" : "a number");
    const char *dots = strstr(row->range, "..");
    if (dots != NULL && dots != row->range) {
        aot_sb_addz(b, dots[2] != '\0' ? " from " : ", at least ");
        aot_sb_add(b, row->range, (size_t)(dots - row->range));
    }
    if (dots != NULL && dots[2] != '\0') {
        aot_sb_addz(b, dots != row->range ? " to " : ", at most ");
        aot_sb_addz(b, dots + 2);
    }
}

static aot_status set_text(aot_config *c, const aot_config_row *row, const char *s, aot_err *err)
{
    value v = {0};
    size_t n = strlen(s);
    bool ok;
    switch (row->type) {
    case 'L':
        if (is_operators(row)) {
            AOT_TRY(aot_op_list_check(s, row->name, err));
        }
        v.s = s;
        ok = n < sizeof(aot_config_L);
        break;
    case 'B':
        ok = read_bool(s, &v.b);
        break;
    case 'I':
        ok = read_long(s, &v.i) && in_range(row->range, (double)v.i);
        break;
    case 'F':
        ok = read_double(s, &v.f) && in_range(row->range, v.f);
        break;
    default:
        v.s = s;
        ok = is_choice(row->range, s, n);
        break;
    }
    if (ok) {
        store(c, row, v, n);
        return AOT_OK;
    }
    aot_sb wanted = {0};
    describe(&wanted, row);
    aot_status status = AOT_FAIL(err, AOT_E_USAGE, "%s: %s%.60s%s is not %s%s", row->name,
                                 n == 0 ? "an empty value" : "'", s, n == 0 ? "" : "'",
                                 row->type == 'S' ? "one of " : "", aot_sb_text(&wanted));
    aot_sb_free(&wanted);
    return status;
}

/* Letters that differ when a setting is typed by hand: case, and - for _. */
static char fold(char ch)
{
    return ch == '-' ? '_' : (char)tolower((unsigned char)ch);
}

/* Levenshtein distance; a has at most MAX_NAME letters. */
static size_t distance(const char *a, size_t n, const char *b)
{
    size_t line[MAX_NAME + 1];
    for (size_t i = 0; i <= n; i++) {
        line[i] = i;
    }
    for (size_t j = 1; b[j - 1] != '\0'; j++) {
        size_t diagonal = line[0];
        line[0] = j;
        for (size_t i = 1; i <= n; i++) {
            size_t best = diagonal + (fold(a[i - 1]) != b[j - 1]);
            diagonal = line[i];
            best = line[i] + 1 < best ? line[i] + 1 : best;
            line[i] = line[i - 1] + 1 < best ? line[i - 1] + 1 : best;
        }
    }
    return line[n];
}

static bool contains(const char *text, const char *part, size_t n)
{
    size_t len = strlen(text);
    for (size_t at = 0; at + n <= len; at++) {
        size_t i = 0;
        while (i < n && fold(part[i]) == text[at + i]) {
            i++;
        }
        if (i == n) {
            return true;
        }
    }
    return false;
}

/* Small when the names are alike: first by misspelling, then by one being part of the other. */
static size_t strangeness(const char *name, size_t n, const aot_config_row *row)
{
    size_t d = distance(name, n, row->name);
    if (d <= 2 + n / 4) {
        return d;
    }
    return n >= 3 && contains(row->name, name, n) ? 100 + d : SIZE_MAX;
}

static aot_status fail_unknown(const char *name, size_t n, aot_err *err)
{
    size_t best[MAX_NEAR], n_near = 0;
    const aot_config_row *near[MAX_NEAR];
    for (size_t i = 0; i < N_ROWS && n != 0 && n <= MAX_NAME; i++) {
        size_t d = strangeness(name, n, &rows[i]), at = n_near;
        while (at > 0 && best[at - 1] > d) { /* insertion; ties stay in table order */
            at--;
        }
        if (d == SIZE_MAX || at == MAX_NEAR) {
            continue;
        }
        n_near += n_near < MAX_NEAR;
        memmove(&best[at + 1], &best[at], (n_near - at - 1) * sizeof *best);
        memmove(&near[at + 1], &near[at], (n_near - at - 1) * sizeof *near);
        best[at] = d;
        near[at] = &rows[i];
    }
    aot_sb b = {0};
    for (size_t i = 0; i < n_near; i++) {
        aot_sb_addf(&b, "%s%s", i == 0 ? "; near it: " : ", ", near[i]->name);
    }
    int shown = n < 80 ? (int)n : 80;
    aot_status status = AOT_FAIL(
        err, AOT_E_USAGE, "no setting is called '%.*s'%s; `aotscope help settings` lists all",
        shown, name, aot_sb_text(&b));
    aot_sb_free(&b);
    return status;
}

/* Cuts blanks and one pair of quotes off [*s, *s + n); returns the new length. */
static size_t trim(const char **s, size_t n, bool quotes)
{
    while (n > 0 && isspace((unsigned char)**s)) {
        (*s)++;
        n--;
    }
    while (n > 0 && isspace((unsigned char)(*s)[n - 1])) {
        n--;
    }
    if (quotes && n >= 2 && (**s == '\'' || **s == '"') && (*s)[n - 1] == **s) {
        (*s)++;
        n -= 2;
    }
    return n;
}

aot_status aot_config_set(aot_config *c, const char *assignment, aot_err *err)
{
    const char *equals = strchr(assignment, '=');
    if (equals == NULL) {
        return AOT_FAIL(err, AOT_E_USAGE, "'%.80s': a setting is written name=value", assignment);
    }
    const char *name = assignment, *text = equals + 1;
    size_t n_name = trim(&name, (size_t)(equals - assignment), false);
    const aot_config_row *row = find(name, n_name);
    if (row == NULL) {
        return fail_unknown(name, n_name, err);
    }
    size_t n_text = trim(&text, strlen(text), row->type == 'S' || row->type == 'L');
    char *copy = aot_xstrndup(text, n_text);
    aot_status status = set_text(c, row, copy, err);
    free(copy);
    return status;
}

/* A dump never stops an import: a value of another kind or out of range leaves the field alone. */
void aot_config_from_json(aot_config *c, const json_t *dump)
{
    for (size_t i = 0; i < N_ROWS; i++) {
        const json_t *j = json_object_get(dump, rows[i].name);
        value v = {0};
        bool ok = false;
        size_t n = 0;
        switch (rows[i].type) {
        case 'B':
            ok = json_is_boolean(j) || json_is_integer(j);
            v.b = json_is_true(j) || json_integer_value(j) != 0;
            break;
        case 'I':
            ok = json_is_integer(j) && in_range(rows[i].range, json_number_value(j));
            v.i = (long)json_integer_value(j);
            break;
        case 'F':
            ok = json_is_number(j) && in_range(rows[i].range, json_number_value(j));
            v.f = json_number_value(j);
            break;
        default:
            v.s = json_string_value(j);
            n = json_string_length(j);
            ok = json_is_string(j) && rows[i].type == 'S' && is_choice(rows[i].range, v.s, n);
            break;
        }
        if (ok) {
            store(c, &rows[i], v, n);
        }
    }
}

/* As Python's repr: the fewest digits that read back as v, an exponent below 1e-4 and from 1e16. */
static void add_double(aot_sb *out, double v)
{
    char digits[40];
    int precision = 0;
    locale_t c, before = enter_c_locale(&c);
    do {
        snprintf(digits, sizeof digits, "%.*e", precision++, v);
    } while (precision < 17 && strtod(digits, NULL) != v);
    int exponent = atoi(strchr(digits, 'e') != NULL ? strchr(digits, 'e') + 1 : "0");
    if (isnan(v) || isinf(v)) {
        aot_sb_addz(out, isnan(v) ? "nan" : v < 0 ? "-inf" : "inf");
    } else if (exponent < -4 || exponent >= 16) {
        aot_sb_addz(out, digits);
    } else {
        int decimals = precision - 1 - exponent;
        aot_sb_addf(out, "%.*f", decimals > 1 ? decimals : 1, v);
    }
    leave_c_locale(c, before);
}

void aot_config_print(aot_sb *out, const aot_config *c, const aot_config_row *row)
{
    const char *field = (const char *)c + row->offset;
    switch (row->type) {
    case 'B':
        aot_sb_addz(out, *(const aot_config_B *)field ? "True" : "False");
        break;
    case 'I':
        aot_sb_add_i64(out, *(const aot_config_I *)field);
        break;
    case 'F':
        add_double(out, *(const aot_config_F *)field);
        break;
    default:
        aot_sb_addz(out, field);
        break;
    }
}
