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

# NaN begins at log, not where its result is used. A number of 0.5 and one that is negative.
cat >"$scratch/nan.txt" <<'EOF'
class <lambda>(torch.nn.Module):
    def forward(self, arg0_1: "f32[2][1]cpu"):
        sub: "f32[2][1]cpu" = torch.ops.aten.sub.Tensor(arg0_1, 2);  arg0_1 = None
        log: "f32[2][1]cpu" = torch.ops.aten.log.default(sub);  sub = None
        mul: "f32[2][1]cpu" = torch.ops.aten.mul.Tensor(log, 2);  log = None
        return (mul,)
EOF
printf '{"inputs": {"arg0_1": {"dtype": "float32", "shape": [2], "data": [3.0, 1.0]}}}' >"$scratch/v.json"
run "$AOTSCOPE" replay "$scratch/nan.txt" --values "$scratch/v.json"
ok "NaN is a finding" exits 1
ok "found where it begins" sh -c '[ "$(grep -c "stopped by nan" "$1")" = 1 ] && grep -q "inference  log .*stopped by nan" "$1"' - "$scratch/out"
ok "counted, with its place" out "NaN 1  Inf 0  first at 1"
run "$AOTSCOPE" replay "$scratch/nan.txt" --values "$scratch/v.json" --steps 1
ok "--steps tells one node after the other" out "1 -1"
ok "and finds nothing there" exits 0
done_testing
