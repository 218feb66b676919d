#!/bin/sh
# aotscope rng: sites, states, order by stage, and the exit code; as text, as JSON and in a session.
. "$AOT_SRC/tests/sh/lib.sh"
oracle=$AOT_FIXTURES/oracle

run "$AOTSCOPE" rng "$oracle/pain_dropout_under_budget/trace.log.gz" --set activation_memory_budget=0.5
ok "a mask drawn again is an error" exits 1
ok "with both draws named" out "forward: native_dropout, its draw 1 of cpu; backward: native_dropout, its draw 1 of cpu: another state"
run "$AOTSCOPE" rng "$oracle/pain_dropout_under_budget/trace.log.gz"
ok "a saved one is none" exits 0
run "$AOTSCOPE" rng "$oracle/checkpoint_dropout/trace.log.gz"
ok "a threaded state is none" exits 0
ok "and is told" out "with the state before that draw: the same numbers"
ok "a state is told by the draw after it, in both graphs" sh -c 'grep -q "saves the state before the forward.s draw 1" "$1" && grep -q "restores the state before the forward.s draw 1" "$1"' - "$scratch/out"
ok "eager draws the same" out "from the same seed: yes"
run "$AOTSCOPE" rng "$oracle/pain_dropout_decomposed/trace.log.gz"
ok "a decomposition changes the numbers" out "from the same seed: no, aten.native_dropout became aten.rand"
run "$AOTSCOPE" rng "$oracle/replace_random/trace.log.gz" --set backend=inductor_joint
ok "Inductor's are Philox by a seed" out "cpu, Philox by seed"
ok "which is not eager's stream" out "from the same seed: no, they are Philox"
run "$AOTSCOPE" rng "$AOT_FIXTURES/logs/fallback_random.log.gz"
ok "what a log's cache says of fallback_random is read: Inductor draws eager's numbers" out "from the same seed: yes"
run "$AOTSCOPE" check "$AOT_FIXTURES/logs/fallback_random.log.gz"
ok "under it the joint graph keeps native_dropout" out "4 same, 0 differ"
gzip -dc "$AOT_FIXTURES/logs/fallback_random.log.gz" | grep -v fallback_random >"$scratch/unsaid.log"
run "$AOTSCOPE" check "$scratch/unsaid.log"
ok "and tells so where nothing else does" out "4 same, 0 differ"
run "$AOTSCOPE" check "$AOT_FIXTURES/logs/fallback_random.log.gz" --set fallback_random=False
ok "without it another joint graph is traced" out "derived:  rand"
run "$AOTSCOPE" rng "$AOT_FIXTURES/logs/dropout_default.log.gz" --set fallback_random=True
ok "set, a decomposition that keeps the operator" out "from the same seed: yes"
run "$AOTSCOPE" rng "$oracle/linear_relu/trace.log.gz"
ok "a unit that draws nothing is none" out "1 unit, 0 of them random"
run "$AOTSCOPE" rng "$oracle/cuda_checkpoint_two_blocks/trace.log.gz" --json
ok "JSON has the version" out '"format": "aotscope/1"'
ok "JSON has the states" out '"state": 3'
ok "JSON has what became of a value" out '"fate": "threaded"'
run "$AOTSCOPE" rng "$oracle/linear_relu/trace.log.gz" --unit 7
ok "a unit that is not there" exits 2
if command -v sqlite3 >/dev/null 2>&1; then
    "$AOTSCOPE" import "$oracle/checkpoint_dropout/trace.log.gz" -o "$scratch/s.aots" 2>"$scratch/err"
    run sqlite3 "$scratch/s.aots" "select stage, op, generator, use, draw from rng_sites
        where origin = 'recorded' and stage in ('forward', 'backward')"
    ok "a session keeps the generator and the use" out "forward|aten.native_dropout|cpu|saves|1"
    ok "a restored state moves nothing" out "backward|aten.native_dropout|cpu|restores|"
else
    skip "a session keeps the generator and the use" "no sqlite3"
fi
run "$AOTSCOPE" rng "$AOT_FIXTURES/oracle/pain_dropout_under_budget/trace.log.gz" --set activation_memory_budget=0.5
ok "a value drawn again in the backward is not eager's" out "from the same seed: in the forward alone, the backward draws native_dropout again"
run "$AOTSCOPE" rng "$AOT_FIXTURES/oracle/pain_dropout_under_budget/trace.log.gz"
ok "drawn once it is" out "from the same seed: yes"
# Forward and backward alone, as TORCH_LOGS=aot_graphs prints them.
both() {
    "$AOTSCOPE" show "$@" --stage forward; "$AOTSCOPE" show "$@" --stage backward
}
both "$oracle/checkpoint_dropout/trace.log.gz" >"$scratch/both.txt"
run "$AOTSCOPE" rng "$scratch/both.txt"
ok "without a joint graph the recorded forward and backward are read" out "restores the state before the forward's draw 1"
ok "and the unit is random" out "1 unit, 1 of them random: 0 values"
both "$oracle/pain_dropout_under_budget/trace.log.gz" --set activation_memory_budget=0.5 >"$scratch/both.txt"
run "$AOTSCOPE" rng "$scratch/both.txt"
ok "a mask drawn again is seen there too" exits 1
ok "by its name" out "error: redrawn  native_dropout: the backward draws it again"
run "$AOTSCOPE" show "$oracle/replace_random/trace.log.gz" --set backend=inductor_joint --filter random
ok "what is computed from a seed is random" out "prims.inductor_random"
done_testing
