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

run "$AOTSCOPE" export "$log" -o "$scratch/x.trace.json"
ok "the longest ending counts" grep -q traceEvents "$scratch/x.trace.json"
run "$AOTSCOPE" export "$log" -f csv
ok "csv shows the saved values without being told" out ",addmm,addmm,raw_train.py:6,"
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
done_testing
