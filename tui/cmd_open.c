/* aotscope INPUT...: the terminal interface; without a terminal, a summary of the input and the
 * batch commands that show the rest. */
#include <string.h>
#include <unistd.h>

#include "tui/app.h"
#include "tui/open_model.h"
#include "tui/summary.h"

static int summary(const aot_args *a)
{
    aot_err err = {0};
    aot_model *m = NULL;
    if (aot_cmd_open(&m, a, &err) != AOT_OK) {
        return aot_cmd_fail(&err);
    }
    aot_cmd_progress_end();
    int code = aot_summary_print(stdout, m, a);
    aot_model_free(m);
    return code;
}

/* Keys come from standard input, or from the terminal itself while a log comes through a pipe. */
static bool has_terminal(const aot_args *a)
{
    bool piped = false;
    for (size_t i = 0; i < a->n_inputs; i++) {
        piped = piped || strcmp(a->inputs[i], "-") == 0;
    }
    return isatty(STDOUT_FILENO) &&
           (isatty(STDIN_FILENO) || (piped && access("/dev/tty", R_OK | W_OK) == 0));
}

static int run(const aot_args *a)
{
    bool terminal = has_terminal(a);
    return terminal || aot_args_has(a, "script") ? aot_tui_run(a) : summary(a);
}

const aot_cmd cmd_open = {
    .name = "open",
    .synopsis = "INPUT... [--set NAME=VALUE]...",
    .summary = "Browse an input in the terminal (the word `open` may be left out)",
    .doc =
        "Lists the units of the input; from there to the stages of a unit, to a graph, to a node. "
        "`?` shows the keys.\n\n"
        "Where standard input or output is no terminal, prints a summary of the input and the "
        "commands that show the rest.",
    .examples = "aotscope train.log\n"
                "aotscope logs/ --set activation_memory_budget=0.5\n"
                "python train.py 2>&1 | aotscope -\n",
    .options = aot_tui_options,
    .min_inputs = 1,
    .max_inputs = -1,
    .run = run,
};
