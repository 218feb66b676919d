/* aotscope help TERM: what any table says of a word. A group of the list below is a table, read by
 * one function that gives row i; rows that are called so come first, else those that hold it. */
#include <string.h>

#include "capture/metadata.h"
#include "exec/memsim.h"
#include "lint/lint.h"
#include "partition/select.h"
#include "pipeline/stage.h"
#include "runtime/wrappers.h"
#include "tui/help.h"
#include "viewers/viewer.h"

typedef struct term {
    const char *name, *sentence, *more; /* more: a second sentence; NULL */
} term;

enum { TERM, LETTER, SOLVER };

static const struct {
    int group;
    const char *word, *sentence;
} words[] = {
#define WORD(group, word, sentence) {group, word, sentence},
#include "tui/words.def"
#undef WORD
};

/* The i-th word of a group. */
static bool word_of(term *t, size_t i, int group)
{
    for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
        if (words[k].group == group && i-- == 0) {
            *t = (term){words[k].word, words[k].sentence, NULL};
            return true;
        }
    }
    return false;
}

static bool word_row(term *t, size_t i)
{
    return word_of(t, i, TERM);
}

static bool letter_row(term *t, size_t i)
{
    return word_of(t, i, LETTER);
}

static bool solver_row(term *t, size_t i)
{
    return word_of(t, i, SOLVER);
}

static bool rung_row(term *t, size_t i)
{
    *t = i < AOT_N_RUNGS ? (term){aot_rung_text((aot_rung)i), aot_rung_sentence((aot_rung)i), NULL}
                         : *t;
    return i < AOT_N_RUNGS;
}

static bool ban_row(term *t, size_t i)
{
    aot_ban b = (aot_ban)(i + 1);
    *t = b < AOT_N_BANS ? (term){aot_ban_text(b), aot_ban_sentence(b), NULL} : *t;
    return b < AOT_N_BANS;
}

static bool finding_row(term *t, size_t i)
{
    if (i >= aot_finding_rule_count()) {
        return false;
    }
    const aot_finding_rule *r = aot_finding_rule_at((unsigned)i);
    *t = (term){r->name, r->title, r->remedy};
    return true;
}

static bool wrapper_row(term *t, size_t i)
{
    const aot_wrapper_info *w = i < AOT_N_WRAPPERS ? aot_wrapper_get((aot_wrapper)i) : NULL;
    *t = w != NULL ? (term){w->name, w->sentence, NULL} : *t;
    return w != NULL;
}

static bool field_row(term *t, size_t i)
{
    const aot_meta_info *m = i < AOT_N_META_FIELDS ? aot_meta_info_of((aot_meta_field)i) : NULL;
    *t = m != NULL ? (term){m->name, m->sentence, NULL} : *t;
    return m != NULL;
}

static bool kind_row(term *t, size_t i)
{
    aot_mem_kind k = (aot_mem_kind)i;
    *t = i < AOT_N_MEM_KINDS ? (term){aot_mem_kind_name(k), aot_mem_kind_sentence(k), NULL} : *t;
    return i < AOT_N_MEM_KINDS;
}

static bool shown_row(term *t, size_t i)
{
    bool is = i < aot_viewer_count();
    *t = is ? (term){aot_viewer_at(i)->name, aot_viewer_at(i)->sentence, NULL} : *t;
    return is;
}

static bool selection_row(term *t, size_t i)
{
    bool is = i < aot_select_count();
    *t = is ? (term){aot_select_row_at(i).name, aot_select_row_at(i).doc, NULL} : *t;
    return is;
}

static const struct {
    const char *title;
    bool (*row)(term *t, size_t i);
} groups[] = {{"Words", word_row},
              {"Letters beside a node", letter_row},
              {"Solvers of the budget", solver_row},
              {"Rungs of the budget", rung_row},
              {"Reasons for a ban", ban_row},
              {"Findings of lint", finding_row},
              {"Runtime wrappers", wrapper_row},
              {"Fields of ViewAndMutationMeta", field_row},
              {"Kinds of memory", kind_row},
              {"Terms of selections", selection_row},
              {"What export shows (--what)", shown_row}};

static bool fits(const char *name, const char *word, bool part)
{
    return part ? strcasestr(name, word) != NULL
                : strlen(word) == 1 ? strcmp(name, word) == 0 : strcasecmp(name, word) == 0;
}

static void add_group(aot_sb *out, size_t k, const char *word, bool part, bool color)
{
    term t = {0};
    bool first = true;
    for (size_t i = 0; groups[k].row(&t, i); i++) {
        if (!fits(t.name, word, part)) {
            continue;
        }
        if (first) {
            aot_sb_addz(out, out->n > 0 ? "\n" : "");
            aot_help_heading(out, groups[k].title, color);
        }
        first = false;
        aot_help_entry(out, t.name, t.sentence, 20);
        if (t.more != NULL) {
            aot_help_entry(out, "", t.more, 20);
        }
    }
}

static void add_settings(aot_sb *out, const char *word, bool part, bool color)
{
    bool first = true;
    for (size_t i = 0; i < aot_config_count(); i++) {
        const aot_config_row *r = aot_config_row_at(i);
        if (fits(r->name, word, part)) {
            if (first) {
                aot_help_heading(out, AOT_HELP_SETTINGS_TITLE, color);
            }
            first = false;
            aot_help_setting(out, r);
        }
    }
}

static void add_stages(aot_sb *out, const char *word, bool part, bool color)
{
    bool first = true;
    for (int s = 0; s < AOT_N_STAGES; s++) {
        if (fits(aot_stage_get((aot_stage)s)->name, word, part)) {
            if (first) {
                aot_sb_addz(out, out->n > 0 ? "\n" : "");
                aot_help_heading(out, "Stages of a unit", color);
            }
            first = false;
            aot_help_stage(out, aot_stage_get((aot_stage)s));
        }
    }
}

bool aot_help_term(aot_sb *out, const char *word, bool color)
{
    bool letter = strlen(word) == 1; // one letter is held by nearly every name
    for (int part = 0; *word != '\0' && part < (letter ? 1 : 2) && out->n == 0; part++) {
        add_settings(out, word, part, color);
        add_stages(out, word, part, color);
        for (size_t k = 0; k < sizeof groups / sizeof *groups; k++) {
            add_group(out, k, word, part, color);
        }
    }
    return out->n > 0;
}
