/* What the application has done by others: the editor opens a source line, the terminal keeps a
 * text. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tui/app.h"
#include "tui/screen.h"

void aot_app_edit(aot_app *app, const char *file, unsigned line)
{
    const char *editor = getenv("VISUAL");
    editor = editor && *editor ? editor : getenv("EDITOR");
    editor = editor && *editor ? editor : "vi";
    if (!*file) {
        aot_app_say(app, "This node has no source line");
    } else if (access(file, R_OK) != 0) {
        aot_app_say(app, "%s:%u is not on this machine", file, line);
    } else if (!aot_app_live(app)) {
        aot_app_say(app, "%s +%u %s", editor, line, file);
    } else {
        char at[32];
        snprintf(at, sizeof at, "+%u", line ? line : 1);
        // $EDITOR may hold options, so a shell splits it; file names are passed as they are
        const char *const argv[] = {"sh", "-c", "eval \"$0\" '\"$@\"'", editor, at, file, NULL};
        int code = screen_run(argv);
        if (code != 0) {
            aot_app_say(app, "%s ended with %d", editor, code);
        }
    }
}

void aot_app_copy(aot_app *app, const char *text)
{
    if (!aot_app_live(app)) {
        aot_app_say(app, "Copied: %s", text);
    } else if (screen_copy(text)) {
        aot_app_say(app, "Copied to the terminal's clipboard (if it allows OSC 52)");
    } else {
        aot_app_say(app, "This terminal has no clipboard that can be reached; "
                         "'aotscope show' prints the text");
    }
}
