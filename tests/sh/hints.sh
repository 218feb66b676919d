#!/bin/sh
# Sizes that a log does not tell: one value a symbol, said by each command whose figures use it, settable.
. "$AOT_SRC/tests/sh/lib.sh"
without_err() { ! err "$1" >/dev/null || { echo "in the errors: $1"; return 1; }; }
log=$AOT_FIXTURES/logs/train_mixed_stdout.log.gz

run "$AOTSCOPE" show "$log" --unit 1 --saved
ok "sizes of one symbol agree: an input" out "8.00 MiB  f32[s77, 16, 32]"
ok "and its view" out "8.00 MiB  f32[16*s77, 32]"
ok "what is assumed is said" err "assumed: s77 = 4096 (the log states no hint); --hint s77=6 sets it"
for command in "memory" "memory --fits 1GB" "sweep --budgets 0:1:1" "info"; do
    # shellcheck disable=SC2086
    run "$AOTSCOPE" $command "$log"
    cat "$scratch/err" >>"$scratch/out"
    ok "$command says it, too" out "assumed: s77 = 4096"
done
run "$AOTSCOPE" explain "$log" addmm --unit 1
ok "explain says it" err "assumed: s77 = 4096"
run "$AOTSCOPE" diff "$log" --unit 1 --other-set recompute_views=True
ok "diff says it" err "assumed: s77 = 4096"
run "$AOTSCOPE" export "$log" --unit 1 -f json -o "$scratch/out.json"
ok "export says it" err "assumed: s77 = 4096"

run "$AOTSCOPE" show "$log" --unit 1 --saved --hint s77=6
ok "--hint sets it" out "12.0 KiB  f32[s77, 16, 32]"
ok "in expressions as well" out "12.0 KiB  f32[16*s77, 32]"
ok "then nothing is assumed" without_err "assumed"
run "$AOTSCOPE" show "$log" --units --hint s77=6,s99=3
ok "a symbol that no unit has is said" err "--hint s99: the input has no such symbol; there are: s77"
ok "one that a unit has is not" without_err "--hint s77"
run "$AOTSCOPE" partition "$log" --hint s99=3 -o "$scratch/parts"
ok "partition says it of the unit that has others" err "[1/1] has no such symbol; there are: s77"
run "$AOTSCOPE" show "$log" --unit 1 --saved --by type --hint s77=6
ok "groups of saved values leave out the bytes of symbols, as the total does" out "0 B         0 B       2  Sym"
run "$AOTSCOPE" import "$log" --hint s77=6 -o "$scratch/s.aots"
run "$AOTSCOPE" show "$scratch/s.aots" --unit 1 --saved
ok "a session keeps it" out "12.0 KiB  f32[16*s77, 32]"
run "$AOTSCOPE" show "$scratch/s.aots" --unit 1 --saved --set hint=
ok "and may go back" err "assumed: s77"
run "$AOTSCOPE" show "$log" --saved --hint s77
ok "what is no value is refused" exits 2
ok "with what it should be" err "hint: 's77' is not NAME=NUMBER"

# A log whose joint graph was cut after Inductor's passes is answered for what ran.
log=$AOT_FIXTURES/logs/joint_passes.log.gz
run "$AOTSCOPE" show "$log" --saved
ok "the recorded graphs choose the backend" out "saved: 5 values, 128.5 KiB"
ok "then no warning is needed" without_err "not the graphs that ran"
run "$AOTSCOPE" partition "$log" -o "$scratch/cut" --set backend=decomp
ok "under another backend the warning names the remedy" err "--set backend=inductor_joint runs them"
run "$AOTSCOPE" memory "$log" --json
ok "memory has the same cut" without_err "not the graphs that ran"
done_testing
