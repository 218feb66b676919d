#!/bin/sh
# tests/sh/tap-run.sh mends TAP, tools/count-tests.sh sums .trs files, tools/floors.sh compares with floors, and tools/embed.sh keeps every byte of a text.
. "$AOT_SRC/tests/sh/lib.sh"

mkdir -p "$scratch/good/tests" "$scratch/bad" "$scratch/none"
printf ':test-result: PASS 1 - a\n:test-result: PASS 2 - b\n:global-test-result: PASS\n' >"$scratch/good/tests/one.trs"
printf ':test-result: PASS 1 - c\n:test-result: SKIP 2 - d # SKIP no groff\n' >"$scratch/good/two.trs"
run sh "$AOT_SRC/tools/count-tests.sh" "$scratch/good"
last_line() { [ "$(tail -n 1 "$scratch/out")" = "$1" ] || { cat "$scratch/out"; return 1; }; }
ok "results of all files are summed" last_line "3 passed, 0 failed"
ok "all passed is exit code 0" exits 0
ok "skipped ones are told apart" out "1 skipped"

printf ':test-result: PASS 1 - a\n:test-result: FAIL 2 - b\n:test-result: ERROR - exited with status 139\n' >"$scratch/bad/one.trs"
: >"$scratch/bad/empty.trs"
run sh "$AOT_SRC/tools/count-tests.sh" "$scratch/bad"
ok "failures, crashes and empty results count as failed" last_line "1 passed, 3 failed"
ok "a failure is exit code 1" exits 1
ok "the failing test is named" out "FAIL 2 - b"

run sh "$AOT_SRC/tools/count-tests.sh" "$scratch/none"
ok "no test at all is no success" exits 1

cat >"$scratch/floors" <<'END'
# CORPUS | SETTING | CHECK | PERCENTAGE
corner | default | saved | 90.00
corner | budget=0 | text | 50.00
corner | check | exit 0 | 80.00
END
figures() { printf '%s\n' "$@" >"$scratch/figures"; run sh "$AOT_SRC/tools/floors.sh" "$scratch/floors" parity "$scratch/figures"; }
figures 'corner | default | saved | 95.00' 'corner | budget=0 | text | 50.00'
ok "figures at or above their floors are accepted" exits 0
ok "a floor that may be raised is reported" out "default | saved | 95.00 (the floor 90.00 may be raised)"
figures 'corner | default | saved | 89.99' 'corner | budget=0 | text | 100.00'
ok "a figure below its floor is refused" exits 1
ok "the figure below its floor is named" out "BELOW corner | default | saved | 89.99"
figures 'corner | default | saved | 90.00'
ok "a floor without a figure is refused" out "BELOW corner | budget=0 | text | no figure"

cat >"$scratch/fake" <<'END'
echo '1..3'
echo 'ok 1 - a'
echo 'not ok 2 # SKIP b'
echo 'not ok 3 - c'
exit ${1-1}
END
run sh "$AOT_SRC/tests/sh/tap-run.sh" sh "$scratch/fake"
ok "a skipped test of cmocka is not a failure" out "ok 2 # SKIP b"
ok "a failure stays one" out "not ok 3 - c"
ok "failures in the output are not reported twice" exits 0
run sh "$AOT_SRC/tests/sh/tap-run.sh" sh "$scratch/fake" 139
ok "a crash is passed on" exits 139

printf 'a "quoted"\tline\\n ??= end\n\n%%s last' >"$scratch/text"
sh "$AOT_SRC/tools/embed.sh" aot_text "$scratch/text" >"$scratch/text.c"
printf '#include <stdio.h>\nextern const char aot_text[];\nint main(void) { fputs(aot_text, stdout); return 0; }\n' >"$scratch/main.c"
embeds()
{
    $AOT_CC -std=c11 -Wall -Werror -o "$scratch/prog" "$scratch/text.c" "$scratch/main.c" && "$scratch/prog" >"$scratch/copy" &&
        { cat "$scratch/text"; echo; } | cmp - "$scratch/copy"
}
ok "embed.sh keeps quotes, tabs, backslashes and trigraphs" embeds
done_testing
