#!/bin/sh
# replay: a recorded run of PyTorch 2.11 run again node by node. Masks, states and peaks are what was recorded.
. "$AOT_SRC/tests/sh/lib.sh"
s=$scratch/train.aots
gzip -dc "$AOT_FIXTURES/recorded/train.aots.gz" >"$s" || exit 99

run "$AOTSCOPE" replay "$s" --unit 0
ok "a dropout that is drawn twice is a finding" exits 1
ok "its mask is the recorded one, forward" out "2 values compared with the recorded run: 0 differ"
ok "the backward's mask is compared with the forward's, element by element" \
    out "forward's: 4 of 8 elements DIFFER, first at 2: 1, now 0"
ok "it stops at the node that draws again, and not at what follows from it" \
    sh -c '[ "$(grep -c "stopped by diff" "$1")" = 1 ] && grep -q "^backward  native_dropout .*stopped by diff" "$1"' - "$scratch/out"
ok "the forward's peak is the one that was counted when it ran" out "forward: peak 184 B"
ok "and the backward's" out "backward: peak 256 B"
run "$AOTSCOPE" replay "$s" --unit 0 --break draws --format json
ok "JSON has the generator before and after" out '"as_recorded": true'
tr -d ' \n' <"$scratch/out" >"$scratch/flat"
ok "with the numbers that were taken" grep -qF '"drawn":16' "$scratch/flat"
ok "and which elements differ" grep -qF '"forward":{"same":false,"differ":4,"first":2' "$scratch/flat"
run "$AOTSCOPE" replay "$s" --unit 1 --break draws
ok "under checkpoint the mask is drawn again from the saved state" exits 0
ok "the same mask as the forward's" out "6 values computed again in the backward: 0 differ"
ok "and as the recorded one" out "2 values compared with the recorded run: 0 differ"
ok "the node is named that draws from the saved state" out "backward  run_with_rng_state"
run "$AOTSCOPE" replay "$s" --unit 1 --format json
ok "peaks with the saved state are those that were counted" sh -c \
    'tr -d " \n" <"$1" | grep -qF "\"forward_peak\":5240,\"backward_peak\":5272"' - "$scratch/out"
run "$AOTSCOPE" replay "$s" --unit 1 --call 1
ok "of the second call, too" out "2 values compared with the recorded run: 0 differ"
"$AOTSCOPE" import "$s" -o "$scratch/full.aots" >/dev/null 2>&1
run "$AOTSCOPE" replay "$scratch/full.aots" --unit 1
ok "a whole session made of it is replayed the same" out "2 values compared with the recorded run: 0 differ"
run "$AOTSCOPE" replay "$s" --unit 2
ok "attention and two dropouts reproduce their masks" out "2 values compared with the recorded run: 0 differ"
run "$AOTSCOPE" replay "$s" --unit 4
ok "a unit that draws nothing passes" exits 0
run "$AOTSCOPE" replay "$s" --unit 0 --break 'bytes>200' --break op:gelu
ok "live bytes above a limit are a finding" exits 1
ok "it stops where they grow above it" out "stopped by bytes>200"
ok "a selection stops, too" out "stopped by op:gelu"
run "$AOTSCOPE" replay "$s" --unit 4 --break node:cos
ok "a stop at a node is no finding" exits 0
run "$AOTSCOPE" replay "$s" --unit 0 --break 'bytes>many'
ok "a size that is none is an error" exits 2
ok "that says what to write" err "8MiB"
run "$AOTSCOPE" replay "$s" --unit 0 --call 9
ok "a call that was not recorded is an error" err "no forward call 9"

# Numbers drawn between forward and backward; sizes that change; an injected mistake.
r=$scratch/rng.aots
gzip -dc "$AOT_FIXTURES/recorded/rng.aots.gz" >"$r" || exit 99
run "$AOTSCOPE" check "$r"
ok "what a recorder kept follows from its graphs" exits 0
ok "but for bodies that PyTorch cuts apart, which are left out with the reason" out "cuts the bodies of nested_compile_region apart"
run "$AOTSCOPE" replay "$r" --unit 0
ok "a program that draws between forward and backward is told" \
    out "between forward and backward the generator gave 3 numbers"
ok "its mask in the backward is another, at these elements" out "forward's: 5 of 8 elements DIFFER, first at 0: 1, now 0"
ok "both are what PyTorch drew" out "2 values compared with the recorded run: 0 differ"
run "$AOTSCOPE" replay "$r" --unit 1 --break draws
ok "a dynamic size is that of the call" out "b8[3, 4]"
run "$AOTSCOPE" replay "$r" --unit 1 --call 1 --break draws
ok "of another call another" out "b8[5, 4]"
ok "and its mask is the recorded one" out "1 value compared with the recorded run: 0 differ"
run "$AOTSCOPE" show "$r" --unit 2 --calls
ok "the recorder sees what is drawn in a nested region" out "draws invoke_subgraph_4/native_dropout[1]"
run "$AOTSCOPE" show "$r" --unit 3 --calls
ok "and in a branch of cond" out "draws cond/native_dropout[1]"
run "$AOTSCOPE" replay "$r" --unit 3 --break draws
ok "a body draws from the recorded state, forward and backward" \
    sh -c '[ "$(grep -c "state before: as recorded" "$1")" = 2 ] && ! grep -q "when recorded it took" "$1"' - "$scratch/out"
run "$AOTSCOPE" replay "$r" --unit 2 --break draws
ok "so does each call of a nested region" \
    sh -c '[ "$(grep -c "state before: as recorded" "$1")" = 2 ] && ! grep -q "when recorded it took" "$1"' - "$scratch/out"
if command -v sqlite3 >/dev/null; then
    cp "$r" "$scratch/wrong.aots"
    sqlite3 "$scratch/wrong.aots" "UPDATE generator SET state = (SELECT state FROM generator WHERE call = 1 AND moment = 'before')
        WHERE call = 2 AND moment = 'before' AND device = 'cpu'"
    run "$AOTSCOPE" replay "$scratch/wrong.aots" --unit 0
    ok "a state that is not the recorded one is found" exits 1
    ok "at the node that draws from it" out "state before: ANOTHER than recorded"
    ok "by the numbers that it gives, element by element" out "recorded: 5 of 8 elements DIFFER, first at 0"
    cp "$r" "$scratch/wrong.aots"
    sqlite3 "$scratch/wrong.aots" "UPDATE blob SET data = x'0000010001000000' WHERE id = (SELECT value FROM random_output
        WHERE call = 1 AND output = 1)"
    run "$AOTSCOPE" replay "$scratch/wrong.aots" --unit 0
    ok "a recorded mask that the generator does not give is found" out "forward  native_dropout  aten.native_dropout  record_rng.py:16  stopped by diff"
    cp "$r" "$scratch/wrong.aots"
    sqlite3 "$scratch/wrong.aots" "UPDATE random_output SET after = (SELECT after FROM random_output WHERE call = 2)
        WHERE call = 1"
    run "$AOTSCOPE" replay "$scratch/wrong.aots" --unit 0 --break draws
    ok "a node that took other numbers drew from another stream" out "when recorded it took 35: the stream of a vendor"
else
    skip "an injected mistake" "no sqlite3 shell"
fi

# Out of memory. The figures are those of memory --fits.
run "$AOTSCOPE" replay "$s" --unit 2 --device-memory 6.2KiB
ok "a device that is too small is a finding" exits 1
ok "the node is named where memory ends" out "out of memory: backward, mm_2: 6.3 KiB live, 5.8 KiB before it"
ok "what lives there is listed by kind" out "by kind"
ok "and the largest values" out "768 B  primals_5  f32[24, 8]"
ok "the budget at which it fits is found" out "does not fit 6.2 KiB at its budget of 1; fits at 0.8, recompute 0"
ok "with what is no longer saved" out "no longer saved"
"$AOTSCOPE" replay "$s" --unit 2 --device-memory 6.2KiB --dry >"$scratch/dry"
ok "the simulation says the same as the run" cmp "$scratch/dry" "$scratch/out"
run "$AOTSCOPE" replay "$s" --unit 2 --device-memory 1MiB
ok "a larger one suffices" exits 0
run "$AOTSCOPE" replay "$s" --device-memory large
ok "a size that is none is an error, with what to write" err "24GiB"

cat >"$scratch/nan.txt" <<'EOF'
class <lambda>(torch.nn.Module):
    def forward(self, arg0_1: "f32[2][1]cpu"):
        sub: "f32[2][1]cpu" = torch.ops.aten.sub.Tensor(arg0_1, 2);  arg0_1 = None
        log: "f32[2][1]cpu" = torch.ops.aten.log.default(sub);  sub = None
        mul: "f32[2][1]cpu" = torch.ops.aten.mul.Tensor(log, 2);  log = None
        return (mul,)
EOF
printf '{"inputs": {"arg0_1": {"dtype": "float32", "shape": [2], "data": [3.0, 1.0]}}}' >"$scratch/v.json"
# An input that the backward computes with again is written in between.
cat >"$scratch/written.txt" <<'EOF'
# aotscope: requires_grad L_w_
# aotscope: set activation_memory_budget=0
class GraphModule(torch.nn.Module):
    def forward(self, L_b_: "f32[2][1]cpu", L_w_: "f32[2][1]cpu"):
        l_b_ = L_b_
        l_w_ = L_w_
        sin: "f32[2][1]cpu" = l_b_.sin()
        mul: "f32[2][1]cpu" = sin * l_w_;  sin = l_w_ = None
        add_: "f32[2][1]cpu" = l_b_.add_(1.0);  l_b_ = None
        return (mul,)
EOF
b='{"dtype": "float32", "shape": [2], "data": [0.0, 0.5]}'
w='{"dtype": "float32", "shape": [2], "data": [3.0, 4.0]}'
printf '{"inputs": {"L_b_": %s, "L_w_": %s}, "tangents": []}' "$b" "$w" >"$scratch/w.json"
run "$AOTSCOPE" replay "$scratch/written.txt" --wrappers --values "$scratch/w.json"
ok "a recomputation of an overwritten input is found" exits 1
ok "at its node, with the value that it should have" out "forward's: 2 of 2 elements DIFFER, first at 0: 0, now 0.84147"
run "$AOTSCOPE" replay "$scratch/written.txt"
ok "without wrappers, on made-up inputs, too" out "backward  sin  aten.sin  stopped by diff"
run "$AOTSCOPE" replay "$s" --unit 1 --wrappers
ok "through the wrappers the masks are the recorded ones" out "2 values compared with the recorded run: 0 differ"
run "$AOTSCOPE" replay "$scratch/nan.txt" --wrappers
ok "a unit of which nothing says how it is called is an error" exits 2

# A script steps, goes back, prints.
printf 'step 2\nback\nbreak diff\ncontinue\nprint native_dropout\ninfo live\ninfo breaks\nnonsense\n' >"$scratch/script"
"$AOTSCOPE" replay "$s" --unit 0 --script - <"$scratch/script" >"$scratch/out" 2>"$scratch/err"
code=$?
ok "a script with an unknown command is an error" exits 2
ok "that names its line and what there is" err "line 8: 'nonsense'"
ok "step and back tell the node" sh -c '[ "$(grep -c "^forward  t  " "$1")" = 1 ] && [ "$(grep -c "^forward  addmm  " "$1")" = 1 ]' - "$scratch/out"
ok "continue goes to the break" out "backward  native_dropout  aten.native_dropout  stopped by diff"
ok "print tells both sides' values" sh -c '[ "$(grep -c "^forward  native_dropout  " "$1")" = 1 ]' - "$scratch/out"
ok "live bytes are told" out "live 216 B of a peak of 256 B"
ok "breaks are listed" out "0  diff"

# NaN begins at log, not where its result is used.
run "$AOTSCOPE" replay "$scratch/nan.txt" --values "$scratch/v.json"
ok "NaN is a finding" exits 1
ok "found where it begins" sh -c '[ "$(grep -c "stopped by nan" "$1")" = 1 ] && grep -q "inference  log .*stopped by nan" "$1"' - "$scratch/out"
ok "counted, with its place" out "NaN 1  Inf 0  first at 1"
run "$AOTSCOPE" replay "$scratch/nan.txt" --values "$scratch/v.json" --steps 1
ok "--steps tells one node after the other" out "1 -1"
ok "and finds nothing there" exits 0

# Graphs that higher-order operators run: node by node, the operator behind them.
gzip -dc "$AOT_FIXTURES/oracle/cond_branches/trace.log.gz" >"$scratch/cond.log" || exit 99
printf 'break cond/true_graph_0/mul\ncontinue\nback\ngoto cond_1/true_graph_1/cos\n' >"$scratch/script"
run "$AOTSCOPE" replay "$scratch/cond.log" --script "$scratch/script"
ok "a break within a body holds" out "forward  cond/true_graph_0/mul  aten.mul.Tensor"
ok "back goes within it" out "forward  cond/true_graph_0/sin  aten.sin"
ok "goto names a node of the backward's body" out "backward  cond_1/true_graph_1/cos  aten.cos"
run "$AOTSCOPE" replay "$scratch/cond.log" --steps 7
ok "steps pass through the body, then the operator" sh -c \
    'grep -E "^forward  cond( |/)" "$1" | tr -s " " | cut -d" " -f2 | tr "\n" " " | grep -qx "cond/true_graph_0/sin cond/true_graph_0/mul cond "' - "$scratch/out"

run "$AOTSCOPE" replay "$s" --unit 0 --steps 1
ok "inputs that nobody recorded are made up, which is said first" \
    out "MADE UP (seed 0): values, NaN and what follows from them need not be the run's; record with aotscope_record.session(..., record_inputs=True)"

# Inputs that the program recorded.
i=$scratch/inputs.aots
gzip -dc "$AOT_FIXTURES/recorded/inputs.aots.gz" >"$i" || exit 99
run "$AOTSCOPE" replay "$i" --steps 9
ok "small inputs are those of the call" out "# inputs: 2 of 3 as they were recorded, 1 of 3 MADE UP (seed 0)"
ok "those that it did not keep are made up, with the remedy" out "need not be the run's; record_inputs=BYTES of aotscope_record.session keeps larger ones, or give --values"
ok "the values follow from them" out "0.84147 1.8186 0.42336"
run "$AOTSCOPE" replay "$i" --steps 1 --format json
tr -d ' \n' <"$scratch/out" >"$scratch/flat"
ok "JSON counts them" grep -qF '"inputs":{"n":3,"given":0,"recorded":2,"made_up":1,"remedy":"record' "$scratch/flat"
run "$AOTSCOPE" replay "$i" --call 1 --steps 1
ok "of another call those of that one" out "-0.7568"
"$AOTSCOPE" import "$i" -o "$scratch/all.aots" >/dev/null 2>&1
run "$AOTSCOPE" replay "$scratch/all.aots" --steps 9
ok "a session made of it has them, too" out "0.84147 1.8186 0.42336"
# A mask is filled with -inf on purpose.
cat >"$scratch/mask.txt" <<'END'
class joint_helper(torch.nn.Module):
    def forward(self, primals, tangents):
        primals_1: "f32[2, 2][2, 1]cpu"; tangents_1: "f32[2, 2][2, 1]cpu";
        primals_1, tangents_1, = fx_pytree.tree_flatten_spec([primals, tangents], self._in_spec)
        full: "f32[2, 2][2, 1]cpu" = torch.ops.aten.full.default([2, 2], -inf, dtype = torch.float32, layout = torch.strided, device = device(type='cpu'), pin_memory = False)
        triu: "f32[2, 2][2, 1]cpu" = torch.ops.aten.triu.default(full, 1)
        add: "f32[2, 2][2, 1]cpu" = torch.ops.aten.add.Tensor(primals_1, triu)
        exp: "f32[2, 2][2, 1]cpu" = torch.ops.aten.exp.default(add)
        mul: "f32[2, 2][2, 1]cpu" = torch.ops.aten.mul.Tensor(tangents_1, exp)
        return pytree.tree_unflatten([exp, mul], self._out_spec)
END
run "$AOTSCOPE" replay "$scratch/mask.txt"
ok "an infinity that an argument writes is no finding" exits 0
run "$AOTSCOPE" replay "$scratch/mask.txt" --break full
ok "of a value without finite elements nothing is averaged" out "no finite element  NaN 0  Inf 4"
sed 's/aten.full.default(\[2, 2\], -inf, /aten.full.default([2, 2], 1e30, /; s/aten.exp.default(add)/aten.pow.Tensor_Scalar(add, 2.0)/' "$scratch/mask.txt" >"$scratch/over.txt"
run "$AOTSCOPE" replay "$scratch/over.txt"
ok "one that is computed is" exits 1
done_testing
