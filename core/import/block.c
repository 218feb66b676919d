/* Graph texts in a stream of lines that may hold anything else.
 *
 *    ===== Joint graph 0 =====                         heading: remembered
 *    /usr/lib/x.py class inner_f(torch.nn.Module):     a class opens a block at this indentation
 *        def forward(self, primals, tangents):         deeper lines belong to it
 *   halfway                                           shallower: other output, passed over
 *            return pytree.tree_unflatten(...)        after it and an empty line the text ends,
 *        class body(torch.nn.Module):                 unless a submodule goes on
 *
 * Mirrors: torch/_dynamo/utils.py:_format_graph_code (the writer). */
#include "import/block.h"

#include <stdio.h>
#include <string.h>

#include "import/trace.h"

enum { MAX_FOREIGN = 2000 };

static size_t indent_of(const char *s, size_t n)
{
    size_t i = 0;
    while (i < n && (s[i] == ' ' || s[i] == '\t')) {
        i++;
    }
    return i;
}

bool aot_block_is_class(const char *s, size_t n, size_t *at)
{
    static const char tail[] = "(torch.nn.Module):";
    while (n > 0 && (s[n - 1] == ' ' || s[n - 1] == '\t')) {
        n--;
    }
    if (n < sizeof tail + 6 || memcmp(s + n - (sizeof tail - 1), tail, sizeof tail - 1) != 0) {
        return false;
    }
    size_t end = n - (sizeof tail - 1), i = end; // the name stands before end
    while (i > 0 && s[i - 1] != ' ') {
        i--;
    }
    if (i < 6 || i == end || memcmp(s + i - 6, "class ", 6) != 0) {
        return false;
    }
    *at = i - 6;
    if (*at == 0 || indent_of(s, *at) == *at) {
        return true;
    }
    // "/path/_lazy_graph_module.py class X" or "<eval_with_key>.2 class X"
    size_t first = indent_of(s, n);
    return s[*at - 1] == ' ' && (s[first] == '/' || s[first] == '<' ||
                                 memchr(s + first, '/', *at - first) != NULL ||
                                 memchr(s + first, '.', *at - first) != NULL);
}

bool aot_block_is_heading(const char *s, size_t n, char *name, size_t size)
{
    size_t i = indent_of(s, n);
    while (n > i && (s[n - 1] == ' ' || s[n - 1] == '\t')) {
        n--;
    }
    if (n < i + 13 || memcmp(s + i, "===== ", 6) != 0 || memcmp(s + n - 6, " =====", 6) != 0) {
        return false;
    }
    snprintf(name, size, "%.*s", (int)(n - i - 12 < 250 ? n - i - 12 : 250), s + i + 6);
    return true;
}

static bool starts(const char *s, size_t n, size_t at, const char *what)
{
    size_t len = strlen(what);
    return n - at >= len && memcmp(s + at, what, len) == 0;
}

void aot_block_end(aot_block *b)
{
    if (b->state != AOT_BLOCK_IDLE) {
        while (b->text.n > 0 && b->text.d[b->text.n - 1] == '\n') {
            b->text.d[--b->text.n] = '\0';
        }
        aot_sb_addc(&b->text, '\n');
        b->on_graph(b->arg, b);
    }
    b->state = AOT_BLOCK_IDLE;
    b->heading[0] = '\0';
    b->wrapped = b->open_return = false;
    b->foreign = 0;
    aot_sb_clear(&b->text);
}

void aot_block_free(aot_block *b)
{
    aot_sb_free(&b->text);
}

/* Lines that open a text. True if this one does. */
static bool opens(aot_block *b, const char *s, size_t n, uint64_t line)
{
    size_t at;
    char heading[sizeof b->heading];
    bool is_class = aot_block_is_class(s, n, &at);
    size_t in = indent_of(s, n);
    if (!is_class && aot_block_is_heading(s, n, heading, sizeof heading)) {
        aot_block_end(b);
        memcpy(b->heading, heading, sizeof heading);
        return true;
    }
    bool bare = !is_class && b->bare_def && b->state == AOT_BLOCK_IDLE &&
                starts(s, n, in, "def forward(");
    if (!is_class && !bare) {
        return false;
    }
    if (b->state != AOT_BLOCK_IDLE) {
        aot_block_end(b);
    }
    b->state = AOT_BLOCK_BODY;
    b->line = line;
    b->n_lines = bare ? 2 : 1;
    b->wrapped = bare;
    // A file name before the class stands in for its indentation: the body is indented by 4 from 0.
    // The single blank that a log puts before each part of the text is no indentation either.
    b->indent = bare ? in : in == at ? in / 4 * 4 : 0;
    if (bare) {
        aot_sb_addz(&b->text, "class GraphModule(torch.nn.Module):\n    ");
        at = in;
    }
    aot_sb_add(&b->text, s + at, n - at);
    aot_sb_addc(&b->text, '\n');
    return true;
}

static void append(aot_block *b, const char *s, size_t n)
{
    size_t in = indent_of(s, n), off = in < b->indent ? in : b->indent;
    if (b->wrapped && in < n) {
        aot_sb_addz(&b->text, "    ");
    }
    aot_sb_add(&b->text, s + off, n - off);
    aot_sb_addc(&b->text, '\n');
    b->foreign = 0;
}

static void in_body(aot_block *b, const char *s, size_t n, size_t in)
{
    if (b->n_lines++ == 1 && !starts(s, n, in, "def forward(")) {
        b->state = AOT_BLOCK_IDLE; // a class of the user's own source
        aot_sb_clear(&b->text);
        return;
    }
    append(b, s, n);
    if (starts(s, n, in, "return ") || starts(s, n, in, "return(") || n - in == 6) {
        if (n - in == 6 && memcmp(s + in, "return", 6) != 0) {
            return;
        }
        while (n > 0 && s[n - 1] == ' ') {
            n--;
        }
        b->open_return = n > 0 && (s[n - 1] == '(' || s[n - 1] == '[');
        b->state = AOT_BLOCK_TAIL;
    }
}

void aot_block_line(aot_block *b, const char *s, size_t n, uint64_t line)
{
    size_t in = indent_of(s, n), at;
    bool blank = in == n;
    if (b->state == AOT_BLOCK_IDLE) {
        opens(b, s, n, line);
        return;
    }
    if (blank) {
        if (b->state == AOT_BLOCK_TAIL && !b->open_return) {
            b->state = AOT_BLOCK_DONE;
        }
        aot_sb_addc(&b->text, '\n');
        return;
    }
    bool inside = in > b->indent;
    if (inside && aot_block_is_class(s, n, &at) && at == in) {
        append(b, s, n);
        b->state = AOT_BLOCK_BODY;
        b->open_return = false;
    } else if (inside && b->state == AOT_BLOCK_BODY) {
        in_body(b, s, n, in);
    } else if (inside && b->state == AOT_BLOCK_TAIL) {
        append(b, s, n);
        if (s[in] == ')' || s[in] == ']') {
            b->open_return = false;
        }
    } else if (!opens(b, s, n, line)) {
        if (b->state == AOT_BLOCK_DONE || (b->state == AOT_BLOCK_TAIL && !b->open_return) ||
            ++b->foreign > MAX_FOREIGN) {
            aot_block_end(b);
        }
    }
}

/* ---- the first module of a text -------------------------------------------------------------- */

typedef struct extract {
    aot_sb *out;
    uint64_t line;
} extract;

static void take_first(void *arg, aot_block *b)
{
    extract *e = arg;
    if (e->line == 0) {
        e->line = b->line;
        aot_sb_add(e->out, b->text.d, b->text.n);
    }
}

uint64_t aot_text_extract_class(aot_sb *out, const char *text, size_t n)
{
    extract e = {out, 0};
    aot_block b = {.arg = &e, .on_graph = take_first};
    uint64_t line = 0;
    for (size_t at = 0; at < n && e.line == 0;) {
        const char *end = memchr(text + at, '\n', n - at);
        size_t len = end != NULL ? (size_t)(end - text) - at : n - at;
        aot_block_line(&b, text + at, len, ++line);
        at += len + 1;
    }
    aot_block_end(&b);
    aot_block_free(&b);
    return e.line;
}
