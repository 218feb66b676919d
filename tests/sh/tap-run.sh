#!/bin/sh
# Runs a test program for the TAP driver, with a time limit, and mends two habits of cmocka: a skipped
# test is printed as `not ok N # SKIP`, and the exit code counts failures that are already in the
# output. Any other exit code (a crash, a sanitizer's report) is passed on. Usage: tap-run.sh TEST...
out=$(mktemp "${TMPDIR:-/tmp}/aotscope-tap.XXXXXX") || exit 99
trap 'rm -f "$out"' EXIT
limit=
command -v timeout >/dev/null && limit="timeout ${AOT_TEST_SECONDS:-900}"
case $1 in
*/fuzz_*) set -- "$1" "$AOT_FIXTURES/fuzz/${1##*/fuzz_}" ;; # replays its seeds
esac
code=0
$limit "$@" >"$out" || code=$?
sed 's/^not ok \([0-9]*\) # SKIP/ok \1 # SKIP/' "$out"
failed=$(grep '^not ok' "$out" | grep -vc '# SKIP')
if [ "$code" = "$failed" ] && grep -q '^1\.\.[0-9]' "$out"; then
    exit 0
fi
exit "$code"
