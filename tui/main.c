/* aotscope: finds the command, parses its options, runs it. Words that are no command are inputs:
 * `aotscope train.log` is `aotscope open train.log`.
 *
 * A closed pipe (`aotscope show x.log | head`) ends the program quietly; output that cannot be
 * written (a full disk) is an error, which is why standard output is flushed and checked here. */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/str.h"
#include "tui/cmd.h"
#include "tui/help.h"
#include "viewers/theme.h"

static int print_version(void)
{
    printf("aotscope %s\n", PACKAGE_VERSION);
    return AOT_EXIT_SAME;
}

static int print_help(const aot_cmd *cmd)
{
    aot_sb out = {0};
    if (cmd != NULL) {
        aot_help_command(&out, cmd, aot_cmd_color(stdout));
    } else {
        aot_help_overview(&out, aot_cmd_color(stdout));
    }
    fputs(aot_sb_text(&out), stdout);
    aot_sb_free(&out);
    return AOT_EXIT_SAME;
}

static int run_command(const aot_cmd *cmd, int argc, char **argv)
{
    aot_args args;
    aot_err err = {0};
    if (aot_args_parse(&args, cmd, argc, argv, &err) != AOT_OK) {
        return err.file[0] != '\0' ? aot_cmd_fail(&err) : aot_cmd_usage(cmd, "%s", err.msg);
    }
    int code = aot_args_has(&args, "help") ? print_help(cmd) : cmd->run(&args);
    aot_cmd_progress_end();
    aot_args_free(&args);
    return code;
}

/* A word that names neither a command nor a file was meant as a command if one is near. */
static int check_first_word(const char *word)
{
    if (strcmp(word, "-") == 0 || access(word, F_OK) == 0 || strpbrk(word, "./") != NULL) {
        return AOT_EXIT_SAME;
    }
    const aot_cmd *near = aot_cmd_near(word);
    if (near != NULL) {
        return aot_cmd_usage(NULL, "there is no command or file '%s'; did you mean '%s'?", word,
                             near->name);
    }
    return aot_cmd_usage(NULL, "there is no command or file '%s'", word);
}

static int dispatch(int argc, char **argv)
{
    if (argc < 2) {
        return aot_cmd_usage(NULL, "an input or a command is missing");
    }
    const char *word = argv[1];
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
        return print_version();
    }
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        return print_help(NULL);
    }
    const aot_cmd *cmd = aot_cmd_find(word);
    if (cmd != NULL) {
        return run_command(cmd, argc - 2, argv + 2);
    }
    if (word[0] != '-' && check_first_word(word) != AOT_EXIT_SAME) {
        return AOT_EXIT_ERROR;
    }
    return run_command(&cmd_open, argc - 1, argv + 1);
}

/* AOTSCOPE_THEME; a name that is wrong is said and changes nothing. */
static void theme_of_environment(void)
{
    const char *name = getenv("AOTSCOPE_THEME");
    aot_err err = {0};
    if (name != NULL && *name != '\0' && aot_theme_use(name, &err) != AOT_OK) {
        fprintf(stderr, "aotscope: AOTSCOPE_THEME: %s\n", err.msg);
    }
}

/* A parent may have closed them: then a pipe or a file that is opened would be taken for one of
 * them. Writing to what is opened here for reading fails, as to what is closed. */
static void open_standard_files(void)
{
    for (int fd; (fd = open("/dev/null", O_RDONLY)) >= 0;) {
        if (fd > STDERR_FILENO) {
            close(fd);
            return;
        }
    }
}

int main(int argc, char **argv)
{
    open_standard_files();
    // a parent may have told us to ignore it; then `| head` would look like a full disk
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_IGN); /* a file size limit is a write error, to be told as one */
    setlocale(LC_CTYPE, "");
    aot_keep_freed_memory();
    theme_of_environment();
    int code = dispatch(argc, argv);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "aotscope: standard output: %s\n", strerror(errno));
        return AOT_EXIT_ERROR;
    }
    return code;
}
