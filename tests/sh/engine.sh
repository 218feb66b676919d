#!/bin/sh
# A backward of Compiled Autograd: the engine's graph, with the backwards of units in it. The log is of
# two linear regions (the second runs twice) and of two heads that are alike.
. "$AOT_SRC/tests/sh/lib.sh"
regions=$AOT_FIXTURES/logs/compiled_autograd_regions.trace.log.gz
mlp=$AOT_FIXTURES/logs/compiled_autograd.trace.log.gz
squeeze() { tr -s ' ' <"$scratch/out" >"$scratch/squeezed"; grep -qF -- "$1" "$scratch/squeezed" || { cat "$scratch/squeezed"; return 1; }; }

run "$AOTSCOPE" show "$regions" --unit '!0/3/0' --engine
ok "the engine's graph is shown" exits 0
ok "with the engine's own nodes" squeeze "4 MulBackward0 5"
ok "a backward is that of its unit" squeeze "5 CompiledFunctionBackward1 16 backward of unit 1 [0/1]"
ok "all of its operators are found, a view as a reshape" squeeze "backward of unit 1 [0/1] forward engine.py:13: all its 10 operators"
ok "the same backward may run again" squeeze "6 CompiledFunctionBackward1 16 backward of unit 1 [0/1] forward engine.py:13, run 2"
ok "a unit with more operators is not taken for one with fewer" squeeze "7 CompiledFunctionBackward0 14 backward of unit 0 [0/0]"
ok "units that are alike are told apart by order" squeeze "3 CompiledFunctionBackward2 8 backward of unit 2 [1/0] head"
ok "the later one is the later" squeeze "2 CompiledFunctionBackward3 7 backward of unit 3 [2/0] other_head"
ok "and it is said that this is a guess" out "by order of compilation"
ok "gradients are accumulated as soon as they are there" squeeze "10 AccumulateGrad call_accumulate_grad_2 gradient of a.bias"
ok "a sum of two runs is still that parameter's" squeeze "9 AccumulateGrad call_accumulate_grad_1 gradient of a.weight"

run "$AOTSCOPE" show "$regions" --unit 4 --engine --json
tr -d ' \n' <"$scratch/out" >"$scratch/json"
has() { grep -qF -- "$1" "$scratch/json" || { cat "$scratch/json"; return 1; }; }
ok "JSON names the unit of a call" has '"aot_id":1,"run":1,"unit":1,"unit_label":"[0/1]","certain":true,"operators":10,"same_operators":10'
ok "and where guesses were needed" has '"aot_id":3,"run":0,"unit":3,"unit_label":"[2/0]","certain":false'
ok "and parts in the graph's order" has '{"call":10,"first":"call_accumulate_grad_2","last":"call_accumulate_grad_2","gradient_of":"a.bias"}'

run "$AOTSCOPE" show "$mlp" --engine
ok "two backwards of one unit, in two graphs" exits 0
ok "both are unit 0's" sh -c '[ "$(grep -c "backward of unit 0 .*: all its 17 operators" "$1")" = 2 ]' - "$scratch/out"
ok "accumulation in the midst of a backward is seen" squeeze "5 AccumulateGrad call_accumulate_grad_1 gradient of 3.weight"
"$AOTSCOPE" import "$mlp" -o "$scratch/s.aots" 2>/dev/null
"$AOTSCOPE" show "$mlp" --engine >"$scratch/log"
"$AOTSCOPE" show "$scratch/s.aots" --engine >"$scratch/session"
ok "a session of it tells the same" diff "$scratch/log" "$scratch/session"

# The unit's backward is not in the input: said, not guessed.
gzip -dc "$regions" | sed 's/"aot_backward_graph": {}\(.*\)"frame_id": 1,/"lost_graph": {}\1"frame_id": 1,/' >"$scratch/lost.log"
run "$AOTSCOPE" show "$scratch/lost.log" --unit 4 --engine
ok "a backward whose unit is not there is not given to one that is alike" squeeze \
    "3 CompiledFunctionBackward2 8 a backward of AOTAutograd whose unit is not in the input"
ok "which keeps its own" squeeze "2 CompiledFunctionBackward3 7 backward of unit 3 [2/0] other_head"
run "$AOTSCOPE" show "$AOT_FIXTURES/logs/train_break.log.gz" --unit 0 --engine
ok "another unit has no engine graph" exits 2
ok "and why" err "no backward of Compiled Autograd"
run "$AOTSCOPE" show "$AOT_FIXTURES/logs/compiled_autograd.trace.log.gz" --unit '!0' --engine
ok "the beginning of a label names its unit" out "# unit 1 [!0/1/0]"
run "$AOTSCOPE" show "$AOT_FIXTURES/logs/train_break.log.gz" --unit 1/ --saved
ok "which must end where a part does" exits 2
run "$AOTSCOPE" show "$(ls "$AOT_FIXTURES"/oracle/transformer_encoder_layer/trace.log*)" --saved --by module
ok "saved bytes by module" out "8.0 KiB         0 B       1  linear1"
done_testing
