#!/bin/sh
# Prints docs/questions.md: each row of tests/questions.txt with what its command prints.
# make-questions.sh AOTSCOPE
set -eu
bin=$(realpath "$1")
root=$(cd "$(dirname "$0")/.." && pwd -P)
lines=14
cd "$root/fixtures"
cat <<'END'
# Questions

What people ask of a compiled graph, the command that answers it, and the first lines of its answer on
a log of `fixtures/`. The table is `tests/questions.txt`; a test runs every row, and `make docs` writes
this page. Below each, the key of the terminal interface that shows it.
END
grep -v '^#' "$root/tests/questions.txt" | while IFS='|' read -r number question command key want; do
    # shellcheck disable=SC2086
    set -- $command
    printf '\n## %s. %s\n\n```\n$ aotscope %s\n' "${number% }" "$(echo $question)" "$*"
    { "$bin" "$@" 2>&1 </dev/null || true; } >"${TMPDIR:-/tmp}/questions.$$"
    head -n "$lines" "${TMPDIR:-/tmp}/questions.$$"
    n=$(wc -l <"${TMPDIR:-/tmp}/questions.$$")
    [ "$n" -le "$lines" ] || printf '... %d lines more\n' $((n - lines))
    rm -f "${TMPDIR:-/tmp}/questions.$$"
    printf '```\n'
    key=$(echo $key)
    [ "$key" = - ] || printf '\nIn the terminal: `%s`\n' "$key"
done
