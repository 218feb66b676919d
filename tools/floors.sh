#!/bin/sh
# Compares figures with their floors: floors.sh FLOORS STEP FIGURES
# Both files have lines `CORPUS | SETTING | CHECK | PERCENTAGE`; # starts a comment. Prints a line for
# each figure or floor: `ok ...` (at or above; says when the floor may be raised), or `BELOW ...`
# (under its floor, or a floor without a figure). STEP tells which floors are looked at: those of the
# setting `check`, `verify` or `import` belong to that step, all others to `parity`.
# Exits 1 if anything is below.
set -eu
awk -F ' *[|] *' -v step="$2" '
/^ *(#|$)/ { next }
{ key = $1 " | " $2 " | " $3; owner = $2 == "check" || $2 == "verify" || $2 == "import" ? $2 : "parity" }
FILENAME == ARGV[1] { if (owner == step) { floor[key] = $4; order[++n] = key }; next }
{
    seen[key] = 1
    if (!(key in floor)) {
        printf "ok %s | %.2f (no floor yet)\n", key, $4
    } else if ($4 + 0 < floor[key] + 0) {
        printf "BELOW %s | %.2f, the floor is %.2f\n", key, $4, floor[key]
        bad = 1
    } else if ($4 + 0 > floor[key] + 0) {
        printf "ok %s | %.2f (the floor %.2f may be raised)\n", key, $4, floor[key]
    } else {
        printf "ok %s | %.2f\n", key, $4
    }
}
END {
    for (i = 1; i <= n; i++) {
        if (!(order[i] in seen)) { printf "BELOW %s | no figure, the floor is %.2f\n", order[i], floor[order[i]]; bad = 1 }
    }
    exit bad
}' "$1" "$3"
