#!/bin/sh
# Checks that no file includes a header of a higher layer:
#   base < ops < ir < rules < trace < grad decomp lower < capture < pipeline < passes partition joint runtime exec import < session < lint < viewers < tui (core/aotscope.h stands beside lint)
# and that curses.h stays in tui/screen.c, sqlite3.h in core/session, Graphviz and cairo in viewers.
# Prints FILE:LINE: what is wrong; exits 1 if there was anything. Usage: check-layers.sh [ROOT]
set -eu
cd "${1:-$(dirname "$0")/..}"
find core viewers tui -name '*.[ch]' -o -name '*.def' | sort | xargs awk '
BEGIN {
    n = split("base ops ir rules trace grad,decomp,lower capture pipeline passes,partition,joint,runtime,exec,import session lint,aotscope.h viewers tui", order, " ")
    for (i = 1; i <= n; i++) {
        m = split(order[i], same, ",")
        for (j = 1; j <= m; j++) { layer[same[j]] = i; }
    }
    bad = 0
}
function fault(text) { printf "%s:%d: %s\n", FILENAME, FNR, text; bad = 1 }
FNR == 1 {
    split(FILENAME, part, "/")
    mine = part[1] == "core" ? part[2] : part[1]
    if (!(mine in layer)) { fault("folder " mine " has no layer: add it to tools/check-layers.sh") }
}
/^[ \t]*#[ \t]*include[ \t]*["<]/ {
    name = $0
    sub(/^[ \t]*#[ \t]*include[ \t]*["<]/, "", name)
    sub(/[">].*/, "", name)
    if (name ~ /(^|\/)(n?curses|panel|menu|form|term)\.h$/ && FILENAME != "tui/screen.c") {
        fault(name ": only tui/screen.c knows curses")
    }
    if (name ~ /(^|\/)sqlite3\.h$/ && mine != "session") {
        fault(name ": only core/session knows SQLite")
    }
    if (name ~ /(^|\/)(gvc|cgraph|gvplugin.*|cairo.*)\.h$/ && mine != "viewers") {
        fault(name ": only viewers know Graphviz and cairo")
    }
    if (index(name, "/") == 0 || $0 ~ /</) { next }
    folder = name
    sub(/\/.*/, "", folder)
    if (folder == "core") { fault(name ": paths are relative to core/"); next }
    if (folder in layer && mine in layer && layer[folder] > layer[mine]) {
        fault(name ": " mine " may not include " folder ", which is a higher layer")
    }
}
END { exit bad }'
