#!/bin/sh
# Sums the results of `make check` in a build folder from its .trs files: names what failed, then
# prints `N passed, N failed`. Exits 0 only if something passed and nothing failed.
# A .trs file without a result (a test that crashed at once) counts as one failure. Usage: count-tests.sh BUILD
set -eu
build=${1:-.}
find "$build" -name '*.trs' -type f | sort | {
    passed=0 failed=0 skipped=0
    while IFS= read -r trs; do
        p=$(grep -c '^:test-result: PASS' "$trs" || :)
        s=$(grep -c -E '^:test-result: (SKIP|XFAIL)' "$trs" || :)
        f=$(grep -c -E '^:test-result: (FAIL|XPASS|ERROR)' "$trs" || :)
        if [ $((p + s + f)) = 0 ]; then
            f=1
            echo "no result in $trs"
        elif [ "$f" -gt 0 ]; then
            echo "failed in ${trs%.trs}.log:"
            grep -E '^:test-result: (FAIL|XPASS|ERROR)' "$trs" | sed -e 's/^:test-result: /  /' -e '/^  FAIL$/d'
            [ ! -e "${trs%.trs}.log" ] || grep -A 12 '^not ok' "${trs%.trs}.log" | head -n 60 | sed 's/^/    /'
        fi
        passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
    done
    if [ "$skipped" -gt 0 ]; then
        echo "$skipped skipped"
    fi
    echo "$passed passed, $failed failed"
    [ "$passed" -gt 0 ] && [ "$failed" = 0 ]
}
