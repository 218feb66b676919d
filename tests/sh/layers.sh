#!/bin/sh
# The include rules hold, and the script that says so sees a break of each of them.
. "$AOT_SRC/tests/sh/lib.sh"

breaks()
{
    # breaks FILE LINE TEXT: a tree with this one line is refused with TEXT
    rm -rf "$scratch/tree"
    mkdir -p "$scratch/tree/core/base" "$scratch/tree/core/ir" "$scratch/tree/core/odd" \
        "$scratch/tree/viewers" "$scratch/tree/tui"
    echo "$2" >"$scratch/tree/$1"
    if sh "$AOT_SRC/tools/check-layers.sh" "$scratch/tree" >"$scratch/layers"; then
        echo "accepted: $2"
        return 1
    fi
    grep -qF "$3" "$scratch/layers"
}

lines_fit()
{
    cd "$AOT_SRC" || return 1
    find core viewers tui tests bench -name '*.[ch]' -exec env LC_ALL=C.UTF-8 grep -nHE '^.{101,}' {} + \
        >"$scratch/long"
    ! grep . "$scratch/long"
}

ok "no file includes a header of a higher layer" sh "$AOT_SRC/tools/check-layers.sh" "$AOT_SRC"
ok "base may not include ir" breaks core/base/x.c '#include "ir/graph.h"' 'base may not include ir'
ok "core may not include tui" breaks core/ir/x.c '#include "tui/cmd.h"' 'ir may not include tui'
ok "viewers may not include tui" breaks viewers/x.c '#include "tui/cmd.h"' 'viewers may not include tui'
ok "only the screen includes curses" breaks tui/view.c '#include <curses.h>' 'only tui/screen.c'
ok "only the session includes sqlite3.h" breaks tui/x.c '#include <sqlite3.h>' 'only core/session'
ok "only viewers include Graphviz" breaks core/ir/x.c '#include <graphviz/gvc.h>' 'only viewers'
ok "a folder without a layer is refused" breaks core/odd/x.c 'int x;' 'has no layer'
ok "no line of C has more than 100 columns" lines_fit
done_testing
