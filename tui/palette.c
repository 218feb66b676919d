/* What the command line offers while one types: commands, actions, stages, nodes, settings, themes,
 * each with the line that its table has about it. Which of them fit, and in what order, is the
 * prompt's. */
#include <stdio.h>
#include <string.h>

#include "partition/select.h"
#include "pipeline/config.h"
#include "tui/app.h"
#include "viewers/theme.h"
#include "viewers/format.h"
#include "viewers/viewer.h"

enum { MAX_NODES = 200 };

static void offer_actions(aot_app *app, prompt_words *words)
{
    for (int a = AOT_ACT_NONE + 1; a < AOT_N_ACTIONS; a++) {
        const char *name = aot_action_name((aot_action)a);
        if (!aot_app_command_find(name)) {
            aot_sb doc = {0}, keys = {0};
            aot_keymap_add_all(&keys, aot_app_keys(app), (aot_action)a, aot_app_ascii(app));
            aot_sb_addz(&doc, aot_action_doc((aot_action)a));
            if (keys.n) {
                aot_sb_addf(&doc, "  (%s)", aot_sb_text(&keys));
            }
            prompt_add_word(words, name, aot_sb_text(&doc));
            aot_sb_free(&doc);
            aot_sb_free(&keys);
        }
    }
}

static void offer_commands(prompt_words *words)
{
    for (const aot_app_command *c = aot_app_commands; c->name; c++) {
        aot_sb doc = {0};
        aot_sb_addf(&doc, "%s: %s", c->arg, c->doc);
        prompt_add_word(words, c->name, aot_sb_text(&doc));
        aot_sb_free(&doc);
    }
}

void aot_offer_stages(aot_app *app, const char *arg, prompt_words *words)
{
    (void)app;
    (void)arg;
    for (int s = 0; s < AOT_N_STAGES; s++) {
        const aot_stage_info *info = aot_stage_get((aot_stage)s);
        prompt_add_word(words, info->name, info->sentence);
    }
}

/* Nodes that fit only: a graph may have a million. */
void aot_offer_nodes(aot_app *app, const char *arg, prompt_words *words)
{
    aot_view *v = aot_app_top(app);
    const aot_graph *g;
    aot_err err = {0};
    if (v->unit == AOT_NO_UNIT || v->stage >= AOT_N_STAGES ||
        aot_model_graph(aot_app_model(app), v->unit, v->stage, &g, &err) != AOT_OK) {
        return;
    }
    for (uint32_t i = 0; i < g->nodes.n && words->n < MAX_NODES; i++) {
        const char *name = aot_node_name(g, i);
        if (aot_starts_with(name, arg) || (*arg && strstr(name, arg))) {
            char type[256], op[256], doc[600];
            snprintf(doc, sizeof doc, "%s  %s", aot_format_op(op, sizeof op, g, i),
                     aot_format_type(type, sizeof type, g->ctx, aot_node_at(g, i)->meta));
            prompt_add_word(words, name, doc);
        }
    }
}

void aot_offer_units(aot_app *app, const char *arg, prompt_words *words)
{
    aot_model *m = aot_app_model(app);
    (void)arg;
    for (size_t i = 0; i < aot_model_n_units(m) && words->n < MAX_NODES; i++) {
        const aot_unit *u = aot_model_unit(m, i);
        char number[24], label[64], doc[400];
        snprintf(number, sizeof number, "%zu", i);
        snprintf(doc, sizeof doc, "%s %s", aot_unit_label(&u->key, label, sizeof label),
                 u->title ? u->title : "");
        prompt_add_word(words, number, doc);
    }
}

void aot_offer_columns(aot_app *app, const char *arg, prompt_words *words)
{
    aot_list *l = aot_app_list(app);
    (void)arg;
    for (int i = 0; l && l->ops->columns && l->ops->columns[i]; i++) {
        prompt_add_word(words, l->ops->columns[i], "");
    }
}

void aot_offer_viewers(aot_app *app, const char *arg, prompt_words *words)
{
    (void)app;
    if (strchr(arg, ' ')) {
        return; // the file
    }
    for (size_t i = 0; i < aot_viewer_count(); i++) {
        prompt_add_word(words, aot_viewer_at(i)->name, aot_viewer_at(i)->sentence);
    }
}

void aot_offer_themes(aot_app *app, const char *arg, prompt_words *words)
{
    (void)app;
    (void)arg;
    for (int t = 0; t < AOT_N_THEMES; t++) {
        prompt_add_word(words, aot_theme_get((aot_theme)t)->name,
                        aot_theme_get((aot_theme)t)->sentence);
    }
}

/* "NAME=VALUE" for each value that the table lists. */
static void offer_values(const aot_config_row *r, prompt_words *words)
{
    const char *s = r->type == 'B' ? "True False" : r->type == 'S' ? r->range : "";
    while (*s) {
        size_t n = strcspn(s, " ");
        char word[128];
        snprintf(word, sizeof word, "%s=%.*s", r->name, (int)n, s);
        prompt_add_word(words, word, r->doc);
        s += n + strspn(s + n, " ");
    }
}

void aot_offer_settings(aot_app *app, const char *arg, prompt_words *words)
{
    (void)app;
    for (size_t i = 0; i < aot_config_count(); i++) {
        const aot_config_row *r = aot_config_row_at(i);
        size_t n = strlen(r->name);
        if (strncmp(arg, r->name, n) == 0 && arg[n] == '=') {
            offer_values(r, words);
        } else {
            char word[80];
            snprintf(word, sizeof word, "%s=", r->name);
            prompt_add_word(words, word, r->doc);
        }
    }
}

/* The terms of the selection language; of what stands at the cursor, its own name, line ... with
 * it. */
void aot_offer_selection(aot_app *app, const char *arg, prompt_words *words)
{
    const char *last = strrchr(arg, ' ');
    const char *typed = last ? last + 1 : arg;
    const char *mark = *typed == '!' ? "!" : "";
    aot_view *v = aot_app_top(app);
    if (v->ops == &view_graph_ops) {
        aot_graph_view_offer(v, mark, words);
    }
    for (size_t i = 0; i < aot_select_count(); i++) {
        aot_select_row r = aot_select_row_at(i);
        char word[80];
        snprintf(word, sizeof word, "%s%s%s", mark, r.name,
                 r.kind == AOT_SELECT_TEXT ? ":" : r.kind == AOT_SELECT_NUMBER ? ">" : "");
        char doc[400];
        snprintf(doc, sizeof doc, "%s%s%s", r.arg && *r.arg ? r.arg : "",
                 r.arg && *r.arg ? ": " : "", r.doc);
        prompt_add_word(words, word, doc);
    }
}

void aot_offer_edit_SET(aot_app *app, const char *arg, prompt_words *words)
{
    aot_offer_settings(app, arg, words);
}

void aot_offer_edit_SAVE(aot_app *app, const char *arg, prompt_words *words)
{
    aot_offer_selection(app, arg, words);
}

void aot_offer_edit_RECOMPUTE(aot_app *app, const char *arg, prompt_words *words)
{
    aot_offer_selection(app, arg, words);
}

void aot_offer_edit_CLEAR(aot_app *app, const char *arg, prompt_words *words)
{
    aot_offer_selection(app, arg, words);
}

void aot_offer_everything(aot_app *app, const char *arg, prompt_words *words)
{
    offer_commands(words);
    offer_actions(app, words);
    for (size_t i = 0; i < aot_config_count(); i++) {
        prompt_add_word(words, aot_config_row_at(i)->name, aot_config_row_at(i)->doc);
    }
    aot_offer_stages(app, arg, words);
}

void aot_app_complete(void *arg, const char *text, size_t *start, prompt_words *words)
{
    aot_app *app = arg;
    const char *last = strrchr(text, ' ');
    size_t n = strcspn(text, " ");
    *start = last ? (size_t)(last + 1 - text) : 0;
    if (aot_app_prompt(app)->kind != PROMPT_COMMAND) {
        aot_list *l = aot_app_list(app);
        if (aot_app_prompt(app)->kind == PROMPT_FILTER && l && l->ops->select) {
            aot_offer_selection(app, text, words);
        }
        return;
    }
    if (!last) {
        offer_commands(words);
        offer_actions(app, words);
        return;
    }
    char *word = aot_xstrndup(text, n);
    const aot_app_command *c = aot_app_command_find(word);
    if (c && c->offer) {
        c->offer(app, text + n + strspn(text + n, " "), words);
    }
    free(word);
}
