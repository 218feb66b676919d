/* Actions, keys and the table between them. The table is text (keys.default, then the user's file);
 * help and the foot of the screen are made from it. */
#ifndef AOT_TUI_KEYMAP_H
#define AOT_TUI_KEYMAP_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

typedef enum aot_action {
    AOT_ACT_NONE,
#define GROUP(title)
#define ACT(id, name, doc) AOT_ACT_##id,
#include "tui/actions.def"
#undef ACT
#undef GROUP
    AOT_N_ACTIONS
} aot_action;

/* A key is a code point, or one of these. Control keys are their ASCII codes (1..31). */
typedef uint32_t aot_key;
enum {
    AOT_KEY_NONE = 0,
    AOT_KEY_TAB = 9,
    AOT_KEY_ENTER = 13,
    AOT_KEY_ESC = 27,
    AOT_KEY_BS = 127,
    AOT_KEY_UP = 0x200000,
    AOT_KEY_DOWN,
    AOT_KEY_LEFT,
    AOT_KEY_RIGHT,
    AOT_KEY_PGUP,
    AOT_KEY_PGDN,
    AOT_KEY_HOME,
    AOT_KEY_END,
    AOT_KEY_STAB,
    AOT_KEY_DEL,
    AOT_KEY_F1, /* F1 .. F12 in a row */
    AOT_KEY_F12 = AOT_KEY_F1 + 11,
    AOT_KEY_RESIZE, /* the screen has another size */
    AOT_KEY_MOUSE   /* see screen_mouse */
};

typedef struct aot_keymap aot_keymap;

/* The built-in table. */
aot_keymap *aot_keymap_new(void);
void aot_keymap_free(aot_keymap *k);
/* Adds the `bind` lines of a text. E_PARSE names line and what was expected. */
AOT_NODISCARD aot_status aot_keymap_read(aot_keymap *k, const char *text, const char *file,
                                         aot_err *err);
/* Adds the user's file if there is one; a file that cannot be read is an error. */
AOT_NODISCARD aot_status aot_keymap_read_user(aot_keymap *k, aot_err *err);
/* The action of a key: looked up in maps[0], maps[1] ..., then "any". NULL ends maps. */
aot_action aot_keymap_find(const aot_keymap *k, const char *const *maps, aot_key key);
/* First key of an action in these maps; AOT_KEY_NONE if none. */
aot_key aot_keymap_first(const aot_keymap *k, const char *const *maps, aot_action a);
/* Appends all keys of an action, two blanks between them, with the map where it is not "any":
 * "Up  k  ^P". */
void aot_keymap_add_all(aot_sb *out, const aot_keymap *k, aot_action a, bool ascii);
/* The same in ASCII into buf, which is returned. */
const char *aot_keymap_all(const aot_keymap *k, aot_action a, char *buf, size_t size);

const char *aot_action_name(aot_action a);
const char *aot_action_doc(aot_action a);
const char *aot_action_group(aot_action a); /* title of its group */
aot_action aot_action_find(const char *name); /* AOT_ACT_NONE if there is none */

/* Reads one key ("j", "<Enter>", "<lt>" for "<") at *s and moves past it; AOT_KEY_NONE if wrong. */
aot_key aot_key_read(const char **s);
/* Appends how a key is shown: "Enter", "^L", "j", "↑" ("Up" in ASCII). */
void aot_key_show(aot_sb *out, aot_key key, bool ascii);

#endif
