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
# A key is bound, a command after ':' is a row of its table.
bound()
{
    case $key in
    :*) grep -q "{\"${key#:}\", " "$AOT_SRC/tui/commands.c" ;;
    *) grep -qE "^bind (any|graph|units|saved) $key " "$AOT_SRC/tui/keys.default" ;;
    esac
}
while IFS='|' read -r number question command key want; do
    want=${want# }
    key=$(echo $key) # without the blanks around it
    # shellcheck disable=SC2086
    run "$AOTSCOPE" $command
    ok "question ${number% }:$question" answers
    [ "$key" = - ] || ok "its key $key is bound" bound
done <"$scratch/rows"
all() { [ "$(cut -d' ' -f1 "$scratch/rows" | tr '\n' ' ')" = "$(seq 31 | tr '\n' ' ')" ]; }
ok "every question has its row, in order" all
done_testing
