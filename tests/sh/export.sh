#!/bin/sh
# export: the ending chooses the format, the format what is shown; errors say what would do.
. "$AOT_SRC/tests/sh/lib.sh"
log=$AOT_FIXTURES/logs/train_break.log.gz

for f in $("$AOTSCOPE" help formats | awk '/^Formats/ { on = 1; next } on && /^  [a-z]/ { print $1 }'); do
    run "$AOTSCOPE" export "$log" -f "$f" -o "$scratch/out.$f"
    ok "$f is written" exits 0
    ok "$f is not empty" test -s "$scratch/out.$f"
done
for f in json model-explorer me-bytes me-lifetime me-saved chrome-trace; do
    ok "$f is JSON" sqlite3 :memory: ".bail on" "select json_type(readfile('$scratch/out.$f'))"
    ok "$f is an object" test "$(sqlite3 :memory: "select json_type(readfile('$scratch/out.$f'))")" = object
done

# Keys of our own JSON are said in docs/export.md, each between backquotes (names of settings aside).
for w in partition graph mincut saved memory; do
    "$AOTSCOPE" export "$AOT_FIXTURES/oracle/checkpoint_selective/trace.log.gz" --what $w -f json >"$scratch/keys.json"
    undocumented=$(sqlite3 :memory: "select distinct key from json_tree(readfile('$scratch/keys.json'))
        where typeof(key) = 'text' and path not like '$.settings%'" |
        while read -r k; do grep -qF "\`$k\`" "$AOT_SRC/docs/export.md" || echo "$k"; done)
    ok "docs/export.md names the keys of $w" test -z "$undocumented"
done

run "$AOTSCOPE" export "$log" -o "$scratch/x.trace.json"
ok "the longest ending counts" grep -q traceEvents "$scratch/x.trace.json"
run "$AOTSCOPE" export "$log" -f csv
ok "csv shows the saved values without being told" out ",addmm,a,addmm,raw_train.py:6,"
run "$AOTSCOPE" export "$log" -f csv --what graph
ok "what a format cannot hold is an error" exits 2
ok "it says what could" err "graph cannot be written as csv: expected svg, pdf, png, dot, json"
run "$AOTSCOPE" export "$log" -f jpg
ok "an unknown format is an error" exits 2
ok "it lists the formats" err "-f jpg: expected svg, pdf, png, dot, json, model-explorer"
run "$AOTSCOPE" export "$log" -o "$scratch/x.jpg"
ok "so is an unknown ending" err "should end in .svg, .pdf, .png, .dot, .json, .me.json"
run "$AOTSCOPE" export "$log" --what nothing
ok "an unknown thing to show lists those that there are" err "expected partition, graph, mincut"
run "$AOTSCOPE" export "$log" -f mermaid --around addmm --hops 1
ok "a neighbourhood as a flowchart" out "flowchart TB"
ok "a notice says that it is one" err "around addmm, 1 line away"
run "$AOTSCOPE" export "$log" -o "$scratch/a.pdf"
sleep 1
run "$AOTSCOPE" export "$log" -o "$scratch/b.pdf"
ok "a PDF does not tell the time" cmp "$scratch/a.pdf" "$scratch/b.pdf"

again=$AOT_FIXTURES/oracle/checkpoint_all/trace.log.gz
run "$AOTSCOPE" export "$again" -f svg --max-nodes 12
ok "a box of recomputed values has their colour" out 'class="node recomputed group"'
run "$AOTSCOPE" export "$again" -f dot --max-nodes 12
ok "in dot, too" out 'class="recomputed group"'
run "$AOTSCOPE" export "$again" -f mermaid --max-nodes 12
ok "and in a flowchart" out '4 values, 3 recomputed<br/>'
ok "with a class" out 'classDef recomputed'

for w in memory pareto; do
    for f in svg pdf png csv json; do
        run "$AOTSCOPE" export "$log" --what $w -f $f -o "$scratch/$w.$f"
        ok "$w as $f" exits 0
    done
done
ok "the budgets lead to what saves the least" grep -q '^dp,' "$scratch/pareto.csv"
run "$AOTSCOPE" export "$log" --what memory -f graphml
ok "a chart is no graph" err "memory cannot be written as graphml: expected svg, pdf, png, json or csv"

run "$AOTSCOPE" export "$log" -o "$scratch/report.html"
ok "a report is written" exits 0
for s in diagram saved-values memory budgets findings lines settings stages; do
    ok "the report has the section $s" grep -q "<section id=\"s-$s\"" "$scratch/report.html"
done
ok "it names the source" grep -q "raw_train.py:6" "$scratch/report.html"
ok "it shows the budgets" grep -q "budget 1, in force" "$scratch/report.html"
run "$AOTSCOPE" export "$AOT_FIXTURES/oracle/pain_dropout_under_budget/trace.log.gz" \
    --set activation_memory_budget=0.5 -o "$scratch/pain.html"
ok "it shows findings" grep -q "random-redrawn" "$scratch/pain.html"
ok "what is not as usual stands out" grep -q '<tr class="changed"><td class="c"><code>activation_memory_budget' "$scratch/pain.html"
echo "save op:relu" >"$scratch/p.policy"
run "$AOTSCOPE" export "$AOT_FIXTURES/oracle/pain_dropout_under_budget/trace.log.gz" --policy "$scratch/p.policy" -o "$scratch/edited.html"
ok "that a policy changed the unit is said" grep -q "This unit is changed by: save" "$scratch/edited.html"
run "$AOTSCOPE" export "$AOT_FIXTURES/logs/inference_mlp.log.gz" -o "$scratch/inference.html"
ok "a unit without a backward has a report too" exits 0
ok "with its stages" grep -q 'id="stage-list"' "$scratch/inference.html"

run "$AOTSCOPE" export "$log" --what mincut --around addmm --hops 1 -f dot
ok "near a value the network has both of its vertices" out "id=in_addmm"
ok "and the edge between them, which is cut" out "39,649  cut"
ok "the way does not lead through the source" sh -c "! grep -q native_dropout '$scratch/out'"
run "$AOTSCOPE" export "$AOT_FIXTURES/logs/cond_branches.log.gz" --what graph --stage dynamo -f model-explorer
ok "branches are graphs of their own" out '"id":"graph/cond_true_0"'
ok "that the nodes lead to" out '"subgraphIds":["graph/cond_true_0"]'
run "$AOTSCOPE" export "$log" -f model-explorer
ok "values stand in their modules" out '"namespace":"forward/a/raw_train.py:6"'

for f in svg dot json model-explorer chrome-trace graphml csv markdown mermaid html; do
    run "$AOTSCOPE" export "$log" -f "$f" --redact -o "$scratch/redacted.$f"
    ok "$f is written without the user's names" exits 0
    ok "$f holds none of them" sh -c "! grep -aqE 'raw_train|train_break|/home/|dropout\(s' '$scratch/redacted.$f'"
done
cat >"$scratch/in.keys" <<END
keys <Enter><Enter>
type :export report $scratch/in.html<Enter>
type :export pareto $scratch/in.csv<Enter>
type :export partition $scratch/in.trace.json<Enter>
type :export saved $scratch/in.svg<Enter>
screen wrong
END
run "$AOTSCOPE" "$log" --size 100x30 --script "$scratch/in.keys"
ok "the interface writes a report" grep -q "budget 1, in force" "$scratch/in.html"
ok "and budgets" grep -q '^dp,' "$scratch/in.csv"
ok "and a timeline" grep -q traceEvents "$scratch/in.trace.json"
ok "but no table as a picture" out "the name should end in .json, .csv or .md"
printf 'keys d\ntype fzzzz<Enter>\nkeys {}\nscreen none\n' >"$scratch/none.keys"
run "$AOTSCOPE" "$log" --script "$scratch/none.keys"
ok "a comparison of which the filter leaves no row has no next change" exits 0
printf 'keys <Enter>\ntype /((((a{1,100}){1,100}){1,100}){1,100})<Enter>\nscreen bomb\n' >"$scratch/bomb.keys"
run "$AOTSCOPE" "$log" --size 200x30 --script "$scratch/bomb.keys"
ok "a search that would not end is refused" out "written out it has"
printf 'keys d\nnonsense\n' >"$scratch/wrong.keys"
run "$AOTSCOPE" "$log" --script "$scratch/wrong.keys"
ok "an error of a script names the script" err "wrong.keys:2:1: expected 'keys'"
run "$AOTSCOPE" "$log" --script "$scratch"
ok "a folder is no script" exits 2
run "$AOTSCOPE" show "$(printf 'a\033[31mb')"
ok "what a message quotes does not steer the terminal" sh -c "! grep -q '$(printf '\033')' '$scratch/err'"
printf 'type <Enter>:export-screen %s<Enter>\n' "$scratch/screen.svg" >"$scratch/svg.keys"
run "$AOTSCOPE" "$AOT_FIXTURES/logs/train_break.log.gz" --size 100x30 --script "$scratch/svg.keys"
ok "a screen as SVG has a text for each column" \
    grep -q '<text x="60"[^>]*textLength="72"[^>]*>primals_1</text>' "$scratch/screen.svg"
ok "without blanks that a browser would drop" sh -c '! grep -q ">[^<]*  \|> \| </text>" "$1"' - "$scratch/screen.svg"

# A policy function counts the calls before equal ones are merged: sin_1 is sin, and counts.
cat >"$scratch/twin.txt" <<'END'
class joint_helper(torch.nn.Module):
    def forward(self, primals, tangents):
        primals_1: "f32[4, 4][4, 1]cpu"; tangents_1: "f32[4, 4][4, 1]cpu";
        primals_1, tangents_1, = fx_pytree.tree_flatten_spec([primals, tangents], self._in_spec)
        sin: "f32[4, 4][4, 1]cpu" = torch.ops.aten.sin.default(primals_1)
        sin_1: "f32[4, 4][4, 1]cpu" = torch.ops.aten.sin.default(primals_1)
        add: "f32[4, 4][4, 1]cpu" = torch.ops.aten.add.Tensor(sin, sin_1)
        sin_2: "f32[4, 4][4, 1]cpu" = torch.ops.aten.sin.default(add)
        mul: "f32[4, 4][4, 1]cpu" = torch.ops.aten.mul.Tensor(sin_2, sin_2)
        mul_1: "f32[4, 4][4, 1]cpu" = torch.ops.aten.mul.Tensor(tangents_1, sin_2)
        cos: "f32[4, 4][4, 1]cpu" = torch.ops.aten.cos.default(add)
        mul_2: "f32[4, 4][4, 1]cpu" = torch.ops.aten.mul.Tensor(mul_1, cos)
        return pytree.tree_unflatten([mul, mul_2], self._out_spec)
END
echo "save node:sin_2" >"$scratch/twin.policy"
run "$AOTSCOPE" export "$scratch/twin.txt" --policy "$scratch/twin.policy" -f script
ok "a policy's script counts calls as they are dispatched" out "(torch.ops.aten.sin.default, {2}, CheckpointPolicy.MUST_SAVE)"
sed 's/: "f32[^"]*"//' "$scratch/twin.txt" | grep -v 'primals_1; tangents_1' >"$scratch/untyped.txt"
sed 's/^/> /' "$scratch/twin.txt" >"$scratch/quoted.txt"
run "$AOTSCOPE" show "$scratch/quoted.txt" --saved
ok "a graph that a mail quotes is read" out "saved: "
run "$AOTSCOPE" memory "$scratch/twin.txt" --fits 2.5
ok "a size whose unit was forgotten is no size" exits 2
ok "and a unit is asked for" err "--fits takes a size with its unit"
run "$AOTSCOPE" check "$AOT_FIXTURES/logs/mutated_input.stderr.gz"
ok "a mutated input that requires grad after the call need not before: no difference" out "3 same, 0 differ, 1 left out"
sed 's/sin_2, sin_2/sin_2, add/' "$scratch/twin.txt" >"$scratch/other.txt"
run "$AOTSCOPE" ranks "$scratch/twin.txt" "$scratch/other.txt"
ok "the first input given is the measure" sh -c '[ "$(grep -n -m1 -e "twin.txt" "$1" | cut -d: -f1)" -lt "$(grep -n -m1 -e "other.txt" "$1" | cut -d: -f1)" ]' - "$scratch/out"
run "$AOTSCOPE" show "$scratch/untyped.txt" --saved
ok "a graph without types is told as one" err "the graph has no types, so no value has bytes: it is the text of gm.code; print it with gm.print_readable()"
run "$AOTSCOPE" export "$scratch/twin.txt" --policy "$scratch/twin.policy" -f script
ok "and says where no call as dispatched is known" err "rules are in the joint graph's operators"
# What a policy is asked is the call as dispatched. In PyTorch such rules save the bytes that the cut
# says, those of the joint graph's operators change nothing.
drop=$AOT_FIXTURES/logs/fallback_random.log.gz
echo "recompute op:native_dropout" >"$scratch/drop.policy"
run "$AOTSCOPE" export "$drop" --policy "$scratch/drop.policy" -f script
ok "that no checkpoint wraps the unit is said" err "no checkpoint wraps this unit: compile checkpointed(MODULE)"
echo "save op:gt" >"$scratch/gt.policy"
run "$AOTSCOPE" export "$AOT_FIXTURES/oracle/pain_dropout_decomposed/trace.log.gz" --policy "$scratch/gt.policy" -f script
ok "a rule names the call that a policy sees" out "(torch.ops.aten.native_dropout.default, None, CheckpointPolicy.MUST_SAVE)"
ok "and what is tagged with it" err "tagged too: aten.native_dropout.default is one call to a policy"

# Descriptors that a parent closed: what is opened next must not be taken for standard output or errors.
if "$AOTSCOPE" help formats | grep -q svg; then
    closed() { "$AOTSCOPE" export "$log" --what partition -o "$scratch/closed.svg" >&- 2>&- <&- && grep -q '</svg>' "$scratch/closed.svg"; }
    ok "a picture is made without any standard descriptor" closed
fi
closed_out() { code=0; "$AOTSCOPE" info "$log" >&- 2>"$scratch/err" || code=$?; exits 2 && err "standard output"; }
ok "a closed standard output is an error" closed_out
ln -s loop.md "$scratch/loop.md"
ln -s nowhere/x.md "$scratch/dangling.md"
for link in loop dangling; do
    run "$AOTSCOPE" export "$log" --what saved -o "$scratch/$link.md"
    ok "a link that leads nowhere is not written: $link" sh -c '[ "$1" = 2 ] && grep -q "leads nowhere" "$2" && [ -L "$3" ]' \
        - "$code" "$scratch/err" "$scratch/$link.md"
done
done_testing
