/* The diagnosis table: symptom, likely cause, the command that shows it. */
#ifndef AOT_TUI_DIAGNOSIS_H
#define AOT_TUI_DIAGNOSIS_H

#include <stdbool.h>

#include "base/str.h"

typedef struct aot_diagnosis {
    const char *marks; /* words of error messages, with | between; "" none */
    const char *symptom, *cause, *remedy, *command;
} aot_diagnosis;

/* The row whose words an error message has; NULL. */
const aot_diagnosis *aot_diagnosis_of(const char *message);
void aot_help_diagnosis(aot_sb *out, bool color);
void aot_help_diagnosis_markdown(aot_sb *out); /* docs/diagnosis.md */

#endif
