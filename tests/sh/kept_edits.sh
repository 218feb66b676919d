#!/bin/sh
# Edits made in the interface: a session keeps them, what a log cannot keep is said before one leaves.
. "$AOT_SRC/tests/sh/lib.sh"
log="$AOT_FIXTURES/logs/train_break.log.gz"
session=$scratch/s.aots
keys() { printf '%s\n' "$@" >"$scratch/keys"; }

"$AOTSCOPE" import "$log" -o "$session" 2>/dev/null

keys 'type <Enter>:save op:gelu<Enter>' 'type :set activation_memory_budget=0.3<Enter>' \
    'keys z' 'screen undone' 'keys qq' 'screen left'
run "$AOTSCOPE" "$session" --script "$scratch/keys"
ok "edits of a session are made" out "undone: set activation_memory_budget=0.3"
ok "leaving asks nothing" out "left: left aotscope"

keys 'screen units' 'keys <Enter>u' 'screen edits' 'keys qZ' 'screen redone'
run "$AOTSCOPE" "$session" --script "$scratch/keys"
ok "they are in force when it is opened again" out "Edits of 1 unit are in force again"
ok "the list of units says so" out "1 edit, 1 note"
ok "the list has those in force" out "* 1   save op:gelu"
ok "and those that were undone" out " 2   set activation_memory_budget=0.3   (undone)"
ok "which can be redone" out "redone: set activation_memory_budget=0.3"

run "$AOTSCOPE" import "$log" -o "$session"
run "$AOTSCOPE" "$session" --script "$scratch/keys"
ok "a session made anew has them too" out "* 2   set activation_memory_budget=0.3"

echo 'set cse=False' >"$scratch/other.policy"
run "$AOTSCOPE" --policy "$scratch/other.policy" "$session" --script "$scratch/keys"
ok "another policy begins without them" out "* 1   set cse=False"
run "$AOTSCOPE" partition "$session" --unit 0
before=$(cat "$scratch/out")
run "$AOTSCOPE" partition "$log" --unit 0
ok "commands take no edits but those they are given" test "$before" = "$(cat "$scratch/out")"

keys 'type <Enter>:save op:gelu<Enter>' 'keys qq' 'screen asked' 'keys j' 'keys q' 'screen again' \
    'keys q' 'screen left'
run "$AOTSCOPE" "$log" --script "$scratch/keys"
ok "a log keeps none: leaving says how many" out "1 edit of 1 unit would be lost"
ok "after another key it is said again" sh -c '[ "$(grep -c "would be lost" "$1")" = 2 ]' - "$scratch/out"
ok "the second key in a row leaves" out "left: left aotscope"

chmod a-w "$session"
if [ -w "$session" ]; then
    skip "a session that cannot be written" "running as root"
else
    run "$AOTSCOPE" "$session" --script "$scratch/keys"
    ok "a session that cannot be written says so too" out "would be lost"
fi
chmod u+w "$session"

done_testing
