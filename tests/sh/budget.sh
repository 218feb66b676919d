#!/bin/sh
# Budgets and memory on the command line: sweep, its parts and merge, memory and its groups.
. "$AOT_SRC/tests/sh/lib.sh"
ladder=$(ls "$AOT_FIXTURES"/oracle/pain_mlp_ladder/trace.log*)
mlp=$(ls "$AOT_FIXTURES"/oracle/dynamic_mlp/trace.log*)
cd "$scratch" || exit 99

# ---- a compile that PyTorch began again ----
again=$AOT_FIXTURES/logs/compiled_again.log.gz
run "$AOTSCOPE" partition "$again" -o again
ok "a joint graph that was given up before it was cut does not count" err "1 joint graph, 1 cut into"
ok "it is told" err "unit 0 [0/0]: PyTorch compiled it again before it cut this joint graph: left out"
ok "the one that was cut is graph 0" grep -q '"saved_bytes"' again/0.partition.json
ok "without the float that could not stay symbolic" sh -c '! grep -q "f64\[\]" again/0.forward.txt'
run "$AOTSCOPE" memory "$again" --format json
ok "memory counts it alike" [ "$(grep -c '"unit"' out)" = 1 ]
run "$AOTSCOPE" sweep "$again" --budgets 1 --format json
ok "and sweep" [ "$(grep -c '"unit"' out)" = 1 ]

# ---- sweep ----
run "$AOTSCOPE" sweep "$ladder" --budgets 0:1:0.25
ok "sweep tells people in a table" exits 0
ok "the table says how a budget was decided" out "second cut: fusion heuristics off"
ok "and what flips" out "+t_3 16.0 KiB"
ok "a pipe gets no escape sequences" [ "$(tr -cd '\033' <out | wc -c)" -eq 0 ]
cp "$scratch/out" "$scratch/told"
run "$AOTSCOPE" sweep "$ladder" --budgets 0:1:0.25 -o "$scratch/kept.json"
run "$AOTSCOPE" sweep "$scratch/kept.json"
ok "a sweep that was kept is told again" cmp "$scratch/told" "$scratch/out"
run "$AOTSCOPE" sweep "$ladder" --budgets 0:1:1 -o "$scratch/kept.json"
run "$AOTSCOPE" sweep "$scratch/kept.json" --redact
ok "what cannot be redacted any more is refused" exits 2
zcat -f "$AOT_FIXTURES/logs/three_units.stderr.gz" >"$scratch/units.log"
"$AOTSCOPE" sweep "$scratch/units.log" --budgets 0:1:1 --no-plot >"$scratch/of-file"
mkfifo "$scratch/fifo"
cat "$scratch/units.log" >"$scratch/fifo" &
run "$AOTSCOPE" sweep "$scratch/fifo" --budgets 0:1:1 --no-plot
ok "nothing of a pipe is lost by looking at it" cmp "$scratch/of-file" "$scratch/out"
run "$AOTSCOPE" sweep "$scratch/kept.json" --budgets 0:1:0.5
ok "but not cut again" err "so --budgets means nothing"
run "$AOTSCOPE" sweep "$AOT_FIXTURES/logs/train_break.log.gz" --pareto --no-plot
ok "a row holds for one rung: 0 saves the inputs only" out "* 0                  40.9 KiB        0 B       7     104.9 KiB      177.4 KiB  1.05 MFLOP  inputs only"
ok "what * means stands above the table" sh -c 'head -1 "$1" | grep -q "nothing keeps as few new bytes"' - "$scratch/out"
ok "and 0.1 the same values by a knapsack" grep -qE "^\* 0.* to 0\.1074 +40\.9 KiB .*knapsack, then a fourth cut" out
gzip -dc "$AOT_FIXTURES/recorded/train.aots.gz" >"$scratch/train.aots"
run "$AOTSCOPE" sweep "$scratch/train.aots" --budgets 1 --unit 1 --no-plot
ok "one unit is swept alone" sh -c '[ "$(grep -c "^# unit\|checkpointed" "$1")" = 1 ]' - "$scratch/out"
run "$AOTSCOPE" sweep "$scratch/train.aots" --budgets 1 --unit 9
ok "a unit that is not there is an error" err "no unit '9' with a joint graph"
run "$AOTSCOPE" sweep "$mlp" --budgets 1 --no-plot
ok "saved bytes are those of the tensors" grep -qE "^\* 1 +816 B" out
run "$AOTSCOPE" memory "$mlp" --fits 1GiB
ok "with --fits too, and the symbol is counted" out "816 B and 1 symbol"
run "$AOTSCOPE" show "$mlp" --saved
ok "and in the list" out "816 B and 1 symbol; "
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
ok "its points tell what flips" grep -q "<title>budget 0.543: 168.0 KiB saved, 38.0 KiB of it new, recompute 0, peak .*; +t_5 16.0 KiB" front.svg
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
norms=$AOT_FIXTURES/oracle/pain_rms_norm_chain/trace.log.gz
"$AOTSCOPE" sweep "$norms" --pareto --no-plot --all >each.txt
run "$AOTSCOPE" sweep "$norms" --pareto --no-plot
cp "$scratch/out" few.txt
rows_told() { sed -n 's/^# \([0-9]*\) rows for \([0-9]*\): .*/\1 \2/p' few.txt; }
ok "small changes have no row of their own" [ "$(grep -c '^[* ] [01]' few.txt) $(grep -c '^[* ] [01]' each.txt)" = "$(rows_told)" ]
ok "fewer rows are told" [ "$(wc -l <few.txt)" -lt "$(wc -l <each.txt)" ]
run "$AOTSCOPE" sweep "$ladder" --pareto --budgets 0:1:0.1
ok "--pareto takes no grid" exits 2
run "$AOTSCOPE" sweep "$ladder" --pareto --step 0.1 --format csv
ok "--step bisects less far" [ "$(wc -l <out)" -lt "$("$AOTSCOPE" sweep "$ladder" --pareto --format csv | wc -l)" ]
run "$AOTSCOPE" sweep "$ladder" --step 0.1
ok "--step is for --pareto" exits 2
run "$AOTSCOPE" sweep "$ladder" --jobs 0
ok "--jobs 0 is a usage error" exits 2
run "$AOTSCOPE" sweep "$ladder" --solvers nobody
ok "an unknown solver is an error" exits 2

# ---- memory ----
blocks=$(ls "$AOT_FIXTURES"/oracle/pain_checkpointed_blocks/trace.log*)
run "$AOTSCOPE" memory "$blocks"
ok "memory tells people in tables" exits 0
ok "where the peak is" out "backward: 78.8 KiB at the peak, at mm_5 (42 of 59, units_pain.py:34)"
ok "and what holding the saved values costs" out "80.8 KiB if saved values are held until it returns"
ok "what lives there, by kind" out "parameters   expand to t_19"
ok "and by source line" out "for b in bs: x = checkpoint(b, x, use_reentrant=False)"
run "$AOTSCOPE" memory "$blocks" --by region
ok "regions are told apart" out "region 3"
ok "how many live at once" out "memory of 2 checkpoint regions lives at once, first at addmm_2"
run "$AOTSCOPE" memory "$blocks" --timeline --by kind
ok "--timeline has a row a node" out "+4.1 KiB     -4.0 KiB  > native_layer_norm_1  aten.native_layer_norm  units_pain.py:34"
run "$AOTSCOPE" memory "$blocks" --by op --top 2
ok "--top cuts" out "more (--top 0)"
peak_of() { "$AOTSCOPE" memory "$@" --format json | sed -n 's/.*"peak": *\([0-9]*\).*/\1/p' | sed -n 2p; }
plain=$(peak_of "$blocks")
norm=$(ls "$AOT_FIXTURES"/oracle/pain_rms_norm_chain/trace.log*)
ok "reuse in place lowers the peak" [ "$(peak_of "$norm" --in-place-reuse)" -lt "$(peak_of "$norm")" ]
ok "freeing what is donated lowers it" [ "$(peak_of "$ladder" --donated)" -lt "$(peak_of "$ladder")" ]
ok "JSON holds what is saved" [ "$(peak_of "$ladder" --hold-saved)" -eq "$(peak_of "$ladder")" ]
ok "freed at its last use it takes less" [ "$(peak_of "$ladder" --free-saved)" -lt "$(peak_of "$ladder")" ]
run "$AOTSCOPE" memory "$ladder" --free-saved --donated
ok "all freed and only donated ones freed exclude each other" err "give one of them"
ok "rounding raises it" [ "$(peak_of "$blocks" --allocator cuda)" -gt "$plain" ]
run "$AOTSCOPE" memory "$blocks" --allocator cuda
ok "the allocator's segments are told" out "the allocator holds 2.00 MiB at most"
run "$AOTSCOPE" memory "$blocks" --allocator cuda --fits 1MiB
ok "--fits goes by what is reserved then" exits 1
run "$AOTSCOPE" memory "$blocks" --fits 1MiB
ok "else by what lives" exits 0
slices=$(ls "$AOT_FIXTURES"/oracle/slice_assign/trace.log*)
ok "--first-calls gives repeated copies their memory" \
    [ "$(peak_of "$slices" --first-calls)" -ge "$(peak_of "$slices")" ]
run "$AOTSCOPE" memory "$blocks" --format csv
ok "CSV has a row a node" [ "$(grep -c '^0,forward' out),$(grep -c '^0,backward' out)" = 15,59 ]
ok "its live bytes are those of the contract" out "0,forward,9,native_layer_norm_1,aten.native_layer_norm,46976,4224,4096,units_pain.py:34"
run "$AOTSCOPE" memory "$blocks" --by kind,op --format csv
ok "with --by a row a group" out "0,backward,op,aten.mm,,"
run "$AOTSCOPE" memory "$blocks" --timeline --by region --format json
ok "JSON has groups over time" out '"over_time"'
run "$AOTSCOPE" memory "$blocks" --by region -o regions.svg
ok "a chart over time" grep -q "Live bytes of the backward by region" regions.svg
ok "the peak is marked" grep -q "78.8 KiB at mm_5" regions.svg
run "$AOTSCOPE" memory "$blocks" --by weekday
ok "an unknown group is a usage error" err "there are kind, line, op, region and module"
run "$AOTSCOPE" memory "$blocks" --unit 9
ok "an unknown unit is an error" exits 2
run "$AOTSCOPE" memory "$blocks" --unit 0/0 --allocator rocm
ok "an unknown allocator is an error" exits 2

# ---- limits of saved bytes, and which tensors flip ----
run "$AOTSCOPE" memory "$ladder" --max-saved 200KiB --no-plot
ok "what saves no more than asked passes" exits 0
run "$AOTSCOPE" memory "$ladder" --max-saved 204799 --no-plot
ok "one byte more does not" exits 1
ok "and both sums are told" out "saved: 200.0 KiB, 70.0 KiB of it new: more than 200.0 KiB"
run "$AOTSCOPE" memory "$ladder" --max-saved 1KiB --format json
ok "nor does it as JSON" exits 1
ok "which says so" out '"within_max_saved": false'
run "$AOTSCOPE" memory "$ladder" --max-saved 1KiB --fits 1GiB
ok "both limits at once are no question" exits 2
run "$AOTSCOPE" memory "$ladder" --fits 320KiB
ok "each budget tells which tensors flip" out "-t 8.0 KiB, -t_12 8.0 KiB and 2 more"
run "$AOTSCOPE" memory "$ladder" --fits 320KiB --format json
ok "JSON has them" out '"newly_saved"'
run "$AOTSCOPE" memory "$AOT_FIXTURES/logs/train_break.log.gz" --unit 1 --format json
ok "a unit asked for keeps its number" out '"unit": 1'
ok "and its label" out '"label": "[1/1]"'

done_testing
