/* Commands of the command line: one file cmd_NAME.c each, listed in commands.def. A command's
 * options are a table; parsing, --help, the man page and shell completion are made from it. */
#ifndef AOT_TUI_CMD_H
#define AOT_TUI_CMD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "base/str.h"

enum { AOT_EXIT_SAME = 0, AOT_EXIT_DIFFERS = 1, AOT_EXIT_ERROR = 2 };

typedef struct aot_option {
    const char *name; /* "output": --output */
    char letter;      /* 'o': -o; 0 = none */
    const char *arg;  /* "FILE"; NULL = a switch */
    bool repeats;     /* may be given several times (--set) */
    const char *doc;  /* one sentence */
} aot_option;

typedef struct aot_cmd aot_cmd;

/* A parsed command line. */
typedef struct aot_args {
    const aot_cmd *cmd;
    const char **inputs; /* what is no option, in order; NULL-terminated */
    size_t n_inputs;
    struct { const char *name, *value; } *opts; /* in order; value NULL for a switch */
    size_t n_opts;
    struct aot_unit_edits
        *edits; /* the lines of --policy (partition/edits.h); NULL: none was given */
} aot_args;

struct aot_cmd {
    const char *name;    /* "partition" */
    const char *synopsis; /* "INPUT [--set K=V]... -o DIR" */
    const char *summary; /* one line, no full stop */
    const char *doc;     /* paragraphs for --help and the man page */
    const char *examples; /* lines "aotscope partition train.log -o out"; NULL if none */
    const aot_option *options; /* ends with a row whose name is NULL */
    int min_inputs, max_inputs; /* max -1: any number */
    int (*run)(const aot_args *a); /* exit code; prints its own errors through aot_cmd_fail */
};

/* Value of an option (the last one given), or NULL. For a switch: "" if given. */
const char *aot_args_get(const aot_args *a, const char *name);
bool aot_args_has(const aot_args *a, const char *name);
/* The i-th value of an option that repeats, or NULL. */
const char *aot_args_nth(const aot_args *a, const char *name, size_t i);
/* Prints to stderr what input is quoted in, without what would steer the terminal. All notes of
 * commands go through it. */
void aot_cmd_note(const char *fmt, ...) AOT_PRINTF(1, 2);
/* Each line as a note, "aotscope: " before it. */
void aot_cmd_notes(const aot_sb *lines);
/* Prints "aotscope: FILE:LINE:COLUMN: message" to stderr; returns AOT_EXIT_ERROR. */
int aot_cmd_fail(const aot_err *err);
/* Same from a plain sentence, with where to read more. */
int aot_cmd_usage(const aot_cmd *cmd, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A progress bar on stderr if that is a terminal; signature fits aot_model_options.progress. */
void aot_cmd_progress(void *arg, const char *what, uint64_t done, uint64_t total);
void aot_cmd_progress_end(void);
/* Whether escape sequences may be written to f: a terminal, not dumb, and NO_COLOR unset or
 * empty. */
bool aot_cmd_color(FILE *f);

/* The commands, in the order of commands.def. */
size_t aot_cmd_count(void);
const aot_cmd *aot_cmd_at(size_t i);
const aot_cmd *aot_cmd_find(const char *name); /* NULL if there is none */
/* The command that a mistyped name is nearest to, or NULL. */
const aot_cmd *aot_cmd_near(const char *name);

/* Parses what follows the command's name. *out borrows from argv; free it with aot_args_free.
 * --help and -h are not an error: they become the option "help" and nothing else is checked.
 * Errors: E_USAGE (unknown option with the nearest one, missing or unwanted value, number of
 * inputs); of a policy file E_IO, E_USAGE. */
AOT_NODISCARD aot_status aot_args_parse(aot_args *out, const aot_cmd *cmd, int argc, char **argv,
                                        aot_err *err);
void aot_args_free(aot_args *a);

/* Every command's table, defined in tui/cmd_NAME.c. */
#define CMD(name) extern const aot_cmd cmd_##name;
#include "tui/commands.def"
#undef CMD

#endif
