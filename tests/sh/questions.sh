#!/bin/sh
# Every row of tests/questions.txt: the command answers, with the text that it must hold.
. "$AOT_SRC/tests/sh/lib.sh"

grep -v '^#' "$AOT_SRC/tests/questions.txt" >"$scratch/rows"
cd "$AOT_FIXTURES" || exit 99
answers()
{
    grep -qF -- "$want" "$scratch/out" "$scratch/err" || {
        echo "not in the answer: $want"
        cat "$scratch/out" "$scratch/err"
        return 1
    }
}
while IFS='|' read -r number question command want; do
    want=${want# }
    # shellcheck disable=SC2086
    run "$AOTSCOPE" $command
    ok "question ${number% }:$question" answers
done <"$scratch/rows"
done_testing
