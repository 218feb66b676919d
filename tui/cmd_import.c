/* aotscope import INPUT... -o S.aots: records what the inputs hold, derives the rest, compares. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "session/place.h"
#include "session/record_inputs.h"
#include "tui/open_model.h"
#include "viewers/format.h"

static void print_summary(const aot_record_summary *s, const char *path)
{
    char bytes[32];
    aot_cmd_note("%s: %u unit%s, %" PRIu64 " graphs, %" PRIu64 " records from %s\n", path,
            s->stats.units, s->stats.units == 1 ? "" : "s", s->stats.graphs, s->stats.records,
            aot_format_bytes(bytes, sizeof bytes, (int64_t)s->stats.bytes));
    uint32_t n_checks = s->n_same + s->n_differ + s->n_left_out + s->n_errors;
    if (n_checks > 0) {
        aot_cmd_note(
            "recorded stages, derived again: %u same, %u differ, %u left out, %u not derived\n",
            s->n_same, s->n_differ, s->n_left_out, s->n_errors);
    }
    if (s->n_unreadable_graphs > 0) {
        aot_cmd_note(
            "%u graph%s could not be read; see `select * from stage_graph where error is not "
            "null`\n",
            s->n_unreadable_graphs, s->n_unreadable_graphs == 1 ? "" : "s");
    }
    if (s->calls_left_out) {
        aot_cmd_note("recorded calls are left out: they hold the run's values, of which --redact "
                     "keeps none\n");
    }
    if (s->n_notes > 0) {
        aot_cmd_note("%" PRIu64 " note%s; see `aotscope info %s`\n", s->n_notes,
                s->n_notes == 1 ? "" : "s", path);
    }
}

/* Ended by a signal, it leaves no half a session beside the old one. What nohup ignores stays
 * so. */
static void catch_ends(void)
{
    static const int ends[] = {SIGHUP, SIGINT, SIGTERM};
    struct sigaction old, sa = {.sa_handler = aot_place_on_signal};
    sigfillset(&sa.sa_mask);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        if (sigaction(ends[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL) {
            sigaction(ends[i], &sa, NULL);
        }
    }
}

static int run(const aot_args *a)
{
    const char *path = aot_args_get(a, "output");
    if (path == NULL) {
        return aot_cmd_usage(a->cmd, "the session to write is missing: -o S.aots");
    }
    aot_model_options opt = {.session_path = path, .progress = aot_cmd_progress,
                             .edits = a->edits, .redact = aot_args_has(a, "redact")};
    const char **settings = aot_cmd_settings(a, &opt.n_settings);
    opt.settings = settings;
    aot_record_summary sum;
    catch_ends();
    aot_err err = {0};
    aot_status st = aot_record_inputs(a->inputs, a->n_inputs, &opt, &sum, &err);
    aot_cmd_progress_end();
    free(settings);
    if (st != AOT_OK) {
        return aot_cmd_fail(&err);
    }
    print_summary(&sum, path);
    return err.code != AOT_OK ? aot_cmd_fail(&err) : AOT_EXIT_SAME;
}

static const aot_option options[] = {
    {"output", 'o', "FILE", false,
     "The session to write. An older session there is replaced at the end."},
    AOT_OPTIONS_INPUT,
    {0},
};

const aot_cmd cmd_import = {
    .name = "import",
    .synopsis = "INPUT... -o S.aots [--set NAME=VALUE]... [--redact]",
    .summary = "Keep what inputs hold, and what follows from it, in a session file",
    .doc = "Records every graph, setting and fact of the inputs in one SQLite file, derives the "
           "stages that "
           "they lack, and compares where both exist. The file can be opened by every command, and "
           "asked "
           "with the sqlite3 shell: its views are units, recorded_graphs, stages, saved, "
           "recomputed, bans, "
           "stage_diff, inputs, settings, rng_sites, memory_timeline, memory_peaks, notes.\n\n"
           "With --redact the session can be shared: source lines, paths, names of functions, "
           "modules, "
           "attributes, variables and custom operators are made-up ones, the same everywhere, and "
           "nothing of them was ever written to the file. An INPUT that is a session is copied, so "
           "`import S.aots -o T.aots --redact` makes one that can be given away.\n\n"
           "A file that is no aotscope session is never overwritten.",
    .examples = "aotscope import train.log -o train.aots\n"
                "aotscope import logs/rank_*.log -o job.aots\n"
                "aotscope import train.aots --redact -o share.aots\n"
                "sqlite3 train.aots 'select * from saved'\n",
    .options = options,
    .min_inputs = 1,
    .max_inputs = -1,
    .run = run,
};
