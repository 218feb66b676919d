/* The view of saved bytes in groups, as the command :by opens it. */
#ifndef AOT_TUI_VIEW_GROUPS_H
#define AOT_TUI_VIEW_GROUPS_H

#include "tui/app.h"

bool aot_groups_command(aot_app *app,
                        const char *arg); /* "op"; false: no such key, and that was said */
void aot_offer_groups(aot_app *app, const char *arg, prompt_words *words);

#endif
