/* Key table: `bind MAP KEY ACTION` lines, read from the text compiled in (keys.default) and from
 * the user's file. Later lines win. The table is a plain array, searched from the end: it has about
 * a hundred rows and is asked once a key.
 *
 * Example: "bind graph <Left> stage-prev" -> {map "graph", key AOT_KEY_LEFT,
 * AOT_ACT_STAGE_PREV}. */
#include "tui/keymap.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "base/vec.h"
#include "viewers/canvas.h"

extern const char aot_keys_default[]; /* keys.default, by tools/embed.sh */

typedef struct binding {
    char map[16];
    aot_key key;
    aot_action action;
} binding;

struct aot_keymap {
    AOT_VEC(binding) rows;
};

static const struct {
    const char *name, *doc;
} actions[AOT_N_ACTIONS] = {
#define GROUP(title)
#define ACT(id, name, doc) [AOT_ACT_##id] = {name, doc},
#include "tui/actions.def"
#undef ACT
#undef GROUP
};

/* The groups: each one's title and its first action, found by counting rows before it. */
static const struct {
    const char *title;
    int line;
} groups[] = {
#define GROUP(title) {title, __LINE__},
#define ACT(id, name, doc)
#include "tui/actions.def"
#undef ACT
#undef GROUP
};

static const int action_lines[AOT_N_ACTIONS] = {
#define GROUP(title)
#define ACT(id, name, doc) [AOT_ACT_##id] = __LINE__,
#include "tui/actions.def"
#undef ACT
#undef GROUP
};

static const struct {
    const char *name, *shown, *sign; /* sign: NULL if it has none */
    aot_key key;
} key_names[] = {
    {"Up", "Up", "↑", AOT_KEY_UP},
    {"Down", "Down", "↓", AOT_KEY_DOWN},
    {"Left", "Left", "←", AOT_KEY_LEFT},
    {"Right", "Right", "→", AOT_KEY_RIGHT},
    {"PgUp", "PgUp", NULL, AOT_KEY_PGUP},
    {"PgDn", "PgDn", NULL, AOT_KEY_PGDN},
    {"Home", "Home", NULL, AOT_KEY_HOME},
    {"End", "End", NULL, AOT_KEY_END},
    {"Enter", "Enter", "⏎", AOT_KEY_ENTER},
    {"Tab", "Tab", NULL, AOT_KEY_TAB},
    {"S-Tab", "Shift-Tab", NULL, AOT_KEY_STAB},
    {"Esc", "Esc", NULL, AOT_KEY_ESC},
    {"Space", "Space", NULL, ' '},
    {"BS", "Backspace", NULL, AOT_KEY_BS},
    {"Del", "Delete", NULL, AOT_KEY_DEL},
    {"lt", "<", NULL, '<'},
};
enum { N_KEY_NAMES = sizeof key_names / sizeof *key_names };

const char *aot_action_name(aot_action a)
{
    return actions[a].name ? actions[a].name : "none";
}

const char *aot_action_doc(aot_action a)
{
    return actions[a].doc ? actions[a].doc : "";
}

const char *aot_action_group(aot_action a)
{
    const char *title = "";
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        if (groups[i].line < action_lines[a]) {
            title = groups[i].title;
        }
    }
    return title;
}

aot_action aot_action_find(const char *name)
{
    for (int a = AOT_ACT_NONE + 1; a < AOT_N_ACTIONS; a++) {
        if (strcmp(actions[a].name, name) == 0) {
            return (aot_action)a;
        }
    }
    return AOT_ACT_NONE;
}

static aot_key named_key(const char *name, size_t n)
{
    for (int i = 0; i < N_KEY_NAMES; i++) {
        if (strlen(key_names[i].name) == n && strncmp(key_names[i].name, name, n) == 0) {
            return key_names[i].key;
        }
    }
    if (n == 3 && name[0] == 'C' && name[1] == '-' && name[2] >= 'a' && name[2] <= 'z') {
        return (aot_key)(name[2] - 'a' + 1);
    }
    if (n >= 2 && n <= 3 && name[0] == 'F') {
        int f = atoi(name + 1);
        return f >= 1 && f <= 12 ? AOT_KEY_F1 + (aot_key)f - 1 : AOT_KEY_NONE;
    }
    return AOT_KEY_NONE;
}

aot_key aot_key_read(const char **s)
{
    const char *end = **s == '<' ? strchr(*s, '>') : NULL;
    if (end && end > *s + 1 && end - *s <= 8) {
        aot_key k = named_key(*s + 1, (size_t)(end - *s - 1));
        if (k != AOT_KEY_NONE) {
            *s = end + 1;
            return k;
        }
    }
    return aot_utf8_next(s);
}

void aot_key_show(aot_sb *out, aot_key key, bool ascii)
{
    for (int i = 0; i < N_KEY_NAMES; i++) {
        if (key_names[i].key == key) {
            const char *sign = ascii ? NULL : key_names[i].sign;
            aot_sb_addz(out, sign ? sign : key_names[i].shown);
            return;
        }
    }
    if (key >= AOT_KEY_F1 && key <= AOT_KEY_F12) {
        aot_sb_addf(out, "F%u", (unsigned)(key - AOT_KEY_F1 + 1));
    } else if (key < 32) {
        aot_sb_addf(out, "^%c", (char)('@' + key));
    } else {
        aot_utf8_add(out, key);
    }
}

aot_keymap *aot_keymap_new(void)
{
    aot_keymap *k = aot_xcalloc(1, sizeof *k);
    aot_err err = {0};
    if (aot_keymap_read(k, aot_keys_default, "keys.default", &err) != AOT_OK) {
        fprintf(stderr, "aotscope: keys.default:%u: %s\n", err.at.line, err.msg); // our own bug
        abort();
    }
    return k;
}

void aot_keymap_free(aot_keymap *k)
{
    if (k) {
        aot_vec_free(&k->rows);
        free(k);
    }
}

/* Reads one line that is not empty and no comment. */
static aot_status read_line(aot_keymap *k, char *line, uint32_t number, aot_err *err)
{
    aot_pos at = {number, 1};
    char *save = NULL;
    const char *word = strtok_r(line, " \t\r", &save);
    const char *map = strtok_r(NULL, " \t\r", &save);
    const char *key = strtok_r(NULL, " \t\r", &save);
    const char *action = strtok_r(NULL, " \t\r", &save);
    if (strcmp(word, "bind") != 0 || !action || strtok_r(NULL, " \t\r", &save)) {
        return AOT_FAIL_POS(err, AOT_E_PARSE, at, "expected 'bind MAP KEY ACTION'");
    }
    binding b = {.action = aot_action_find(action)};
    if (b.action == AOT_ACT_NONE && strcmp(action, "none") != 0) {
        return AOT_FAIL_POS(err, AOT_E_PARSE, at, "no action is called '%s'; see ? in aotscope",
                            action);
    }
    const char *rest = key;
    b.key = aot_key_read(&rest);
    if (b.key == AOT_KEY_NONE || *rest) {
        return AOT_FAIL_POS(err, AOT_E_PARSE, at,
                            "'%s' is no key: expected j, <Enter>, <C-l>, <F1>", key);
    }
    snprintf(b.map, sizeof b.map, "%s", map);
    aot_vec_push(&k->rows, b);
    return AOT_OK;
}

aot_status aot_keymap_read(aot_keymap *k, const char *text, const char *file, aot_err *err)
{
    uint32_t number = 0;
    while (*text) {
        size_t n = strcspn(text, "\n");
        char *line = aot_xstrndup(text, n);
        text += n + (text[n] == '\n');
        number++;
        size_t blank = strspn(line, " \t\r");
        aot_status st = AOT_OK;
        if (line[blank] && line[blank] != '#') {
            st = read_line(k, line, number, err);
        }
        free(line);
        if (st != AOT_OK) {
            aot_err_in_file(err, file);
            return st;
        }
    }
    return AOT_OK;
}

aot_status aot_keymap_read_user(aot_keymap *k, aot_err *err)
{
    char path[4096], text[65536];
    const char *xdg = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    if (xdg && *xdg) {
        snprintf(path, sizeof path, "%s/aotscope/keys", xdg);
    } else if (home && *home) {
        snprintf(path, sizeof path, "%s/.config/aotscope/keys", home);
    } else {
        return AOT_OK;
    }
    FILE *f = fopen(path, "r");
    if (!f) {
        return errno == ENOENT || errno == ENOTDIR
                   ? AOT_OK
                   : AOT_FAIL(err, AOT_E_IO, "%s: %s", path, strerror(errno));
    }
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = 0;
    return aot_keymap_read(k, text, path, err);
}

/* The last row for a key in a map. */
static const binding *find_row(const aot_keymap *k, const char *map, aot_key key)
{
    for (size_t i = k->rows.n; i-- > 0;) {
        const binding *b = &k->rows.d[i];
        if (b->key == key && strcmp(b->map, map) == 0) {
            return b;
        }
    }
    return NULL;
}

aot_action aot_keymap_find(const aot_keymap *k, const char *const *maps, aot_key key)
{
    for (; *maps; maps++) {
        const binding *b = find_row(k, *maps, key);
        if (b) {
            return b->action;
        }
    }
    const binding *b = find_row(k, "any", key);
    return b ? b->action : AOT_ACT_NONE;
}

/* Whether no later row gives the same key of the same map to something else. */
static bool in_force(const aot_keymap *k, const binding *b)
{
    return find_row(k, b->map, b->key) == b;
}

aot_key aot_keymap_first(const aot_keymap *k, const char *const *maps, aot_action a)
{
    const char *const any[] = {"any", NULL};
    for (int pass = 0; pass < 2; pass++) {
        for (const char *const *m = pass ? any : maps; *m; m++) {
            for (size_t i = 0; i < k->rows.n; i++) {
                const binding *b = &k->rows.d[i];
                if (b->action == a && strcmp(b->map, *m) == 0 && in_force(k, b) &&
                    aot_keymap_find(k, maps, b->key) == a) {
                    return b->key;
                }
            }
        }
    }
    return AOT_KEY_NONE;
}

void aot_keymap_add_all(aot_sb *out, const aot_keymap *k, aot_action a, bool ascii)
{
    aot_sb done = {0}; // what is there already: one key may stand in several maps
    bool first = true;
    for (size_t i = 0; i < k->rows.n; i++) {
        const binding *b = &k->rows.d[i];
        if (b->action != a || !in_force(k, b)) {
            continue;
        }
        aot_sb one = {0};
        aot_sb_addc(&one, ' ');
        aot_key_show(&one, b->key, ascii);
        aot_sb_addc(&one, ' ');
        if (!strstr(aot_sb_text(&done), one.d)) {
            aot_sb_addz(&done, one.d);
            aot_sb_addz(out, first ? "" : "  ");
            aot_sb_add(out, one.d + 1, one.n - 2);
            first = false;
        }
        aot_sb_free(&one);
    }
    aot_sb_free(&done);
}

const char *aot_keymap_all(const aot_keymap *k, aot_action a, char *buf, size_t size)
{
    aot_sb sb = {0};
    aot_keymap_add_all(&sb, k, a, true);
    snprintf(buf, size, "%s", aot_sb_text(&sb));
    aot_sb_free(&sb);
    return buf;
}
