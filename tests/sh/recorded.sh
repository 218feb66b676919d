#!/bin/sh
# A session that tools/aotscope_record.py wrote in a running program (fixtures/recorded/train.py).
. "$AOT_SRC/tests/sh/lib.sh"
s=$scratch/train.aots
full=$scratch/full.aots
gzip -dc "$AOT_FIXTURES/recorded/train.aots.gz" >"$s" || exit 99

run "$AOTSCOPE" show "$s" --units
ok "a recorded session opens" exits 0
ok "its units are those of the program" out "checkpointed train.py:"
printf 'size 110x24\nscreen units\n' >"$scratch/units.keys"
run "$AOTSCOPE" "$s" --script "$scratch/units.keys"
ok "the interface's list has the path that the commands name" \
    grep -q "3  .0/0_1.  broken train.py:30 .* inference " "$scratch/out"
for unit in 0 1 3; do
    total=$("$AOTSCOPE" profile "$s" | awk -v unit=$unit 'NR == 1 { end = index($0, "total") + 4 }
        $1 == unit { n = split(substr($0, 1, end), word, " "); print word[n - 1], word[n] }')
    ok "and the compile time that profile tells: unit $unit, $total" \
        grep -q "^. $unit  .*  $total *\$" "$scratch/out"
done
run "$AOTSCOPE" show "$s" --unit 1 --saved
ok "generator states that the backward draws from are rows" out "state of the generator: the backward draws aten"
ok "and counted apart" out "generator state"
run "$AOTSCOPE" show "$s" --unit 1 --saved --json
ok "in JSON, too" out '"generator_state_bytes": '
run "$AOTSCOPE" check "$s"
ok "every recorded stage follows from the one before" exits 0
ok "none of them differs" out "0 differ, 0 left out"
run "$AOTSCOPE" lint "$s"
ok "lint finds the dropout that is drawn again" out "random-redrawn"

run "$AOTSCOPE" show "$s" --unit 0 --calls
ok "calls are shown" out "backward 0 of forward 0"
ok "under a budget the backward drew other numbers" out "with OTHER numbers"
ok "the first element that differs is named" out "first at element"
run "$AOTSCOPE" show "$s" --unit 1 --calls
ok "under checkpoint it drew the same" out "4 random values drawn again in a backward: the same numbers"
ok "two forwards before two backwards are kept apart" out "backward 1 of forward 1"
run "$AOTSCOPE" show "$s" --unit 3 --calls
ok "a compile of no random node has calls, too" out "inference"
run "$AOTSCOPE" info "$s"
ok "info says what ran" out "What ran"

# What was counted while it ran is what the simulation says.
peaks() { tr -d ' \n' <"$scratch/out" | grep -o "\"$1\":{\"inputs\":[0-9]*,\"peak\":[0-9]*" | sed 's/.*://' | head -n "$2"; }
run "$AOTSCOPE" memory "$s" --format json
peaks forward 2 >"$scratch/said"
printf '184\n5240\n' >"$scratch/was"
ok "the forward's peak is what memory says" diff "$scratch/was" "$scratch/said"
peaks backward 2 >"$scratch/said"
printf '256\n5272\n' >"$scratch/was"
ok "the backward's peak is what memory says" diff "$scratch/was" "$scratch/said"
# Of all units: the simulation that frees what was saved as autograd does. The third unit's 6260 counted
# bytes lack the 224 of inputs that its backward is not handed: the caller holds them all the same.
run "$AOTSCOPE" memory "$s" --free-saved --format json
peaks backward 4 >"$scratch/said"
printf '256\n5272\n%d\n60\n' $((6260 + 224)) >"$scratch/was"
ok "every backward's peak is what was counted, saved values freed at their last use" diff "$scratch/was" "$scratch/said"
run "$AOTSCOPE" show "$s" --calls --json
ok "JSON has what was counted" out '"peak_bytes": 5272'

run "$AOTSCOPE" import "$s" -o "$full"
ok "a recorded session is imported into a whole one" exits 0
"$AOTSCOPE" show "$s" --calls >"$scratch/before"
"$AOTSCOPE" show "$full" --calls >"$scratch/after"
ok "with its calls" diff "$scratch/before" "$scratch/after"
run "$AOTSCOPE" import "$s" "$s" -o "$scratch/twice.aots"
ok "two recordings fit into one session" exits 0
"$AOTSCOPE" show "$scratch/twice.aots" --unit 5 --calls >"$scratch/second"
"$AOTSCOPE" show "$s" --unit 0 --calls | sed 's/# unit 0/# unit 5/' >"$scratch/first"
ok "and each unit keeps its own" diff "$scratch/first" "$scratch/second"
run "$AOTSCOPE" import "$full" -o "$scratch/again.aots"
ok "a whole session is imported again" exits 0
"$AOTSCOPE" show "$scratch/again.aots" --calls >"$scratch/after"
ok "with its calls, too" diff "$scratch/before" "$scratch/after"
run "$AOTSCOPE" import "$s" -o "$scratch/shared.aots" --redact
ok "a redacted session is made of it" exits 0
run "$AOTSCOPE" show "$scratch/shared.aots" --calls
ok "it has no values of the user's" err "no run was recorded"
run "$AOTSCOPE" show "$s" --calls --redact
ok "nor does what is shown redacted" err "--redact shows no recorded calls"
run "$AOTSCOPE" show "$AOT_FIXTURES/logs/linear_relu.trace.log" --calls
ok "a log has no calls" exits 2
ok "and says how to record some" err "aotscope_record.py"
head -c 100000 "$s" >"$scratch/cut.aots"
run "$AOTSCOPE" show "$scratch/cut.aots" --calls
ok "a damaged recording is an error, not a crash" exits 2

ok "the recorder's tables are those of the schema (else: make docs)" \
    sh -c 'sh "$1/tools/recorder-schema.sh" "$1/core/session/schema.sql" "$1/tools/aotscope_record.py" |
        diff "$1/tools/aotscope_record.py" -' - "$AOT_SRC"
run "$AOTSCOPE" info "$AOT_FIXTURES/recorded/train.aots.gz"
ok "a compressed session is named, with the remedy" err "unpack it, then open"
run "$AOTSCOPE" show "$s" --unit 1 --calls --redact
ok "redacted, calls are not said to be missing" err "--redact shows no recorded calls"
run "$AOTSCOPE" import "$s" -o "$scratch/told.aots" --redact
ok "an import that leaves calls out says so" err "recorded calls are left out"

done_testing
