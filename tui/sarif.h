/* Findings as SARIF 2.1.0 (OASIS), which code hosts read. */
#ifndef AOT_TUI_SARIF_H
#define AOT_TUI_SARIF_H

#include <jansson.h>

/* findings: a list of what `lint --json` has of each. Places are URIs without the machine's
 * folders: below the working directory, else below the deepest folder that all have in common. A
 * finding without a source line stands where its graph does in the input. The caller owns the
 * result. */
json_t *aot_sarif(const json_t *findings);

#endif
