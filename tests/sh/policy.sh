#!/bin/sh
# Policies and selections on the command line: what they select, what they change, what they say when wrong.
. "$AOT_SRC/tests/sh/lib.sh"
log="$AOT_FIXTURES/logs/dropout_default.log.gz"

run "$AOTSCOPE" show "$log" --filter 'saved !input'
ok "show --filter lists the nodes that are meant" out "getitem_1"
ok "and counts them" out "2 of 16 nodes"
run "$AOTSCOPE" show "$log" --filter 'op:native_dropout' --json
ok "as JSON too" out '"name": "native_dropout"'
tagged="$AOT_FIXTURES/oracle/checkpoint_selective/trace.log.gz"
run "$AOTSCOPE" show "$tagged" --stage joint --filter 'op:mm line:units_corner.py:114'
ok "tags are listed by their names in node.meta" out "recompute=MUST_SAVE ac_graph_id=6"
run "$AOTSCOPE" show "$tagged" --stage joint --filter 'node:mm' --json
ok "as JSON with the side" out '"partitioner_tag": "is_forward"'
run "$AOTSCOPE" show "$log" --filter 'op:conv2d'
ok "a filter that matches nothing says so" err "matches no node of the 16"
run "$AOTSCOPE" show "$log" --filter 'colour:red'
ok "a term that is none is named with those there are" err "there is no such term; there are node:"
run "$AOTSCOPE" help selection
ok "help selection lists the terms" out "bytes>N"
ok "and the lines of a policy" out "recompute SELECTION"

run "$AOTSCOPE" show "$log" --filter "$(head -c 20000 /dev/zero | tr '\0' '(')"
ok "a regular expression has a greatest length" err "has at most 1000 bytes, not 20000"
run "$AOTSCOPE" show "$log" --filter "$(head -c 60 /dev/zero | tr '\0' '(')"
ok "a depth" err "has at most 50 parentheses in each other"
for bomb in 'a{1,1000}{1,1000}' '(((a{1,100}){1,100}){1,100})' '((((((((((((a+)+)+)+)+)+)+)+)+)+)+)+)' '([]{1]{,999}b{9,}){99}'; do
    run "$AOTSCOPE" show "$log" --filter "$bomb"
    ok "and written out not more than 2000 signs: $bomb" err "written out it has"
done
run "$AOTSCOPE" show "$log" --filter 'sa(v|f)e{1,3}$|^(get){1}[^{+(]+[0-9]{1,}\+?$'
ok "what is in use stays" out "getitem_1"

layers="$AOT_FIXTURES/oracle/pain_mlp_ladder/trace.log.gz"
run "$AOTSCOPE" show "$layers" --fold
ok "show --fold shows a repeat once" out "units_pain.py:61  4 nodes x 4"
ok "and says how many nodes that hides" out "2 repeats: 42 nodes are folded away"
run sh -c '"$1" show "$2" --modules | sed "s/\([^ ]\)  */\1 /g"' - "$AOTSCOPE" \
    "$AOT_FIXTURES/logs/transformer_encoder_layer.log.gz"
ok "show --modules nests them, with their saved bytes" out "self_attn 45 2 3.3 KiB"
ok "one in another" out "  self_attn.out_proj 2 0 0 B"
ok "results of a norm are in it" out "norm1 4 2 160 B"
ok "the backward's are those of their forward nodes" out "  backward: linear2 9 0 0 B"
run "$AOTSCOPE" show "$layers" --modules --csv
ok "where no module is known: functions, the backward's apart" out "backward: units_pain.py f,41,16,172032"
run "$AOTSCOPE" show "$layers" --filter op:mm --stage forward --fold
ok "of a filter, too" out "2 of 43 nodes"
run "$AOTSCOPE" show "$layers" --fold --json
ok "as JSON the repeats have their ends" out '"last": "add_4"'
run sh -c '"$1" show "$2" --saved --sort name --csv | cut -d, -f4,5 | sed -n "2,4p" | tr "\n" " "' - "$AOTSCOPE" "$layers"
ok "show --saved --sort name: x_2 before x_10, places as PyTorch has them" out "$("$AOTSCOPE" show "$layers" --saved --csv |
    cut -d, -f4,5 | sed 1d | sort -t, -k2V | sed -n '1,3p' | tr '\n' ' ')"
run "$AOTSCOPE" show "$layers" --saved --sort size
ok "an order that is none is named with those there are" err "--sort takes bytes, name"

cat >"$scratch/policy" <<'END'
# nothing is saved but the inputs
set activation_memory_budget=0
END
run "$AOTSCOPE" show "$log" --saved --policy "$scratch/policy"
ok "a policy's setting holds" out "1 value"
run "$AOTSCOPE" show "$log" --saved --policy "$scratch/policy" --set activation_memory_budget=1
ok "and goes over --set" out "1 value"
printf 'recompute saved op:neg\n' >"$scratch/tag"
run "$AOTSCOPE" show "$log" --filter 'recomputed tag:MUST' --policy "$scratch/tag"
ok "the neg of the backward trace cannot be tagged" err "no operator of the forward matches"
ladder=$(ls "$AOT_FIXTURES"/oracle/pain_mlp_ladder/trace.log*)
printf 'recompute node:t_8\n' >"$scratch/tag"
run "$AOTSCOPE" show "$ladder" --saved --policy "$scratch/tag"
ok "nor a view that the backward makes" exits 2
ok "its base in the forward is named" err "t_8 is made by the backward, of gelu_1 of the forward, which can be tagged"
printf 'save op:sin\n' >"$scratch/tag"
run "$AOTSCOPE" show "$log" --filter 'tag:MUST_SAVE' --policy "$scratch/tag"
ok "a policy's tag is on the value" out "1 of 16 nodes"
run "$AOTSCOPE" partition "$log" --policy "$scratch/policy" -o "$scratch/cut"
ok "partition takes a policy" grep -q '"rung": "inputs only"' "$scratch/cut/0.partition.json"
run "$AOTSCOPE" import "$log" --policy "$scratch/policy" -o "$scratch/s.aots"
run "$AOTSCOPE" show "$scratch/s.aots" --saved
ok "a session shows what it was made under" out "1 value"

run "$AOTSCOPE" export "$log" --policy "$scratch/policy" --format policy
ok "export writes the policy that --policy takes" out "set activation_memory_budget=0"
run "$AOTSCOPE" export "$log" --policy "$scratch/tag" --format script
ok "export writes a checkpoint policy for a training script" out "(torch.ops.aten.sin.default, "
ok "with its function" out "create_selective_checkpoint_contexts(policy)"

ladder=$(ls "$AOT_FIXTURES"/oracle/pain_mlp_ladder/trace.log*)
run "$AOTSCOPE" partition "$ladder" --set activation_memory_budget=0.3 --explain-knapsack
ok "partition tells what the knapsack chose from" out "dp: 0.2857 of 0.3000 saved"
printf 'aten.mm,0.5\n' >"$scratch/times"
run "$AOTSCOPE" partition "$ladder" --set activation_memory_budget=0.3 --explain-knapsack --times "$scratch/times"
ok "measured times stand in place of flops" out "0.5  saved"
norms=$(ls "$AOT_FIXTURES"/oracle/pain_rms_norm_chain/trace.log*)
run "$AOTSCOPE" explain "$norms" rsqrt
ok "explain tells the ban" out "ban      materialized in backward:"
run "$AOTSCOPE" explain "$norms" rsqrt --set activation_memory_budget=0.99
ok "a later cut lifts it" out "ban      none in the cut that decided; in the first cut: materialized in backward"
ok "and the reason is another" out "why      cheaper to keep than the values that recomputing it would need"
run "$AOTSCOPE" explain "$ladder" mm --set activation_memory_budget=0.3
ok "explain tells the knapsack's choice" out "saved: row 1 of 7 by memory, 0.1143 of the memory"
ok "and the rows around it" out "> 1  mm    0.1143  131072  saved"
ok "the cut is the one after the knapsack, with its bans" out "source -> mm                   inf  compute intensive op"
run "$AOTSCOPE" explain "$ladder" gelu --set activation_memory_budget=0.3
ok "explain tells why a value is no item" out "none of the 7 items: only what"
ok "and which cut edge holds what is recomputed" out "held by  cut above it: mm"
run "$AOTSCOPE" explain "$ladder" mm_4 --set activation_memory_budget=0.3 --json
ok "explain --json has the row" out '"row": 3'
ok "and the number of items" out '"n_items": 7'
printf 'aten.mm,0.5\nmm_1,7\naten.mm,0.25\n' >"$scratch/times"
run "$AOTSCOPE" partition "$ladder" --set activation_memory_budget=0.3 --times "$scratch/times" -o "$scratch/cut"
ok "a name with two times is an error" exits 2
ok "that names both lines" err "times:3: 'aten.mm' has a time in line 1 and another in line 3"
cut_times() { run "$AOTSCOPE" partition "$ladder" --set activation_memory_budget=0.3 --times "$1" -o "$scratch/cut"; }
printf 'mm,nan\naten.mm,0.5\n' >"$scratch/times"
cut_times "$scratch/times"
ok "a first line that is wrong is no title" err "times:1: 'mm,nan' is no NAME,MILLISECONDS"
printf '\357\273\277"Name","Time ms"\r\naten.mm,0.5\r\n' >"$scratch/times"
cut_times "$scratch/times"
ok "titles and a byte order mark are skipped" exits 0
for what in policy times; do
    run "$AOTSCOPE" partition "$ladder" --set activation_memory_budget=0.3 "--$what" "$scratch" -o "$scratch/cut"
    ok "a folder is no $what" err "it is a folder"
    run "$AOTSCOPE" partition "$ladder" --set activation_memory_budget=0.3 "--$what" /dev/zero -o "$scratch/cut"
    ok "nor is a device of zeros" err "/dev/zero is no $what: it holds a zero byte"
    yes '# long' | head -c 67108865 >"$scratch/long"
    run "$AOTSCOPE" partition "$ladder" --set activation_memory_budget=0.3 "--$what" "$scratch/long" -o "$scratch/cut"
    ok "nor what is too long" err "long is no $what: it has more than 64 MiB"
    rm -f "$scratch/long"
done
printf '\357\273\277set activation_memory_budget=0\n' >"$scratch/bom"
run "$AOTSCOPE" show "$log" --saved --policy "$scratch/bom"
ok "a policy may begin with a byte order mark" out "1 value"

printf 'set cse=True\nsave op:conv2d\n' >"$scratch/bad"
run "$AOTSCOPE" show "$log" --saved --policy "$scratch/bad"
ok "a line that matches nothing is an error" exits 2
ok "that says where and what" err "bad:2: 'save op:conv2d': no operator of the forward matches"
several="$AOT_FIXTURES/logs/three_units.stderr.gz"
printf 'recompute op:relu\nsave op:sin\nrecompute op:conv2d\n' >"$scratch/nowhere"
printf 'set cse=True\nrecompute op:addmm\nrecompute op:sin\n' >"$scratch/some"
for what in show memory "sweep --no-plot" lint "partition -o $scratch/cut" "import -o $scratch/p.aots"; do
    # shellcheck disable=SC2086
    run "$AOTSCOPE" $what "$several" --policy "$scratch/some"
    case $what in
    import*) run "$AOTSCOPE" info "$scratch/p.aots" --notes && cp "$scratch/out" "$scratch/err" ;;
    esac
    ok "${what%% *}: a line that matches in some units is passed over in the others" exits 0
    ok "${what%% *}: which is said once" test "$(grep -c "op:addmm' matches nothing in " "$scratch/err")" = 1
    # shellcheck disable=SC2086
    run "$AOTSCOPE" $what "$several" --policy "$scratch/nowhere"
    ok "${what%% *}: one that matches in none is an error" exits 2
    ok "${what%% *}: at its line" err "nowhere:3: 'recompute op:conv2d': no operator of the forward matches"
done
run "$AOTSCOPE" show "$several" --unit 0 --filter "op:addmm tag:MUST_RECOMPUTE" --policy "$scratch/some"
ok "where it matches it holds" out "addmm"
run "$AOTSCOPE" show "$several" --unit 1 --saved --policy "$scratch/some"
ok "the warning names a unit" err "some:2: 'recompute op:addmm' matches nothing in unit 1 [0/0] and 1 more of 3"
run "$AOTSCOPE" show "$scratch/p.aots" --unit 1 --saved
ok "a session made under the policy is shown under it" exits 0
printf 'sav op:mm\n' >"$scratch/bad"
run "$AOTSCOPE" partition "$log" --policy "$scratch/bad" -o "$scratch/cut"
ok "a line that is no edit says where and what there is" err "bad:1: 'sav' is no edit; there are: set NAME=VALUE"
run "$AOTSCOPE" partition "$log" --policy "$scratch/none" -o "$scratch/cut"
ok "a policy that is not there is an error" err "cannot read the policy"

printf 'save op:gelu\n' >"$scratch/gelu"
run "$AOTSCOPE" explain "$AOT_FIXTURES/logs/train_break.log.gz" gelu --policy "$scratch/gelu"
ok "what a view saves is not said to be of no use" out "the backward needs its memory through the view view_2, which is saved"
dynamic="$AOT_FIXTURES/oracle/dynamic_mlp/trace.log.gz"
run "$AOTSCOPE" explain "$dynamic" relu
ok "symbols are told apart from bytes: explain" out "saved in all 816 B and 1 symbol"
run "$AOTSCOPE" diff "$dynamic" --saved --other-set activation_memory_budget=0
ok "diff" out "saved: 816 B and 1 symbol, then 1008 B and 1 symbol"
run "$AOTSCOPE" export "$dynamic" --what partition --format dot -o -
ok "picture" out "816 B and 1 symbol"

printf 'nosuch,1\n' >"$scratch/times"
run "$AOTSCOPE" partition "$AOT_FIXTURES/logs/three_units.stderr.gz" --set activation_memory_budget=0.5 \
    --times "$scratch/times" -o "$scratch/cut"
ok "times that mean nothing are an error" exits 2
ok "said once for three units" sh -c "test \$(grep -c 'none of the 1 times' '$scratch/err') = 1"
echo 'save node:view_1' >"$scratch/view.txt"
broken="$AOT_FIXTURES/logs/train_break.log.gz"
run "$AOTSCOPE" lint "$broken" --policy "$scratch/view.txt"
ok "a tag on a view says why it does not hold" out "it is a view, which no tag keeps from being made again"
run "$AOTSCOPE" explain "$broken" view_1 --policy "$scratch/view.txt"
ok "explain says so, too" out "no tag keeps one from being made again, so the cut may take its base"
run "$AOTSCOPE" diff "$broken" --unit 0 --saved --other-set activation_memory_budget=0.1
ok "what the cuts weigh in all stands beside what is saved" out "weight in all: first cut 98,781 (decides); then first cut 98,781"
run "$AOTSCOPE" explain "$broken" view_1 --set activation_memory_budget=0.9
ok "where the second cut decided a weight has its limit, too" out "saved while it is at most 39,649; it is 72,088"
run "$AOTSCOPE" memory "$broken" --unit 0 --fits 5KiB
ok "what fits at no budget is told with the least there is" out "does not fit 5.0 KiB at any of 41 budgets; the least peak is 168.9 KiB, at 0.55: 163.9 KiB more"

done_testing
