/* The application: model, key table, stack of views, prompt. The main loop feeds it keys and shows
 * its canvas; a script does the same without a terminal. */
#ifndef AOT_TUI_APP_H
#define AOT_TUI_APP_H

#include "tui/cmd.h"
#include "tui/prompt.h"
#include "tui/view.h"

/* Options of `aotscope INPUT...` that concern the terminal; ends with a row whose name is NULL. */
extern const aot_option aot_tui_options[];

/* The terminal interface, or with --script its screens on standard output. Exit code. */
int aot_tui_run(const aot_args *a);

/* A command after ':' that takes an argument. */
typedef struct aot_app_command {
    const char *name, *arg, *doc;
    bool (*run)(aot_app *app,
                const char *arg); /* false: the argument is wrong, and that was said */
    /* Offers what may stand as its argument, of which arg was typed; NULL: nothing is known. */
    void (*offer)(aot_app *app, const char *arg, prompt_words *words);
} aot_app_command;
extern const aot_app_command aot_app_commands[]; /* ends with a NULL name */
const aot_app_command *aot_app_command_find(const char *name); /* NULL if there is none */
/* The list that has the focus; NULL if none. */
aot_list *aot_app_list(aot_app *app);

/* live: on a terminal, which editors and clipboards can use. Takes the model. */
aot_app *aot_app_new(aot_model *model, bool ascii, bool live, aot_err *err);
bool aot_app_live(const aot_app *app);
void aot_app_free(aot_app *app);
void aot_app_resize(aot_app *app, int rows, int cols);
void aot_app_key(aot_app *app, aot_key key);
void aot_app_click(aot_app *app, int row, int col, int wheel, bool twice);
/* One slice of background work; true if there is more. */
bool aot_app_work(aot_app *app);
/* How long keys should have rested before it, in ms. */
int aot_app_rest(aot_app *app);
/* Draws the screen; cursor_col < 0: no cursor (it is in the last row else). */
const aot_canvas *aot_app_draw(aot_app *app, int *cursor_col);
bool aot_app_wants_end(const aot_app *app);
/* The i-th view of the stack from below; NULL behind the last one. */
aot_view *aot_app_view(aot_app *app, size_t i);
/* What is typed at the budget's prompt, see edit.h. */
typedef struct aot_budget {
    size_t unit;
    double was;   /* before the prompt was opened */
    bool applied; /* what is typed is in force, as the last edit */
} aot_budget;
aot_budget *aot_app_budget(aot_app *app);
/* The view on top, for commands. */
aot_view *aot_app_top(aot_app *app);
void aot_app_do(aot_app *app, aot_action a);
/* A search of the list that has the focus was asked for: says what is wrong with it; where a pane
 * has no match, looks in the view's main list, and says so until the next key. app_answers.c */
void aot_app_searched(aot_app *app, const char *text, const aot_err *err);
/* Something that takes a while: done after the next drawing, so that `what` is seen meanwhile, and
 * before the next key. run frees arg. */
void aot_app_later(aot_app *app, const char *what, void (*run)(aot_app *app, void *arg), void *arg);
/* Runs what stands after ':'. */
void aot_app_run_command(aot_app *app, const char *text);
bool aot_app_export(aot_app *app, const char *arg); /* :export WHAT FILE; app_export.c */
bool aot_fits_command(aot_app *app, const char *arg);   /* :fits SIZE; app_answers.c */
bool aot_redact_command(aot_app *app, const char *path); /* :redact FILE */
prompt_complete aot_app_complete; /* palette.c; arg is the app */

/* palette.c: what commands offer as arguments. */
void aot_offer_stages(aot_app *app, const char *arg, prompt_words *words);
void aot_offer_nodes(aot_app *app, const char *arg, prompt_words *words);
void aot_offer_units(aot_app *app, const char *arg, prompt_words *words);
void aot_offer_columns(aot_app *app, const char *arg, prompt_words *words);
void aot_offer_viewers(aot_app *app, const char *arg, prompt_words *words);
void aot_offer_themes(aot_app *app, const char *arg, prompt_words *words);
void aot_offer_settings(aot_app *app, const char *arg,
                        prompt_words *words); /* NAME, then its values */
void aot_offer_selection(aot_app *app, const char *arg, prompt_words *words);
#define EDIT(id, word, arg, doc) \
    void aot_offer_edit_##id(aot_app *app, const char *arg_typed, prompt_words *words);
#include "partition/edit_kinds.def"
#undef EDIT
void aot_offer_everything(aot_app *app, const char *arg, prompt_words *words);

/* The prompt, whose history outlives the program. */
aot_prompt *aot_app_prompt(aot_app *app);

/* script.c: reads keys from a file and prints screens. */
int aot_tui_script(aot_app *app, const char *path, aot_err *err);

#endif
