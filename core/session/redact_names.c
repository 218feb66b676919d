/* Made-up names, and which words are PyTorch's own.
 *
 * One table of the user's names: the k-th that is met becomes "nk", whatever it names, so a module
 * is called the same in a source, a descriptor and an attribute. Names of values keep their number,
 * since FX counts by it: x, x_1 become n3, n3_1. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session/redact_internal.h"

/* Where a word stays: as a value, in source lines, in reprs of metadata, in texts of calls. */
typedef enum red_words { RED_VALUES, RED_SOURCES, RED_REPRS, RED_TEXTS, RED_N_WORDS } red_words;

struct aot_redactor {
    aot_arena *arena;
    aot_strtab *names, *files, *inputs;   /* number k: the k-th interned */
    aot_strtab *words[RED_N_WORDS];       /* that stay */
    aot_strtab *exact;                    /* texts with a new text of their own */
    AOT_VEC(const char *) becomes;        /* by id in exact */
    AOT_VEC(uint32_t) file_number;        /* by id in files */
    uint32_t n_files;
};

/* ---- words ------------------------------------------------------------------------------------
 */

static const struct {
    red_words kind;
    const char *word;
} words[] = {
#define VALUE(word) {RED_VALUES, word},
#define SOURCE(word) {RED_SOURCES, word},
#define REPR(word) {RED_REPRS, word},
#define TEXT(word) {RED_TEXTS, word},
#include "session/redact_words.def"
#undef VALUE
#undef SOURCE
#undef REPR
#undef TEXT
#define META(name, class, value, sentence) {RED_REPRS, #name},
#include "capture/metadata.def"
#undef META
#define INPUT_FIELD(name, sentence) {RED_REPRS, #name},
#include "capture/input_fields.def"
#undef INPUT_FIELD
    {RED_REPRS, "input_info"},
    {RED_REPRS, "output_info"},
};

/* FX calls a value after its operator: "add", or "add_tensor" with the overload. */
static void add_operator_words(aot_strtab *t)
{
    char word[160];
    for (size_t i = 1; i < aot_op_count(); i++) {
        const aot_op_info *op = aot_op((aot_op_id)i);
        const char *dot = strrchr(op->packet, '.'), *base = dot != NULL ? dot + 1 : op->packet;
        aot_intern_z(t, base);
        const char *overload = op->name + strlen(op->packet);
        if (*overload == '.') {
            int n = snprintf(word, sizeof word, "%s_%s", base, overload + 1);
            for (int k = 0; k < n && k < (int)sizeof word; k++) {
                word[k] = (char)tolower((unsigned char)word[k]);
            }
            aot_intern_z(t, word);
        }
    }
}

aot_redactor *aot_redactor_new(void)
{
    aot_redactor *r = aot_xcalloc(1, sizeof *r);
    r->arena = aot_arena_new();
    r->names = aot_strtab_new();
    r->files = aot_strtab_new();
    r->inputs = aot_strtab_new();
    r->exact = aot_strtab_new();
    for (int k = 0; k < RED_N_WORDS; k++) {
        r->words[k] = aot_strtab_new();
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        aot_intern_z(r->words[words[i].kind], words[i].word);
    }
    add_operator_words(r->words[RED_VALUES]);
    return r;
}

void aot_redactor_free(aot_redactor *r)
{
    if (r == NULL) {
        return;
    }
    aot_strtab *all[] = {r->names, r->files, r->inputs, r->exact};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        aot_strtab_free(all[i]);
    }
    for (int k = 0; k < RED_N_WORDS; k++) {
        aot_strtab_free(r->words[k]);
    }
    aot_vec_free(&r->becomes);
    aot_vec_free(&r->file_number);
    aot_arena_free(r->arena);
    free(r);
}

static bool knows(const aot_strtab *t, const char *s, size_t n)
{
    return aot_intern_find(t, s, n) != 0;
}

static bool is_number(const char *s, size_t n)
{
    size_t i = 0;
    while (i < n && isdigit((unsigned char)s[i])) {
        i++;
    }
    return i == n && n > 0;
}

/* s77, u0: the names of symbolic sizes. */
static bool is_symbol(const char *s, size_t n)
{
    return n > 1 && (s[0] == 's' || s[0] == 'u') && is_number(s + 1, n - 1);
}

/* Length without the numbers that FX put behind: "arg0_1" -> "arg" where loose, "arg0" where not.
 */
static size_t base_length(const char *s, size_t n, bool loose)
{
    for (;;) {
        size_t k = n;
        while (k > 0 && isdigit((unsigned char)s[k - 1])) {
            k--;
        }
        bool number = k < n && k > 1;
        if (!number || (s[k - 1] != '_' && !loose)) {
            return n;
        }
        n = s[k - 1] == '_' ? k - 1 : k;
    }
}

bool red_is_value_word(const aot_redactor *r, const char *s, size_t n)
{
    return is_symbol(s, n) || knows(r->words[RED_VALUES], s, n) ||
           knows(r->words[RED_VALUES], s, base_length(s, n, false)) ||
           knows(r->words[RED_VALUES], s, base_length(s, n, true));
}

/* "float32", or the torch_name that ends with it. */
static bool is_dtype(const char *s, size_t n)
{
    bool found = false;
    for (int d = 0; d < AOT_N_DTYPES && !found; d++) {
        const char *name = aot_dtype_get((aot_dtype)d)->torch_name + strlen("torch.");
        found = strlen(name) == n && memcmp(name, s, n) == 0;
    }
    return found;
}

bool red_is_text_word(const aot_redactor *r, const char *s, size_t n)
{
    const char *colon = memchr(s, ':', n), *type = n > 6 && memcmp(s, "torch.", 6) == 0 ? s + 6 : s;
    size_t device = colon != NULL ? (size_t)(colon - s) : n, rest = n - device;
    return n == 0 || is_number(s, n) ||
           (knows(r->words[RED_TEXTS], s, device) &&
            (rest == 0 || is_number(colon + 1, rest - 1))) ||
           is_dtype(type, n - (size_t)(type - s));
}

/* ---- names ------------------------------------------------------------------------------------
 */

/* p_l_weight, b_l_mean, c_x: export says by the prefix what an input is. */
static size_t prefix_length(const char *s, size_t n)
{
    return n > 2 && s[1] == '_' && strchr("pbc", s[0]) != NULL ? 2 : 0;
}

const char *red_name(aot_redactor *r, const char *s, size_t n)
{
    const char *known = red_of_source(r, s, n);
    if (known != NULL || n == 0) {
        return known != NULL ? known : "";
    }
    size_t base = base_length(s, n, false), skip = prefix_length(s, base);
    return aot_arena_printf(r->arena, "%.*sn%u%.*s", (int)skip, s,
                            aot_intern(r->names, s + skip, base - skip), (int)(n - base), s + base);
}

/* Export names an input after the path of its attribute. */
static void remember_exported(aot_redactor *r, const char *s, size_t n, const char *becomes)
{
    for (const char *kind = "pbc"; *kind != '\0'; kind++) {
        char *was = aot_arena_printf(r->arena, "%c_%.*s", *kind, (int)n, s);
        char *now = aot_arena_printf(r->arena, "%c_%s", *kind, becomes);
        char *const both[] = {was, now};
        for (int i = 0; i < 2; i++) {
            for (char *p = both[i]; *p != '\0'; p++) {
                *p = *p == '.' ? '_' : *p;
            }
        }
        red_remember(r, was, strlen(was), now);
    }
}

const char *red_path(aot_redactor *r, const char *s, size_t n)
{
    aot_sb b = {0};
    for (size_t i = 0; i < n; i++) {
        size_t from = i;
        while (i < n && s[i] != '.') {
            i++;
        }
        bool number = is_number(s + from, i - from);
        aot_sb_addf(&b, "%s%.*s", from > 0 ? "." : "", number ? (int)(i - from) : 0, s + from);
        aot_sb_addz(&b, number ? "" : red_name(r, s + from, i - from));
    }
    const char *text = aot_arena_strndup(r->arena, aot_sb_text(&b), b.n);
    remember_exported(r, s, n, text);
    aot_sb_free(&b);
    return text;
}

const char *red_function(aot_redactor *r, const char *s, size_t n)
{
    return n > 0 && s[0] == '<' ? (n == 8 ? "<module>" : "<lambda>") : red_path(r, s, n);
}

#define CLAIMED (1u << 31) /* of a file's last part: a whole path has its number already */

/* A path and its last part are one file: titles name the part, comments the path. */
const char *red_file(aot_redactor *r, const char *path)
{
    const char *slash = strrchr(path, '/');
    aot_str whole = aot_intern_z(r->files, path);
    aot_str part = slash != NULL ? aot_intern_z(r->files, slash + 1) : whole;
    while (r->file_number.n < aot_strtab_count(r->files)) {
        aot_vec_push(&r->file_number, 0);
    }
    uint32_t *of = r->file_number.d;
    if (of[whole] == 0) {
        bool shares = part != whole && of[part] != 0 && (of[part] & CLAIMED) == 0;
        of[whole] = shares ? of[part] : ++r->n_files;
        if (part != whole && (of[part] == 0 || shares)) {
            of[part] = of[whole] | CLAIMED;
        }
    }
    return aot_arena_printf(r->arena, "file_%u.py", of[whole] & ~CLAIMED);
}

const char *aot_redact_input(aot_redactor *r, const char *path)
{
    return path[0] == 0 ? ""
                        : aot_arena_printf(r->arena, "input_%u", aot_intern_z(r->inputs, path));
}

void red_remember(aot_redactor *r, const char *s, size_t n, const char *becomes)
{
    aot_str id = aot_intern(r->exact, s, n);
    while (r->becomes.n <= id) {
        aot_vec_push(&r->becomes, NULL);
    }
    r->becomes.d[id] = becomes;
}

const char *red_lower(aot_redactor *r, const char *s)
{
    char *low = aot_arena_strndup(r->arena, s, strlen(s));
    for (char *p = low; *p != '\0'; p++) {
        *p = (char)tolower((unsigned char)*p);
    }
    return low;
}

const char *red_of_source(const aot_redactor *r, const char *s, size_t n)
{
    aot_str id = aot_intern_find(r->exact, s, n);
    return id != 0 && id < r->becomes.n ? r->becomes.d[id] : NULL;
}

/* ---- texts ------------------------------------------------------------------------------------
 */

static size_t word_length(const char *s, size_t n)
{
    size_t i = 0;
    while (i < n && (isalnum((unsigned char)s[i]) || s[i] == '_' || (s[i] & 0x80) != 0)) {
        i++;
    }
    return i;
}

/* Length of a quoted text with its quotes; the rest if it has no end. */
static size_t quoted_length(const char *s, size_t n)
{
    size_t i = 1;
    while (i < n && s[i] != s[0]) {
        i += s[i] == '\\' && i + 1 < n ? 2 : 1;
    }
    return i < n ? i + 1 : n;
}

/* As Dynamo names the placeholder: runs of other characters are one underscore. */
static const char *mangled(aot_redactor *r, const char *source)
{
    aot_sb b = {0};
    for (const char *p = source; *p != '\0'; p++) {
        bool word = isalnum((unsigned char)*p) != 0;
        if (word || b.n == 0 || b.d[b.n - 1] != '_') {
            aot_sb_addc(&b, word ? *p : '_');
        }
    }
    const char *text = aot_arena_strndup(r->arena, aot_sb_text(&b), b.n);
    aot_sb_free(&b);
    return text;
}

const char *red_source(aot_redactor *r, const char *s)
{
    aot_sb b = {0};
    size_t n = strlen(s), len = 0;
    for (size_t i = 0; i < n; i += len) {
        if (s[i] == '\'' || s[i] == '"') {
            len = quoted_length(s + i, n - i);
            size_t in = len >= 2 ? len - 2 : 0;
            bool stays = is_number(s + i + 1, in) || knows(r->words[RED_SOURCES], s + i + 1, in);
            aot_sb_addf(&b, "'%.*s%s'", stays ? (int)in : 0, s + i + 1,
                        stays ? "" : red_name(r, s + i + 1, in));
        } else if ((len = word_length(s + i, n - i)) > 0) {
            bool stays = isdigit((unsigned char)s[i]) || knows(r->words[RED_SOURCES], s + i, len);
            aot_sb_addf(&b, "%.*s%s", stays ? (int)len : 0, s + i,
                        stays ? "" : red_name(r, s + i, len));
        } else {
            len = 1;
            aot_sb_addc(&b, s[i]);
        }
    }
    const char *text = aot_arena_strndup(r->arena, aot_sb_text(&b), b.n);
    const char *was = mangled(r, s);
    red_remember(r, was, strlen(was), mangled(r, text));
    aot_sb_free(&b);
    return text;
}

/* Letters, digits, dots and underscores only: a name, not a piece of a program. */
static bool is_path(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!isalnum((unsigned char)s[i]) && s[i] != '_' && s[i] != '.' && (s[i] & 0x80) == 0) {
            return false;
        }
    }
    return n > 0;
}

static bool starts_torch(const char *s, size_t n)
{
    return (n > 6 && memcmp(s, "torch.", 6) == 0) || (n == 5 && memcmp(s, "torch", 5) == 0);
}

static const char *quoted_name(aot_redactor *r, const char *s, size_t n, red_rename_fn *renamed,
                               void *arg)
{
    const char *now = renamed != NULL ? renamed(arg, s, n) : NULL;
    if (now != NULL) {
        return now;
    }
    if (starts_torch(s, n) || knows(r->words[RED_REPRS], s, n)) {
        return aot_arena_strndup(r->arena, s, n);
    }
    return is_path(s, n) ? red_path(r, s, n) : "";
}

static void add_word(aot_redactor *r, aot_sb *b, const char *s, size_t n, bool known_head,
                     red_rename_fn *renamed, void *arg)
{
    const char *now = renamed != NULL ? renamed(arg, s, n) : NULL;
    bool stays = known_head || isdigit((unsigned char)s[0]) || knows(r->words[RED_REPRS], s, n) ||
                 red_is_value_word(r, s, n) || starts_torch(s, n);
    if (now != NULL || !stays) {
        aot_sb_addz(b, now != NULL ? now : red_name(r, s, n));
    } else {
        aot_sb_add(b, s, n);
    }
}

const char *red_repr(aot_redactor *r, const char *s, size_t n, red_rename_fn *renamed, void *arg)
{
    aot_sb b = {0};
    bool known_head = false; /* of the dotted chain at work: torch.float32, OutputType.is_input */
    for (size_t i = 0, len; i < n; i += len) {
        if (s[i] == '\'' || s[i] == '"') {
            len = quoted_length(s + i, n - i);
            size_t in = len >= 2 ? len - 2 : 0;
            aot_sb_addf(&b, "'%s'", quoted_name(r, s + i + 1, in, renamed, arg));
        } else if ((len = word_length(s + i, n - i)) > 0) {
            add_word(r, &b, s + i, len, known_head, renamed, arg);
            known_head =
                known_head || starts_torch(s + i, len) ||
                (i + len < n && s[i + len] == '.' && knows(r->words[RED_REPRS], s + i, len));
        } else {
            len = 1;
            known_head = known_head && s[i] == '.';
            aot_sb_addc(&b, s[i]);
        }
    }
    const char *text = aot_arena_strndup(r->arena, aot_sb_text(&b), b.n);
    aot_sb_free(&b);
    return text;
}

/* ---- calls ------------------------------------------------------------------------------------
 */

/* Whether any operator of the table is in the namespace that s starts with ("aten."). */
static bool known_namespace(const char *s, size_t n)
{
    for (size_t i = 1; i < aot_op_count(); i++) {
        const char *name = aot_op((aot_op_id)i)->name;
        if (strncmp(name, s, n) == 0 && name[n] == '.') {
            return true;
        }
    }
    return false;
}

const char *red_target(aot_redactor *r, const char *s, size_t n)
{
    static const char ops[] = "torch.ops.";
    static const char *const heads[] = {"torch.", "operator.", "_operator.", "math.", "builtins."};
    if (aot_op_find(s, n) != AOT_OP_UNKNOWN) {
        return aot_arena_strndup(r->arena, s, n);
    }
    size_t skip = n > sizeof ops && memcmp(s, ops, sizeof ops - 1) == 0 ? sizeof ops - 1 : 0;
    if (skip > 0) {
        const char *dot = memchr(s + skip, '.', n - skip), *last = s + n;
        size_t space = dot != NULL ? (size_t)(dot - s) - skip : n - skip;
        if (known_namespace(s + skip, space)) {
            return aot_arena_strndup(r->arena, s, n);
        }
        bool is_default = n > 8 && memcmp(s + n - 8, ".default", 8) == 0;
        size_t path = (size_t)(last - s) - skip - (is_default ? 8 : 0);
        return aot_arena_printf(r->arena, "%s%s%s", ops, red_path(r, s + skip, path),
                                is_default ? ".default" : "");
    }
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        if (n > strlen(heads[i]) && memcmp(s, heads[i], strlen(heads[i])) == 0) {
            return aot_arena_strndup(r->arena, s, n);
        }
    }
    return red_path(r, s, n);
}

/* The argument names and the name; types, alias marks and defaults that are no text stay. */
const char *red_schema(aot_redactor *r, const char *s, size_t n)
{
    static const char *const types[] = {
        "Tensor", "SymInt",     "Scalar", "int",       "float",        "bool", "str",  "Any",
        "Device", "ScalarType", "Layout", "Generator", "MemoryFormat", "None", "True", "False"};
    aot_sb b = {0};
    for (size_t i = 0, len; i < n; i += len) {
        len = word_length(s + i, n - i);
        bool stays =
            len > 0 && (isdigit((unsigned char)s[i]) || (len == 1 && i > 0 && s[i - 1] == '('));
        for (size_t k = 0; k < sizeof types / sizeof *types && len > 0; k++) {
            stays = stays || (strlen(types[k]) == len && memcmp(types[k], s + i, len) == 0);
        }
        if (len == 0) {
            len = s[i] == '"' || s[i] == '\'' ? quoted_length(s + i, n - i) : 1;
            aot_sb_add(&b, len == 1 ? s + i : "''", len == 1 ? 1 : 2);
        } else if (stays) {
            aot_sb_add(&b, s + i, len);
        } else {
            aot_sb_addz(&b, red_name(r, s + i, len));
        }
    }
    const char *text = aot_arena_strndup(r->arena, aot_sb_text(&b), b.n);
    aot_sb_free(&b);
    return text;
}
