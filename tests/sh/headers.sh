#!/bin/sh
# Every header compiles alone, and every source, header and table is named in a list of the build
# (what is not would be missing from a release).
. "$AOT_SRC/tests/sh/lib.sh"
cd "$AOT_SRC" || exit 99

compiles_alone()
{
    printf '#include "%s"\nint aot_header_test;\n' "$1" >"$scratch/alone.c"
    $AOT_CC -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -fsyntax-only -Icore -I. "$scratch/alone.c"
}

is_listed()
{
    name=${1#*/}
    grep -qF "%D%/$name" "${1%%/*}/${1%%/*}.am" || { echo "$1 is in no list of ${1%%/*}/${1%%/*}.am"; return 1; }
}

all_listed()
{
    status=0
    for f in $(find core viewers tui -name '*.[ch]' -o -name '*.def' | sort); do
        is_listed "$f" || status=1
    done
    for f in $(cd tests && find unit fuzz golden -name '*.c' ! -name replay.c | sort); do
        grep -qE "%D%/${f%.c}(\.c)?( |\$)" tests/tests.am || { echo "tests/$f is not in tests/tests.am"; status=1; }
    done
    for f in $(cd tests && find sh tui -name '*.sh' | sort); do
        grep -qF "%D%/$f" tests/tests.am || { echo "tests/$f is not in tests/tests.am"; status=1; }
    done
    return $status
}

for h in $(find core viewers tui -name '*.h' | sort); do
    ok "$h compiles alone" compiles_alone "${h#core/}"
done
ok "every file is named in a list of the build" all_listed
done_testing
