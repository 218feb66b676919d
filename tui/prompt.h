/* One line of input at the foot of the screen: search, filter, command. */
#ifndef AOT_TUI_PROMPT_H
#define AOT_TUI_PROMPT_H

#include <stdbool.h>

#include "base/str.h"
#include "base/vec.h"
#include "tui/keymap.h"
#include "viewers/canvas.h"

typedef enum prompt_kind {
    PROMPT_NONE,
    PROMPT_SEARCH,
    PROMPT_FILTER,
    PROMPT_COMMAND,
    PROMPT_BUDGET,
    N_PROMPTS
} prompt_kind;

typedef enum prompt_event {
    PROMPT_NOTHING,
    PROMPT_CHANGED,   /* the text is another */
    PROMPT_DONE,      /* Enter */
    PROMPT_CANCELLED
} prompt_event;

/* What may stand in the line, with what it is about. */
typedef struct prompt_word {
    char *word, *doc; /* doc: one line, "" if there is nothing to say */
} prompt_word;
typedef AOT_VEC(prompt_word) prompt_words;
void prompt_add_word(prompt_words *words, const char *word, const char *doc);
/* How well a word fits what is typed: 0 it begins so, then a part of it does, then the letters are
 * in it in this order; -1 if not at all. Small letters match both cases. */
int prompt_rank(const char *word, const char *typed);
/* Fills words with what may stand instead of the last word of text (from byte *start on), in the
 * order of the tables; those that do not fit are left out. */
typedef void prompt_complete(void *arg, const char *text, size_t *start, prompt_words *words);

typedef struct aot_prompt {
    prompt_kind kind;
    const char *where; /* the pane that a search or filter is about; NULL: not said */
    aot_sb text;
    size_t at; /* cursor, in bytes */
    AOT_VEC(char *) history[N_PROMPTS];
    size_t history_at; /* n of the history: the line being written */
    char *draft;       /* that line, while older ones are shown */
    prompt_words words; /* offered, the best first; Tab goes through them */
    size_t word, word_start; /* the one that stands in the text now; SIZE_MAX: none */
    prompt_complete *complete;
    void *arg;
} aot_prompt;

void prompt_init(aot_prompt *p, prompt_complete *complete, void *arg);
void prompt_done(aot_prompt *p);
void prompt_open(aot_prompt *p, prompt_kind kind, const char *text);
/* After PROMPT_DONE and PROMPT_CANCELLED the prompt is closed; text stays readable. */
prompt_event prompt_key(aot_prompt *p, aot_key key);
/* Draws into row y, and the words offered into the rows above. Returns the cursor's column. */
int prompt_draw(const aot_prompt *p, aot_canvas *c, int y);

#endif
