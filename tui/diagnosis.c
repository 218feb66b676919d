/* The diagnosis table as a page, as Markdown, and looked up by an error message. */
#include "tui/diagnosis.h"

#include <string.h>

static const aot_diagnosis rows[] = {
#define DIAGNOSIS(marks, symptom, cause, remedy, command) {marks, symptom, cause, remedy, command},
#include "tui/diagnosis.def"
#undef DIAGNOSIS
};
enum { N_ROWS = sizeof rows / sizeof *rows };

static bool has_mark(const char *message, const char *marks)
{
    for (const char *m = marks; *m != '\0';) {
        size_t n = strcspn(m, "|");
        for (const char *at = strchr(message, m[0]); at != NULL; at = strchr(at + 1, m[0])) {
            if (strncmp(at, m, n) == 0) {
                return true;
            }
        }
        m += n + (m[n] == '|');
    }
    return false;
}

const aot_diagnosis *aot_diagnosis_of(const char *message)
{
    for (size_t i = 0; i < N_ROWS; i++) {
        if (has_mark(message, rows[i].marks)) {
            return &rows[i];
        }
    }
    return NULL;
}

void aot_help_diagnosis(aot_sb *out, bool color)
{
    for (size_t i = 0; i < N_ROWS; i++) {
        aot_sb_addf(out, "%s%s%s%s\n  likely cause: %s\n  remedy: %s\n  see: %s\n",
                    i > 0 ? "\n" : "", color ? "\033[1m" : "", rows[i].symptom,
                    color ? "\033[0m" : "", rows[i].cause, rows[i].remedy, rows[i].command);
    }
}

void aot_help_diagnosis_markdown(aot_sb *out)
{
    aot_sb_addz(out,
                "# Diagnosis\n\nFrom a symptom to its likely cause and the command that shows it. "
                "Made from `tui/diagnosis.def` by `make docs`; `aotscope help diagnosis` prints "
                "the same.\n\n| symptom | likely cause | remedy | see |\n|---|---|---|---|\n");
    for (size_t i = 0; i < N_ROWS; i++) {
        aot_sb_addf(out, "| %s | %s | %s | `%s` |\n", rows[i].symptom, rows[i].cause,
                    rows[i].remedy, rows[i].command);
    }
}
