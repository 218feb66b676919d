#!/bin/sh
# aotscope mutation and lint: where inputs are written, what shares memory, graphs that cannot be cut.
. "$AOT_SRC/tests/sh/lib.sh"
oracle=$AOT_FIXTURES/oracle
text=$AOT_FIXTURES/logs/text

run "$AOTSCOPE" mutation "$oracle/mutate_leaf_under_no_grad/trace.log.gz"
ok "a copy_ in the graph is no finding" exits 0
ok "with the condition that put it there" out "all writes happen with gradients disabled"
ok "and the node" out "copy_ writes primals_1"
run "$AOTSCOPE" mutation "$oracle/mutate_no_grad_input/trace.log.gz" --set keep_inference_input_mutations=False
ok "a write by the wrapper names the setting" out "keep_inference_input_mutations is off"
ok "and the output that holds the value" out "output 0 of the graph, copied back by RuntimeWrapper"
run "$AOTSCOPE" mutation "$oracle/pain_read_after_mutation/trace.log.gz"
ok "an input read after its mutation is an error" exits 1
ok "and named" out "primals_1 is saved for the backward, and the forward ends by overwriting it"
run "$AOTSCOPE" mutation "$oracle/batch_norm_running_stats/trace.log.gz" --set activation_memory_budget=0.1
ok "running statistics that a batch norm is given again are not read: no error" exits 0
run "$AOTSCOPE" verify "$oracle/batch_norm_running_stats/trace.log.gz" --set activation_memory_budget=0.1
ok "and its gradients are right" exits 0
run "$AOTSCOPE" show "$oracle/batch_norm_running_stats/trace.log.gz" --stage backward --set activation_memory_budget=0.1
ok "though it is computed again" out "aten._native_batch_norm_legit_functional.default("
run "$AOTSCOPE" mutation "$oracle/synthetic_base_overlap/trace.log.gz"
ok "a synthetic base is told" out "is made in the graph as a view of input 0, the synthetic base"
ok "with the bytes of each" out "bytes 0 to 24 of 40 of storage"
run "$AOTSCOPE" mutation "$oracle/output_aliases_intermediate/trace.log.gz"
ok "a base of intermediates is told" out "output 1 shares memory with base 0 of intermediates"
run "$AOTSCOPE" mutation "$oracle/pain_read_after_mutation/trace.log.gz" --json
ok "JSON has the condition" out '"where": "graph"'
ok "JSON has the finding" out '"rule": "read-after-mutation"'
run "$AOTSCOPE" mutation "$oracle/linear_relu/trace.log.gz"
ok "a unit that mutates nothing is not told" out "1 unit, 0 of them with"

run "$AOTSCOPE" mutation "$AOT_FIXTURES/pt2/mlp_training.pt2"
ok "an exported program's caller writes what it returns" out "buffer n.running_mean: output 1, getitem_3"
run "$AOTSCOPE" trace "$AOT_FIXTURES/pt2/mlp_training.pt2" --path autograd -o "$scratch/pt2"
ok "trace says that an exported program has one path" err "traced for inference, whatever --path says"
run "$AOTSCOPE" mutation "$AOT_FIXTURES/pt2/mlp_training.pt2" --json
ok "in JSON, too" out '"target": "n.running_mean"'
run "$AOTSCOPE" trace "$AOT_FIXTURES/pt2/mlp_training.pt2" -o "$scratch/pt2"
ok "inputs are what the signature says" grep -q "# BUFFER target='n.running_mean' persistent=True" "$scratch/pt2/0.inference.txt"
ok "and so are the buffers that it writes" grep -q "# BUFFER_MUTATION target='n.running_mean'" "$scratch/pt2/0.inference.txt"
run "$AOTSCOPE" lint "$text/infinite_cut.txt"
ok "an infinite cut is a finding" exits 1
ok "with the change that resolves it" out "Remedy: clear MUST_RECOMPUTE on getitem_1 [unbounded-cut]"
run "$AOTSCOPE" lint "$text/invalid_output.txt" --json
ok "an output that depends on a tangent is one" exits 1
ok "with the path" out "add <- mul <- tangents_1"
ok "which is of the unit, not of a node" out '"node": null'
run "$AOTSCOPE" lint "$text/invalid_output.txt" --sarif
ok "SARIF has it too" out '"ruleId": "invalid-graph"'
# Paths of a machine are not in it, and every place is a URI with a line.
mkdir "$scratch/a b"
cp "$text/invalid_output.txt" "$scratch/a b/log.txt"
sed 's/File: m.py/File: \/home\/u\/m.py/' "$text/two_regions.txt" >"$scratch/home.txt"
tool=$(cd "$(dirname "$AOTSCOPE")" && pwd)/$(basename "$AOTSCOPE")
(cd "$scratch" && run "$tool" lint "$scratch/a b/log.txt" home.txt --sarif)
ok "a finding without a source line stands at its graph, relative to the working directory" out '"uri": "a%20b/log.txt"'
ok "a file elsewhere is relative to what all have in common" out '"uri": "m.py"'
refuse_slash() { ! grep -E '"uri": "(/|[a-z]+:)' "$scratch/out"; }
ok "no path is absolute" refuse_slash
run "$AOTSCOPE" lint "$oracle/replace_random/trace.log.gz"
ok "other numbers than eager's are a note" out "[random-not-eager]"
ok "and no failure" exits 0
run "$AOTSCOPE" lint "$text/two_regions.txt"
ok "regions that live together are a note" out "recomputed values of 2 regions live at once: 192 B of"
run "$AOTSCOPE" lint "$oracle/pain_read_after_mutation/trace.log.gz" --redact
ok "findings can be redacted" out "file_1.py"
run "$AOTSCOPE" lint "$AOT_FIXTURES/logs/text/infinite_cut.txt" --rule tangent-strides
ok "a unit that cannot be cut is no success, whatever rule is asked for" exits 2
ok "it is named" err "unit 0 [-] failed: infinite cut: native_dropout"
ok "and counted" out "0 of 1 unit cut, 1 failed"
run "$AOTSCOPE" mutation "$(ls "$AOT_FIXTURES"/oracle/mutate_and_train/trace.log*)"
ok "a write of a training graph has the line of what is written" out "copy_ writes primals_1  units_corner.py:23"
run "$AOTSCOPE" lint "$AOT_FIXTURES/logs/checkpointed_function.log.gz" --rule region-untagged
ok "a run of values without tags inside a region is found, each" test "$(grep -c "stands inside region 2 without a tag" "$scratch/out")" = 3
printf 'save node:add_2\nset activation_memory_budget=0\n' >"$scratch/overruled.policy"
run "$AOTSCOPE" lint "$oracle/pain_mlp_ladder/trace.log.gz" --policy "$scratch/overruled.policy"
ok "a tag of a policy that a budget overrules is warned of" out "add_2 is tagged MUST_SAVE and recomputed"
ok "with what helps" out "any budget above it keeps MUST_SAVE"
run "$AOTSCOPE" explain "$oracle/pain_mlp_ladder/trace.log.gz" add_2 --policy "$scratch/overruled.policy"
ok "explain says what overrules it" out "budget 0 saves inputs alone and overrules every tag"

# ---- attempts at a compile that Dynamo gave up: the same log without the halves, then as the next attempt ----
{ gzip -dc "$oracle/pain_dropout_under_budget/trace.log.gz" |
      awk '/^V[0-9]/ { skip = /[{]"aot_(forward|backward)_graph"/ } !skip'
  gzip -dc "$oracle/pain_dropout_under_budget/trace.log.gz" | sed 's/"attempt": 0/"attempt": 1/'; } >"$scratch/restart.log"
run "$AOTSCOPE" show "$scratch/restart.log" --units
ok "an attempt that was given up says what it was restarted as" out "abandoned: restarted as [0/0_1]"
ok "and the last one does not" sh -c '[ "$(grep -c abandoned "$1")" = 1 ]' - "$scratch/out"
run "$AOTSCOPE" show "$scratch/restart.log" --units --json
ok "as JSON the unit's number" out '"restarted_as": 1'
run "$AOTSCOPE" info "$scratch/restart.log"
ok "info lists them" out "abandoned: restarted as [0/0_1]  (0 [0/0])"
run "$AOTSCOPE" lint "$scratch/restart.log" --set activation_memory_budget=0.5 --level error
ok "lint tells an error of the attempt that is used" sh -c '[ "$(grep -c "error: native_dropout" "$1")" = 1 ]' - "$scratch/out"
ok "and names the other" out "# unit 0 [0/0] abandoned: restarted as [0/0_1]"
"$AOTSCOPE" import "$scratch/restart.log" -o "$scratch/restart.aots" 2>"$scratch/err"
run "$AOTSCOPE" show "$scratch/restart.aots" --units
ok "a session knows it too" out "abandoned: restarted as [0/0_1]"
{ cat "$scratch/restart.log"; gzip -dc "$oracle/pain_dropout_under_budget/trace.log.gz"; } >"$scratch/again.log"
run "$AOTSCOPE" show "$scratch/again.log" --units
ok "another run in the same log is no restart" sh -c '[ "$(grep -c abandoned "$1")" = 1 ]' - "$scratch/out"
half=$scratch/half.log # without the forward
awk '/^V[0-9]/ { n += /[{]"dynamo_start"/ } n < 2' "$scratch/restart.log" >"$half"
{ sed 's/"attempt": 0/"attempt": 1/' "$half"; cat "$half"; sed 's/"attempt": 0/"attempt": 2/' "$half"; } >"$scratch/runs.log"
run "$AOTSCOPE" show "$scratch/runs.log" --units
ok "nor is what the next run was restarted as" sh -c '[ "$(awk "/abandoned/ { print \$1 }" "$1")" = 1 ]' - "$scratch/out"
run "$AOTSCOPE" show "$AOT_FIXTURES/logs/compiled_again.log.gz" --units
ok "an attempt may begin at another line" out "abandoned: restarted as [0/0_1]"
run "$AOTSCOPE" show "$AOT_FIXTURES/trace/float_restart/trace.log.gz" --units
ok "an attempt may have no function's name" out "abandoned: restarted as [0/0_1]"
done_testing
