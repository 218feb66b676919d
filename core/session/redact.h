/* Taking what is the user's out of a unit: source lines, paths, names of functions, modules,
 * attributes, inputs, variables and custom operators. What is left says what PyTorch did:
 * operators, types, sizes, settings, line numbers. The same name becomes the same made-up one
 * everywhere a redactor is used, so lines, layers and ranks can still be told apart and compared:
 *
 *     L['self']._modules['encoder']._parameters['w']   ->
 * L['self']._modules['n1']._parameters['n2'] /home/u/model.py:12 in forward, code: return ...  ->
 * file_1.py:12 in n3, code: ...
 *
 * A text is kept word by word only where the word is PyTorch's own (redact_words.def, the operator
 * table); everything else is replaced or left out. So nothing has to be known of the user's names.
 *
 * How to use it: nobody calls this but the model and the recorder. Set aot_model_options.redact,
 * and every unit is redacted as it is read, before anything is made of it: pictures, texts, JSON
 * and sessions follow. A command gets that by the rows AOT_OPTIONS_INPUT in its options
 * (tui/open_model.h) and opening its inputs with what open_model.h has. Nothing of a new
 * session was ever written unredacted, so there is nothing to clean from the file's free pages. */
#ifndef AOT_SESSION_REDACT_H
#define AOT_SESSION_REDACT_H

#include "import/unit.h"

typedef struct aot_redactor aot_redactor;

aot_redactor *aot_redactor_new(void);
void aot_redactor_free(aot_redactor *r); /* NULL is fine */

/* Redacts all of a unit, in place. Graphs are read and printed anew; one that cannot be read, and
 * every record that is no graph and of no use here, loses its text. New texts are in u->arena. */
void aot_redact_unit(aot_redactor *r, aot_unit *u);
/* One record of a unit: for those that come after it. a: where new texts go. */
void aot_redact_record(aot_redactor *r, aot_record *rec, aot_arena *a);
/* A note: its place and kind stay, its text goes. */
void aot_redact_note(aot_redactor *r, aot_import_note *n);
/* "input_1" for the path of an input. Lives as long as r. */
const char *aot_redact_input(aot_redactor *r, const char *path);

#endif
