#!/bin/sh
# aotscope diff: partitions under two settings, columns, what is on one side only, redacted names.
. "$AOT_SRC/tests/sh/lib.sh"
u=$AOT_FIXTURES/oracle/pain_dropout_under_budget/trace.log.gz
ladder=$AOT_FIXTURES/oracle/pain_mlp_ladder/trace.log.gz

run "$AOTSCOPE" diff "$u" --other-set activation_memory_budget=0.5 --stat
ok "two partitions differ" exits 1
ok "a head says what was asked of the right side" out "trace.log.gz  PyTorch 2.11.0+cu130  --other-set activation_memory_budget=0.5"
ok "their joint graphs are the same" out "[0/0] joint: the same"
ok "the saved bytes of both" out "[0/0] saved: 100.0 KiB, then 64.0 KiB"
ok "rungs, flops and peaks" out "one cut, then knapsack, then a fourth cut; recompute 0, then 524 kFLOP; peaks"
run "$AOTSCOPE" diff "$u" --other-set activation_memory_budget=0.5 --saved
ok "values that flip" out " -  b8[64, 64]    4.0 KiB  getitem_1"
run "$AOTSCOPE" diff "$u" --other-set activation_memory_budget=0.5 --saved --json
ok "the same as JSON" out '"backward_peak"'
ok "each flip with its side" out '"saved_only": "left"'
run "$AOTSCOPE" diff "$u" --other-set activation_memory_budget=1.0
ok "the recorded setting gives the same" exits 0

echo 'recompute op:tanh' >"$scratch/policy"
run "$AOTSCOPE" diff "$u" --other-policy "$scratch/policy" --saved
ok "a policy is a side" exits 1
ok "its value flips" out "tanh"
run "$AOTSCOPE" diff "$u" --other-policy "$scratch/none"
ok "a policy that is not there is an error" exits 2

# Columns: no line but the head is wider than COLUMNS, and what differs is shown to its end.
wide() { awk -v most="$1" 'NR > 2 && length > most { print length ": " $0; bad = 1 } END { exit bad }' "$scratch/out"; }
COLUMNS=80 run "$AOTSCOPE" diff "$u" --stage forward --other-set activation_memory_budget=0.5 --side-by-side
ok "two columns fit the width" wide 80
ok "what only the left has stands alone" grep -qE '^detach: .* +<$' "$scratch/out"
COLUMNS=200 run "$AOTSCOPE" diff "$u" --stage forward --other-set activation_memory_budget=0.5 --side-by-side
ok "wide ones too" wide 200
ok "a line is cut nowhere then" out "torch.ops.aten.native_dropout.default(relu, 0.5, True)   "

run "$AOTSCOPE" diff "$u" "$AOT_FIXTURES/logs/train_break.log.gz" --stat
ok "units of one side only are told" out "is on the right only"
run "$AOTSCOPE" diff "$u" "$u" --redact --stat
ok "both sides are redacted alike" exits 0

# A session and its redacted copy: other names, the same graphs; units of one label are told apart.
gzip -dc "$AOT_FIXTURES/recorded/train.aots.gz" >"$scratch/train.aots"
"$AOTSCOPE" import "$scratch/train.aots" -o "$scratch/shared.aots" --redact >"$scratch/log" 2>&1
run "$AOTSCOPE" diff "$scratch/train.aots" "$scratch/shared.aots" --stat
ok "a redacted copy is the same" exits 0
ok "what has another name is counted" out "unit 0 [0/0] dynamo: the same; 2 inputs of another name"
ok "the third unit of a label meets the third" out "unit 2 [0/0] forward: the same"
run "$AOTSCOPE" diff "$ladder"
ok "a side is missing" err "a second INPUT, --other-stage, --other-unit, --other-set or --other-policy"
run "$AOTSCOPE" diff "$AOT_FIXTURES/logs/ddp_rank_0.log.gz" "$AOT_FIXTURES/logs/ddp_rank_1.log.gz" --stat
ok "ranks of other batches are the same program at other sizes" sh -c '! grep -E " [1-9][0-9]* (removed|added)" "$1"' - "$scratch/out"
ok "which is told of what is saved too" out "0 values of one side only"
ok "with the peaks" out "peaks 11.8 KiB and 17.9 KiB, then 13.6 KiB and 18.5 KiB"
done_testing
