#!/bin/sh
# Budgets and memory on the command line: sweep, its parts and merge, memory and its groups.
. "$AOT_SRC/tests/sh/lib.sh"
ladder=$(ls "$AOT_FIXTURES"/oracle/pain_mlp_ladder/trace.log*)
mlp=$(ls "$AOT_FIXTURES"/oracle/dynamic_mlp/trace.log*)
cd "$scratch" || exit 99

# ---- sweep ----
run "$AOTSCOPE" sweep "$ladder" --budgets 0:1:0.25
ok "sweep tells people in a table" exits 0
ok "the table says how a budget was decided" out "second cut: fusion heuristics off"
ok "and what flips" out "+t_3 16.0 KiB"
ok "a pipe gets no escape sequences" [ "$(tr -cd '\033' <out | wc -c)" -eq 0 ]
run "$AOTSCOPE" sweep "$ladder" --pareto --solvers dp,greedy -o all.json
ok "bisection of two solvers" exits 0
for jobs in 1 2 5; do
    "$AOTSCOPE" sweep "$ladder" --pareto --solvers dp,greedy --jobs $jobs -o jobs$jobs.json
    ok "with --jobs $jobs the same to the byte" cmp all.json jobs$jobs.json
done
for part in 1 2 3; do
    "$AOTSCOPE" sweep "$ladder" --pareto --solvers dp,greedy --shard $part/3 -o part$part.json
    "$AOTSCOPE" sweep "$mlp" --budgets 0:1:0.1 --shard $part/3 -o grid$part.json
done
run "$AOTSCOPE" merge part3.json part1.json part2.json -o merged.json
ok "merge of all parts" exits 0
ok "gives what one sweep gives, to the byte" cmp all.json merged.json
"$AOTSCOPE" sweep "$mlp" --budgets 0:1:0.1 -o grid.json
"$AOTSCOPE" merge grid1.json grid2.json grid3.json -o grid-merged.json
ok "of a grid, too" cmp grid.json grid-merged.json
run "$AOTSCOPE" merge part1.json part3.json -o none.json
ok "a missing part is an error" exits 2
ok "it is named" err "1 of 3 parts are missing: 2"
ok "nothing is written then" [ ! -e none.json ]
run "$AOTSCOPE" merge part1.json part3.json --partial -o some.json
ok "--partial goes on without" exits 0
run "$AOTSCOPE" merge part1.json part1.json part2.json
ok "a part given twice is an error" err "part1.json: it is part 1 of 3, and so is part1.json"
run "$AOTSCOPE" merge part1.json grid2.json part3.json
ok "parts of different sweeps do not go together" err "grid2.json: it is of another sweep"
sed 's/"\[0\/0\]"/"[7\/0]"/' part2.json >other.json
run "$AOTSCOPE" merge part1.json other.json part3.json
ok "nor of different inputs" err "it is of another input"
echo '{"format": "aotscope/1", "graphs": [' >broken.json
run "$AOTSCOPE" merge broken.json
ok "what is no JSON is told with its place" err "broken.json:2:"
echo '{"graphs": []}' >strange.json
run "$AOTSCOPE" merge strange.json
ok "JSON of another kind is told" err 'strange.json: it is no sweep: "format"'
"$AOTSCOPE" import "$ladder" -o s.aots 2>/dev/null
run "$AOTSCOPE" merge s.aots
ok "sessions are not merged, and it is said what to do" err "aotscope import A.log B.log"
run "$AOTSCOPE" merge all.json --format csv
ok "CSV has a head" out "unit,label,solver,budget,rung,saved_values,saved_bytes,recompute_flops"
ok "commas within a cell are quoted" out '"knapsack, then a fourth cut"'
ok "a row a point" [ "$(wc -l <out)" -eq "$(($(grep -c '"budget":' all.json) + 1))" ]
run "$AOTSCOPE" sweep "$ladder" --pareto -o front.svg
ok "a chart as SVG" grep -q "What saving less costs" front.svg
ok "its points tell what flips" grep -q "<title>budget 0.543: 168.0 KiB saved, 0 again; +t_5 16.0 KiB" front.svg
"$AOTSCOPE" sweep "$ladder" --pareto -o front.png
ok "as PNG" [ "$(head -c 4 front.png | tail -c 3)" = PNG ]
"$AOTSCOPE" sweep "$ladder" --pareto --format pdf -o front
ok "as PDF" [ "$(head -c 4 front)" = %PDF ]
run "$AOTSCOPE" sweep "$ladder" --format gif
ok "an unknown format is a usage error" exits 2
run "$AOTSCOPE" sweep "$ladder" --shard 4/3
ok "a part beyond the last is a usage error" err "--shard takes PART/OF"
run "$AOTSCOPE" sweep "$ladder" --shard 1/3 --format svg
ok "a part is no chart" err "a shard is written as JSON"
run "$AOTSCOPE" sweep "$ladder" --pareto --budgets 0:1:0.1
ok "--pareto takes no grid" exits 2
run "$AOTSCOPE" sweep "$ladder" --jobs 0
ok "--jobs 0 is a usage error" exits 2
run "$AOTSCOPE" sweep "$ladder" --solvers nobody
ok "an unknown solver is an error" exits 2

done_testing
