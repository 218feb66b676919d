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
    N_PROMPTS
} prompt_kind;

typedef enum prompt_event {
    PROMPT_NOTHING,
    PROMPT_CHANGED,   /* the text is another */
    PROMPT_DONE,      /* Enter */
    PROMPT_CANCELLED
} prompt_event;

/* Fills words with what may stand instead of the last word of text (from byte *start on). */
typedef AOT_VEC(char *) prompt_words;
typedef void prompt_complete(void *arg, const char *text, size_t *start, prompt_words *words);

typedef struct aot_prompt {
    prompt_kind kind;
    const char *where; /* the pane that a search or filter is about; NULL: not said */
    aot_sb text;
    size_t at; /* cursor, in bytes */
    AOT_VEC(char *) history[N_PROMPTS];
    size_t history_at; /* n of the history: the line being written */
    char *draft;       /* that line, while older ones are shown */
    prompt_words words; /* offered by Tab */
    size_t word, word_start; /* the one that stands in the text now */
    prompt_complete *complete;
    void *arg;
} aot_prompt;

void prompt_init(aot_prompt *p, prompt_complete *complete, void *arg);
void prompt_done(aot_prompt *p);
void prompt_open(aot_prompt *p, prompt_kind kind, const char *text);
/* After PROMPT_DONE and PROMPT_CANCELLED the prompt is closed; text stays readable. */
prompt_event prompt_key(aot_prompt *p, aot_key key);
/* Draws into row y, and the words offered into the row above. Returns the cursor's column. */
int prompt_draw(const aot_prompt *p, aot_canvas *c, int y);

#endif
