/* What commands that read inputs share: opening them with --set, choosing units. */
#ifndef AOT_TUI_OPEN_MODEL_H
#define AOT_TUI_OPEN_MODEL_H

#include <jansson.h>

#include "session/derive.h"
#include "session/model.h"
#include "tui/cmd.h"

/* Rows of an option table. */
#define AOT_OPTION_SET                                                                             \
    {"set", 0, "NAME=VALUE", true, "A setting in place of the recorded one; see SETTINGS."},       \
        {"hint", 0, "NAME=NUMBER", true,                                                           \
         "What a symbolic size is, where the log tells none: s77=6."},                             \
        {"times", 0, "FILE", false,                                                                \
         "Measured times, lines NAME,MILLISECONDS, in place of flops."},                           \
    {                                                                                              \
        "policy", 0, "FILE", true,                                                                 \
            "Lines set NAME=VALUE, save, recompute or clear SELECTION; they go over --set."        \
    }

/* Output may be shared: opening takes the user's names out of all that is read. */
#define AOT_OPTION_REDACT                                                                          \
    {                                                                                              \
        "redact", 0, NULL, false,                                                                  \
            "Take source lines, paths and the user's names out: made-up names take their place."   \
    }

/* Rows of every command that opens units and prints what is in them. */
#define AOT_OPTIONS_INPUT AOT_OPTION_SET, AOT_OPTION_REDACT

/* Rows of commands that trace. */
#define AOT_OPTIONS_TRACE                                                                          \
    {"path", 0, "NAME", false, "autograd, inference or export; as PyTorch chooses by default."},   \
        {"decompose", 0, "OP,OP", true,                                                            \
         "Decompose these operators too: aten.gelu.default, aten.gelu or gelu."},                  \
        {"keep", 0, "OP,OP", true, "Keep these operators though the table decomposes them."},      \
    {                                                                                              \
        "opaque", 0, NULL, false,                                                                  \
            "Go on where an operator has no rule, and believe the type that the Dynamo graph "     \
            "states."                                                                              \
    }

/* Values of --set and of options that are settings, borrowed from a; the caller frees the array. */
const char **aot_cmd_settings(const aot_args *a, size_t *n);
/* Whether --set's values are settings at all; before any input is read. */
AOT_NODISCARD aot_status aot_cmd_check_settings(const aot_args *a, aot_err *err);
/* A unit's recorded settings with --set on top. */
AOT_NODISCARD aot_status aot_cmd_unit_config(aot_config *out, const aot_args *a, const aot_unit *u,
                                             aot_err *err);
/* Whether the unit has a joint graph that counts among those of the input: one that PyTorch gave
 * up, in an attempt that it began anew, does not. Says so on stderr. */
bool aot_cmd_is_cut(const aot_unit *u, size_t unit);
/* Opens all inputs of a command line with its --set. */
AOT_NODISCARD aot_status aot_cmd_open(aot_model **out, const aot_args *a, aot_err *err);
/* Opens one input the same way. */
AOT_NODISCARD aot_status aot_cmd_open_one(aot_model **out, const aot_args *a, const char *input,
                                          aot_err *err);

/* The same; a session without the settings that it was made with, as its logs recorded it. */
AOT_NODISCARD aot_status aot_cmd_open_recorded(aot_model **out, const aot_args *a,
                                               const char *input, aot_err *err);

/* One Dynamo graph of an input, the k-th. An error ends the walk. */
typedef aot_status aot_dynamo_fn(void *arg, const aot_unit *u, const aot_record *dynamo, int k,
                                 aot_err *err);
/* All Dynamo graphs of the first input, or the one of --unit; one: the first, and it is an error if
 * there are more and no --unit. Errors: those of fn; E_PIPELINE (there is none), E_USAGE (--unit),
 * with the input's name. */
AOT_NODISCARD aot_status aot_cmd_each_dynamo(const aot_args *a, bool one, aot_dynamo_fn *fn,
                                             void *arg, aot_err *err);

/* The name of the i-th input that may be shown: as given, "input_1" with --redact. Borrows from a
 * or buf. */
const char *aot_cmd_shown_input(const aot_args *a, size_t i, char *buf, size_t size);
/* Calls visit for each unit of an input, log or session alike, under the policy of the command
 * line; a log's units are let go of one by one, so memory is that of the units that are open. */
AOT_NODISCARD aot_status aot_cmd_each_unit(const aot_args *a, const char *input,
                                           void (*visit)(void *arg, const aot_unit *u), void *arg,
                                           aot_err *err);
/* Of an input without a joint graph, E_PIPELINE; why: aot_unit_missing_reason of a unit, NULL if
 * there is no unit. */
aot_status aot_cmd_no_joint(const char *input, const char *why, aot_err *err);
/* Whether --unit means this one: by the number that listings count, or the label with or without
 * its brackets. NULL means all. */
bool aot_cmd_unit_is(const aot_unit *u, size_t unit, const char *only);
/* Says once per unit on stderr that passes ran after the joint graph which the derivation has not,
 * so that the forward and backward cut from it are not those that ran. cut may be NULL; backend:
 * the setting of the derivation. */
void aot_cmd_warn_passes(const aot_unit *u, size_t unit, const aot_graph *cut, const char *backend);
/* Says on stderr which sizes stand on an assumption (session/hints.h): of a context with graphs, of
 * a recorded graph, of a unit of a model. */
void aot_cmd_warn_assumed(const aot_unit *u, size_t unit, const aot_ctx *c);
void aot_cmd_warn_assumed_in(const aot_unit *u, size_t unit, const aot_record *r);
void aot_cmd_warn_assumed_of(aot_model *m, size_t unit);

/* Units by number (as listed, from 0) or label: "[0/1]", "0/1", "0/1_2 rank 1"; else those whose
 * number begins so: "!0" is "[!0/1/0]". Appends to out, at least one; freed by the caller. Errors:
 * E_USAGE: there is none, or several of that very label. */
typedef AOT_VEC(size_t) aot_unit_list;
AOT_NODISCARD aot_status aot_cmd_find_units(aot_unit_list *out, const aot_model *m,
                                            const char *which, aot_err *err);
/* The same for one unit. Errors: E_USAGE naming also those that the text could mean. */
AOT_NODISCARD aot_status aot_cmd_find_unit(size_t *out, const aot_model *m, const char *which,
                                           aot_err *err);

/* Opens the inputs and finds the units that --unit asks for, first <= unit < end: one, else all.
 * *out is set where the inputs could be opened, whatever is returned. */
AOT_NODISCARD aot_status aot_cmd_open_units(aot_model **out, size_t *first, size_t *end,
                                            const aot_args *a, aot_err *err);

/* Writes DIR/k.WHAT, never over an input of the command line. */
AOT_NODISCARD aot_status aot_cmd_write_text(const aot_args *a, const char *dir, int k,
                                            const char *what, const char *text, size_t n,
                                            aot_err *err);
/* The same for a graph as PyTorch prints it. */
AOT_NODISCARD aot_status aot_cmd_write_graph(const aot_args *a, const char *dir, int k,
                                             const char *what, const aot_graph *g, aot_err *err);
/* {"format": "aotscope/1"} with further keys to come. */
json_t *aot_cmd_json(void);
/* Writes a JSON value to --output (standard output if absent or "-"), never over an input. */
AOT_NODISCARD aot_status aot_cmd_write_json(const aot_args *a, const json_t *j, aot_err *err);
/* Prints and frees a JSON value. */
void aot_cmd_print_json(json_t *j);

#endif
