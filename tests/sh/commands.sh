#!/bin/sh
# import, info, check and show on bundled logs: what they print, their exit codes, their JSON.
. "$AOT_SRC/tests/sh/lib.sh"
logs=$AOT_FIXTURES/logs
one=$logs/dropout_default.log.gz
two=$logs/train_break.log.gz
s=$scratch/s.aots
lines() { [ "$(wc -l <"$scratch/out")" -eq "$1" ] || { echo "not $1 lines"; cat "$scratch/out"; return 1; }; }

run "$AOTSCOPE" import "$two" -o "$s"
ok "import writes a session" exits 0
ok "import prints nothing to standard output" silent out
ok "import says what it found" err "2 units, 8 graphs"
ok "import compares what was recorded" err "8 same, 0 differ"
run "$AOTSCOPE" import "$two"
ok "import without -o is a usage error" exits 2
run "$AOTSCOPE" import "$scratch/nothing.log" -o "$scratch/n.aots"
ok "import of a file that is not there exits with 2" exits 2
ok "import that read nothing leaves no session" [ ! -e "$scratch/n.aots" ]
echo "keep me, I am no session" >"$scratch/letter.txt"
run "$AOTSCOPE" import "$two" -o "$scratch/letter.txt"
ok "import does not overwrite other files" exits 2
ok "the other file is untouched" grep -q "keep me" "$scratch/letter.txt"
run "$AOTSCOPE" import "$one" "$scratch/nothing.log" -o "$scratch/part.aots"
ok "import of a good and a bad input exits with 2" exits 2
run "$AOTSCOPE" show "$scratch/part.aots" --units
ok "and keeps the good one" out "[0/0]"

for input in "$two" "$s"; do
    run "$AOTSCOPE" check "$input"
    ok "check exits with 0 where all is the same" exits 0
    ok "check counts" out "8 same, 0 differ, 0 left out"
    run "$AOTSCOPE" show "$input" --units
    ok "show --units lists both units" lines 3
    run "$AOTSCOPE" show "$input" --unit 1/1 --saved
    ok "show --saved has a head" out "name "
    ok "show --saved gives name, bytes, type and reason" grep -qE "^addmm +[0-9.]+ [KM]?i?B +f32.* +cannot be" "$scratch/out"
    ok "show --saved gives the reason" out "cannot be recomputed: not in recomputable allowlist"
    ok "show --saved gives symbolic shapes" out "f32[16*s77, 128]"
    ok "show --saved ends with both totals" out "without what shares memory with an input"
done
# Two of its saved values are views of one storage, which counts once in each sum.
shared=$AOT_FIXTURES/export/embedding_attention.log.gz
run "$AOTSCOPE" show "$shared" --saved --by module --json
own_adds_up()
{
    awk -F'[:,]' '/"own_bytes"/ { sum += $2 } /"saved_new_bytes"/ { sum += 10000 * $2 } END { print sum }' "$scratch/out" >"$scratch/sums"
    grep -qx "$1" "$scratch/sums" || { cat "$scratch/sums"; return 1; }
}
ok "what values have of their own adds up to the new bytes: groups" own_adds_up 1524
run "$AOTSCOPE" show "$shared" --saved --json
ok "values" own_adds_up 15241524
run "$AOTSCOPE" export "$shared" --what saved -f json
ok "an export" own_adds_up 15241524
run "$AOTSCOPE" show "$shared" --saved --csv
ok "a table" [ "$(sed 1d "$scratch/out" | awk -F, '{ sum += $NF } END { print sum }')" = 1524 ]
run "$AOTSCOPE" partition "$two" -o "$scratch/cut-log"
ok "partition of a log" exits 0
ok "partition of what needs no warning writes none" [ "$(grep -cv assumed: "$scratch/err")" -eq 1 ]
run "$AOTSCOPE" partition "$s" -o "$scratch/cut-session"
ok "partition of a session" exits 0
ok "gives what the log gives" diff -r "$scratch/cut-log" "$scratch/cut-session"
run "$AOTSCOPE" sweep "$two" --budgets 0:1:0.5 -o "$scratch/sweep-log"
run "$AOTSCOPE" sweep "$s" --budgets 0:1:0.5 -o "$scratch/sweep-session"
ok "sweep of a session" exits 0
ok "gives what that of the log gives" cmp "$scratch/sweep-log" "$scratch/sweep-session"
run "$AOTSCOPE" memory "$two" --set activation_memory_budget=0.5 --free-saved -o "$scratch/memory"
peaks_agree()
{
    # the points are written with their keys in a fixed order: budget first, peak_bytes last
    awk -F'[:,]' '/"budget"/ { b = $2 + 0 } /"peak_bytes"/ && b == 0.5 { print $2 + 0 }' "$scratch/sweep-log" >"$scratch/peaks"
    awk -F'[:,]' '/"peak":/ { v = $2 + 0; if (n++ % 3 == 1) print (v > last ? v : last); last = v }' "$scratch/memory" |
        diff "$scratch/peaks" - && [ -s "$scratch/peaks" ] && ! grep -qx 0 "$scratch/peaks"
}
ok "the peak of a point is that of memory" peaks_agree
run "$AOTSCOPE" memory "$two" -o "$scratch/memory-log"
run "$AOTSCOPE" memory "$s" -o "$scratch/memory-session"
ok "memory of a session" exits 0
ok "gives what that of its log gives" cmp "$scratch/memory-log" "$scratch/memory-session"
run "$AOTSCOPE" partition "$two" -o "$scratch/cut" --static-inputs 0,999
ok "an index of no input is an error" exits 2
ok "the index is named" err "there is no input 999"
run "$AOTSCOPE" partition "$logs/replace_random.log.gz" -o "$scratch/cut"
ok "partition warns where passes ran after the joint graph" err "unit 0 [0/0]: not the graphs that ran"
run "$AOTSCOPE" show "$logs/replace_random.log.gz" --saved
ok "show --saved warns, too" err "inductor_seeds"
ok "and shows what the joint graph gives" out "saved: 1 value"
run "$AOTSCOPE" show "$logs/replace_random.log.gz" --stage forward
ok "a recorded stage needs no warning" silent err
gunzip -c "$one" | sed 's/torch.ops.aten.sum.default(cos)/torch.ops.aten.sum.default(sin)/' >"$scratch/edited.log"
run "$AOTSCOPE" check "$scratch/edited.log"
ok "check exits with 1 on a difference" exits 1
ok "check shows the derived line" out "derived:"
ok "check names file and line" out "edited.log:"
run "$AOTSCOPE" check --json "$one" "$logs/replace_random.log.gz"
ok "check --json has the format" out '"format": "aotscope/1"'
ok "check goes through Inductor's joint-graph passes and says so" out "through Inductor's joint-graph passes"
left=$scratch/left.log
gzip -dc "$logs/replace_random.log.gz" | sed 's/aten\.mul\.Tensor(inductor_random/mine.mul.Tensor(inductor_random/' >"$left"
run "$AOTSCOPE" check "$left" --json
ok "check --json gives the reason of what is left out" out "torch.ops.mine.mul.Tensor"
ok "graphs that are left out are no difference" exits 0
run "$AOTSCOPE" check --strict "$one"
ok "check --strict exits with 0 where all is the same" exits 0
run "$AOTSCOPE" check --no-trace "$logs/inference_mlp.log.gz"
ok "check of an input with nothing to compare exits with 0" exits 0
ok "and says so in its last line" out "0 left out; nothing was compared"
run "$AOTSCOPE" check --strict --no-trace "$logs/inference_mlp.log.gz"
ok "check --strict exits with 1 if nothing was compared" exits 1
run "$AOTSCOPE" check --strict "$two" "$left"
ok "or if a graph was left out" exits 1
ok "check names unit, label and function" out "unit 0 [0/0] "
run "$AOTSCOPE" check "$one" "$scratch/nothing.log"
ok "check exits with 2 if an input cannot be read" exits 2

run "$AOTSCOPE" passes "$logs/replace_random.log.gz" --json -o "$scratch/passes"
ok "passes writes a graph for each joint graph" [ -s "$scratch/passes/0.joint_passes.txt" ]
ok "passes names what made a node" out '"node": "inductor_seeds_default"'
ok "and by which pass" out '"pass": "fuse_seed_creation"'
run "$AOTSCOPE" passes "$logs/replace_random.log.gz" --set fallback_random=True -o "$scratch/passes"
ok "passes leaves random numbers under fallback_random" [ "$(grep -c aten.rand.default "$scratch/passes/0.joint_passes.txt")" -eq 1 ]
run "$AOTSCOPE" show "$logs/replace_random.log.gz" --stage joint_passes --set backend=inductor_joint
ok "show derives the stage joint_passes for Inductor's backend" out "prims.inductor_random.default"
run "$AOTSCOPE" show "$logs/replace_random.log.gz" --stage joint_passes
ok "and says how to get it where there is none" err "--set backend=inductor_joint"

run "$AOTSCOPE" show "$one" --stage forward
ok "show prints a stage" out "class GraphModule(torch.nn.Module):"
run "$AOTSCOPE" show "$one" --stage forward --set activation_memory_budget=0
ok "show derives a recorded stage anew under other settings" exits 0
ok "and it is another graph" out "primals_1,  # SavedForBackwardsAOTOutput(idx=0)"
run "$AOTSCOPE" show "$one" --stage aten
ok "show traces the Dynamo graph for a stage above the joint graph" out "torch.ops.aten."
run "$AOTSCOPE" show "$one" --stage inference
ok "show of a missing stage exits with 2" exits 2
ok "show says why a stage is missing" err "no inference graph:"
run "$AOTSCOPE" show "$one" --stage nonsense
ok "show lists the stages there are" err "joint_cse"
run "$AOTSCOPE" show "$one" --unit 7
ok "show counts units from 0" err "there is no unit 7"
run "$AOTSCOPE" show "$logs/ddp_rank_0.log.gz" "$logs/ddp_rank_1.log.gz" --unit 0/0
ok "a label of two units is not guessed" err "'0/0' means 2 units"
run "$AOTSCOPE" show "$logs/ddp_rank_0.log.gz" "$logs/ddp_rank_1.log.gz" --unit "[0/0] rank 1" --stage joint
ok "a whole label is taken" out "tangents_1"
run "$AOTSCOPE" show "$logs/three_units.stderr.gz" --saved
ok "a saved view of an input is said to be one" out "view of primals_2"
ok "a view of what cannot be recomputed says both" [ "$("$AOTSCOPE" show "$two" --saved | grep -c 'view of gelu, which cannot be recomputed: materialized')" -eq 2 ]
run "$AOTSCOPE" show "$one" --saved --csv
ok "show --csv has a head and a row for each value" lines 4
ok "its rows carry number, label and function of the unit" out "unit,label,function,position,name,"
run "$AOTSCOPE" show "$one" --saved --json
ok "show --json has the format" out '"format": "aotscope/1"'
ok "show --json has bytes as numbers" out '"bytes": 32,'

run "$AOTSCOPE" info "$two"
ok "info names the writer" out "PyTorch 2.11.0"
ok "info counts the recorded graphs" out "2 dynamo, 2 joint, 2 forward, 2 backward"
run "$AOTSCOPE" info "$one" --set cse=False
ok "info names settings that differ" out "cse = False, default True"
ok "info tells recorded settings from missing ones" sh -c '! grep -q "not recorded" "$1"' - "$scratch/out"
run "$AOTSCOPE" info "$two"
ok "notes of one kind share a line with a count" out "(and 2 more of this kind)"
ok "unless all are asked for" [ "$("$AOTSCOPE" info "$two" --notes | grep -c checksum:)" -eq 3 ]
mkdir -p "$scratch/runs/first" "$scratch/runs/empty"
cp "$one" "$scratch/runs/first/run.log.gz"
echo "shopping list" >"$scratch/runs/first/list.txt"
run "$AOTSCOPE" info "$scratch/runs/first"
ok "a note without a line shows none" out "list.txt: skipped:"
run "$AOTSCOPE" info "$scratch/runs"
ok "a folder of folders is an error" exits 2
ok "that names the folders with logs" err "open one of first"
run "$AOTSCOPE" info "$logs/ddp"
ok "info names units by number and label" out "0 [0/0] rank 0"
run "$AOTSCOPE" info "$two"
ok "info gives the budget in force" out "activation_memory_budget = 1.0, the default"
run "$AOTSCOPE" info "$two" --set activation_memory_budget=0.3
ok "--set hides no recorded graph" out "2 dynamo, 2 joint, 2 forward, 2 backward"
ok "what is derived under --set is said" out "forward: recorded, and derived under other settings"
ok "and is not called missing" sh -c '! grep -q "not in the input" "$1"' - "$scratch/out"
run "$AOTSCOPE" info "$logs/three_units.stderr.gz"
ok "info says that a log records no settings" out "not recorded: PyTorch's defaults are assumed"
ok "and does not call them defaults" sh -c '! grep -q "^  none" "$1"' - "$scratch/out"
gunzip -c "$logs/three_units.stderr.gz" >"$scratch/three.stderr"
sed -n 16,38p "$scratch/three.stderr" >"$scratch/titled.txt"
run "$AOTSCOPE" info "$scratch/titled.txt"
ok "a paste that starts at a title is read" out "recorded graphs: 1 joint"
sed -n 17,38p "$scratch/three.stderr" >"$scratch/untitled.txt"
run "$AOTSCOPE" info "$scratch/untitled.txt"
ok "one that starts at the class, too" out "recorded graphs: 1 joint"
run "$AOTSCOPE" partition "$scratch/untitled.txt" -o "$scratch/cut-untitled"
run "$AOTSCOPE" partition "$scratch/three.stderr" -o "$scratch/cut-three"
ok "and it is the same graph" cmp "$scratch/cut-untitled/0.backward.txt" "$scratch/cut-three/0.backward.txt"
sed -n 18,41p "$scratch/three.stderr" >"$scratch/body.txt"
run "$AOTSCOPE" info "$scratch/body.txt"
ok "a graph without its first lines is noted" out "body.txt:1: skipped: a graph of aot_joint_graph whose first"
ok "a forward that is cut off is no inference graph" out "recorded graphs: 1 forward"
printf 'PK\003\004....' >"$scratch/x.pt2"
run "$AOTSCOPE" info "$scratch/x.pt2"
ok "a zip that was cut says so, and what to do" err "its directory is not there (Not a zip archive): it was cut or changed; copy it or save it again"
pt2=$AOT_FIXTURES/pt2
run "$AOTSCOPE" info "$pt2/two_models.pt2"
ok "a .pt2 archive is read: two programs, two units" out "2 units: 0 autograd, 0 inference, 2 export"
ok "and who wrote it" out "PyTorch 2.11.0"
run "$AOTSCOPE" "$pt2/mlp_decomposed.pt2"
ok "opened without a terminal, it is summed up" out "forward model.py:"
run "$AOTSCOPE" show "$pt2/mlp_decomposed.pt2"
ok "show prints its graph" cmp "$scratch/out" "$pt2/mlp_decomposed.graph.txt"
run "$AOTSCOPE" show "$pt2/mlp_decomposed.pt2" --record exported_program_text
ok "and what print(ep) prints" cmp "$scratch/out" "$pt2/mlp_decomposed.txt"
ok "a pipe is read as well" sh -c '"$1" show - <"$2" | cmp - "$3"' - "$AOTSCOPE" "$pt2/cond.pt2" "$pt2/cond.graph.txt"
run "$AOTSCOPE" import "$pt2/mlp_decomposed.pt2" -o "$scratch/pt2.aots"
run "$AOTSCOPE" show "$scratch/pt2.aots" --stage export
ok "a session keeps it" cmp "$scratch/out" "$pt2/mlp_decomposed.graph.txt"
run "$AOTSCOPE" show "$scratch/pt2.aots" --record graph_signature
ok "with its signature" out '"kind": "BUFFER_MUTATION"'
run "$AOTSCOPE" export "$pt2/cond.pt2" -f svg -o "$scratch/pt2.svg"
ok "a picture is drawn of it" grep -q "true_graph_0" "$scratch/pt2.svg"
run "$AOTSCOPE" help stages
ok "help says from what a stage is derived" out "aotscope derives it"
run "$AOTSCOPE" show "$one" --stage runtime
ok "the stage that is no graph is shown as text" out "wrappers in call order, outermost first"
run "$AOTSCOPE" export "$one" -o "$scratch/picture.jpg"
ok "an ending that names no format is refused" err "should end in .svg"
ok "and nothing is written" test ! -e "$scratch/picture.jpg"
run "$AOTSCOPE" info
ok "info without an input tells of the program" out "session format"
run "$AOTSCOPE" explain "$two" addmm
ok "explain gives the ban in PyTorch's words" out "ban      not in recomputable allowlist"
ok "explain gives the weight with its factors" out "39,649 = 32,768 × 1.1²"
ok "explain gives the limit of the weight" out "saved while it is below 72,088"
ok "explain gives the least change of the weight" out "smallest weight from 39,649 to 72,088: forward only"
ok "and of the tag" out "smallest tag from none to MUST_RECOMPUTE: recomputed"
ok "explain gives the cut edge" out "* addmm in -> out          39,649 cut  saving it"
ok "and an edge that cannot be cut, with the reason" out "gelu_backward -> sink           inf  it is computed in the backward"
ok "explain tries a tag" out "* recomputed   83.2 KiB"
run "$AOTSCOPE" explain "$two" addmm --json
ok "explain --json is versioned" out '"format": "aotscope/1"'
ok "explain --json has the limit" out '"weight_limit": 72088'
ok "explain --json has the chain of the network" out '"from": "source"'
ok "explain --json has the user's line" out 'raw_train.py",'
run "$AOTSCOPE" explain "$AOT_FIXTURES/oracle/pain_dropout_decomposed/trace.log.gz" native_dropout
ok "of an operator that was decomposed the values made of it are named" err "made of it, or at that line: rand, gt"
run "$AOTSCOPE" explain "$AOT_FIXTURES/oracle/pain_dropout_decomposed/trace.log.gz" units_pain.py:96
ok "and those of a source line" err "made of it, or at that line: sin, rand, gt"
run "$AOTSCOPE" explain "$two" addm
ok "explain of what is no value exits with 2" exits 2
ok "and names near ones" err "there are addmm, addmm_1"

run "$AOTSCOPE" ranks "$logs/ddp"
ok "ranks exits with 0 where only sizes are others" exits 0
ok "and says so" out "~  rank 1  other sizes (dynamo)  other sizes, 7.8 KiB"
run "$AOTSCOPE" ranks "$logs/ranks"
ok "ranks exits with 1 where something differs" exits 1
ok "ranks names the collective" out "number 2 is all_reduce('avg', '0'), not all_reduce('sum', '0')"
ok "ranks counts saved values of one side" out "differs: -1 +1, 256 B"
ok "ranks counts the ranks" out "1 the same, 1 of other sizes, 2 differ, 0 unknown"
run "$AOTSCOPE" ranks "$logs/ranks" --json
ok "ranks --json is versioned" out '"format": "aotscope/1"'
ok "ranks --json has the place" out '"place": 2'
run "$AOTSCOPE" ranks "$two"
ok "ranks of one rank is a usage error" exits 2
run "$AOTSCOPE" ranks "$logs/linear_relu.trace.log" "$logs/torch_2.8.0.trace.log.gz"
ok "logs that tell no rank are compared by file" out "torch_2.8.0.trace.log.gz  the measure       3, 72 B"
ok "and what one lacks is a difference" out "-  $logs/linear_relu.trace.log     not on this rank"

pain=$AOT_FIXTURES/oracle
redrawn=$(ls "$pain"/pain_dropout_under_budget/trace.log*)
run "$AOTSCOPE" lint "$redrawn"
ok "lint exits with 0 where notes are all" exits 0
ok "lint notes views that are counted" out "[alias-counted]"
run "$AOTSCOPE" lint "$redrawn" --set activation_memory_budget=0.5
ok "lint exits with 1 for a mask that is drawn again" exits 1
ok "lint names the node and its line" out "error: native_dropout (aten.native_dropout) is drawn again in the backward with another state [random-redrawn]  units_pain.py:16"
run "$AOTSCOPE" lint "$redrawn" --set activation_memory_budget=0.5 --sarif
ok "lint --sarif is SARIF" out '"version": "2.1.0"'
ok "lint --sarif points to the source" out '"startLine": 16'
run "$AOTSCOPE" lint "$(ls "$pain"/pain_read_after_mutation/trace.log*)" --json
ok "lint exits with 1 for an overwritten input" exits 1
ok "lint --json has the rule" out '"rule": "read-after-mutation"'
run "$AOTSCOPE" lint "$redrawn" --level loud
ok "an unknown level is a usage error" exits 2
run "$AOTSCOPE" lint "$redrawn" --rule nothing
ok "an unknown rule is a usage error" exits 2

ladder=$(ls "$pain"/pain_mlp_ladder/trace.log*)
run "$AOTSCOPE" memory "$ladder" --fits 1GiB
ok "what fits exits with 0" exits 0
ok "and says so" out "fits 1.00 GiB at its budget of 1"
peak=$("$AOTSCOPE" memory "$ladder" --free-saved --format json | sed -n 's/.*"peak": *\([0-9]*\).*/\1/p' | head -n 2 | sort -n | tail -n 1)
run "$AOTSCOPE" memory "$ladder" --fits "$peak"
ok "the peak itself fits" exits 0
run "$AOTSCOPE" memory "$ladder" --fits $((peak - 1))
ok "one byte less does not" exits 1
run "$AOTSCOPE" memory "$ladder" --fits $((peak - 1)) --format json
ok "--fits has JSON" out '"no_longer_saved"'
run "$AOTSCOPE" memory "$ladder" --fits 3parsecs
ok "--fits takes sizes only" exits 2

run "$AOTSCOPE" diff "$two" "$s" --stat
ok "a log and its session are the same" exits 0
run "$AOTSCOPE" diff "$two" --unit 0 --saved --other-set activation_memory_budget=0.1
ok "diff exits with 1 where settings flip values" exits 1
ok "and names them" out "addmm"
run "$AOTSCOPE" diff "$two" --unit 0 --stage forward --other-set activation_memory_budget=0
ok "diff prints removed nodes" out " - getitem_1"
run "$AOTSCOPE" diff "$two" --unit 0 --stage forward --other-set activation_memory_budget=0 --json
ok "diff --json counts" out '"removed": 3'
run "$AOTSCOPE" diff "$two" --stage nowhere
ok "diff of an unknown stage exits with 2" exits 2

run "$AOTSCOPE" diff "$two"
ok "diff with nothing to compare with is a usage error" exits 2
run "$AOTSCOPE" diff "$two" --unit 0 --other-set activation_memory_budget=0
ok "diff of all stages leaves out what is no graph" silent err
run "$AOTSCOPE" explain "$two"
ok "explain names what it takes" err "an argument is missing of INPUT NODE ..."
run "$AOTSCOPE" show "$AOT_FIXTURES/logs/inference_mlp.log.gz" --stage aten
ok "the ATen stage of an inference unit needs no joint graph" out "torch.ops.aten.addmm"
run "$AOTSCOPE" show "$AOT_FIXTURES/logs/inference_mlp.log.gz" --stage joint_traced
ok "an inference unit has no stages with a backward, and that is why" err "compiled for inference"
run "$AOTSCOPE" show "$AOT_FIXTURES/logs/train_mixed_stdout.log.gz" --saved --unit 1
ok "sizes that the log does not tell are named" err "assumed: s77 = 4096"

relu=$(ls "$AOT_FIXTURES"/oracle/layer_norm_whole/trace.log*)
run "$AOTSCOPE" run "$relu" -o "$scratch/decomp.aots" --backend decomp
ok "run with another backend" exits 0
run "$AOTSCOPE" show "$scratch/decomp.aots" --stage joint
ok "its session shows what that backend made" out "var_mean"
run "$AOTSCOPE" show "$relu" --stage joint
ok "the log keeps what was recorded" out "native_layer_norm"
run "$AOTSCOPE" diff "$relu" "$scratch/decomp.aots" --stage joint --stat
ok "and the two differ" exits 1
run "$AOTSCOPE" check "$scratch/decomp.aots"
ok "check of that session is about what was recorded" exits 0
run "$AOTSCOPE" run "$relu" -o "$scratch/export.aots" --path export
run "$AOTSCOPE" show "$scratch/export.aots" --stage export
ok "a session of the export path shows it" out "layer_norm"

# The cut saves what Inductor's joint-graph passes made: 5 values, where the recorded joint graph has no getitem.
run "$AOTSCOPE" explain "$AOT_FIXTURES"/oracle/attention_naive_fused/trace.log* getitem
ok "explain knows the values that are made by the passes before the cut" out "32.0 KiB   saved for the backward"

# The same log, but for the module that the program handed over as an argument.
log=$AOT_FIXTURES/oracle/transformer_encoder_layer/trace.log.gz
gzip -dc "$log" | sed "s/L\['fn'\]/L['args'][0]/g; s/_fn_modules/_args_0_modules/g" >"$scratch/argument.log"
"$AOTSCOPE" show "$log" --saved --by module >"$scratch/self.txt"
run "$AOTSCOPE" show "$scratch/argument.log" --saved --by module
ok "the modules of a model that is an argument are known" cmp "$scratch/out" "$scratch/self.txt"
ok "its parts by their names" grep -qE "^ +8\.0 KiB .* linear1 *$" "$scratch/out"
ok "and what stands between them" out "(the outermost module)"

# A log whose names would steer the terminal: none of their bytes comes out, wherever they are quoted.
esc=$(printf '\033')
gzip -dc "$AOT_FIXTURES/logs/train_break.log.gz" | sed "s/raw_train\.py/raw$esc[31m_train.py/g; s/forward/for$esc]0;x$(printf '\007')ward/g" |
    sed 's/"name": "for/"name": "\\u001b[7mfor/' >"$scratch/steers.log"
obeyed() { LC_ALL=C grep -aq "$esc" "$scratch/out" "$scratch/err"; }
none_obeyed()
{
    for c in info "show --units" "show --stage dynamo" "show --stage joint" "show --saved" "show --saved --json" "explain addmm" \
        lint rng mutation check profile "memory --timeline" "sweep --budgets 1" "import -o $scratch/steers.aots"; do
        set -- $c
        name=$1
        shift
        case $name in
        explain) run "$AOTSCOPE" explain "$scratch/steers.log" "$@" ;;
        *) run "$AOTSCOPE" "$name" "$scratch/steers.log" "$@" ;;
        esac
        ! obeyed || { echo "$c"; return 1; }
    done
    run "$AOTSCOPE" diff "$scratch/steers.log" "$AOT_FIXTURES/logs/train_break.log.gz"
    ! obeyed
}
ok "no escape sequence of a log reaches the terminal" none_obeyed
run "$AOTSCOPE" info "$scratch/steers.log" --notes
ok "a note says that they were replaced" out "no text and shown as U+FFFD"
for command in "memory" "sweep" "partition -o $scratch/none"; do
    # shellcheck disable=SC2086
    run "$AOTSCOPE" $command "$AOT_FIXTURES/logs/inference_mlp.log.gz"
    ok "${command%% *} of a unit without a backward says why there is no joint graph" err \
        "compiled for inference: no output needed a gradient"
done
done_testing
