#!/bin/sh
# The command line: help, options, exit codes, pipes, colour, bad input.
. "$AOT_SRC/tests/sh/lib.sh"
log=$AOT_FIXTURES/logs/transformer_encoder_layer.log.gz
esc=$(printf '\033')
no_escape() { ! grep -q "$esc" "$scratch/$1"; }
commands=$("$AOTSCOPE" help | awk '/^Commands/ { on = 1; next } /^$/ { on = 0 } on && /^  [a-z]/ { print $1 }')

run "$AOTSCOPE" --version
ok "--version prints name and version" out "aotscope "
ok "--version exits with 0" exits 0
run "$AOTSCOPE" --help
ok "--help lists the commands" out "Commands"
run "$AOTSCOPE"
ok "without arguments it is a usage error" exits 2
ok "without arguments nothing goes to standard output" silent out

for c in $commands; do
    run "$AOTSCOPE" "$c" --help
    ok "$c --help exits with 0" exits 0
    ok "$c --help shows its usage" out "aotscope $c "
    ok "$c --help writes no errors" silent err
    cp "$scratch/out" "$scratch/by-option"
    run "$AOTSCOPE" help "$c"
    ok "help $c prints the same" cmp "$scratch/out" "$scratch/by-option"
    run "$AOTSCOPE" "$c" --no-such-option
    ok "$c refuses an unknown option" exits 2
    ok "$c names the option it does not know" err "there is no option --no-such-option"
done
for topic in settings stages selection keys diagnosis; do
    run "$AOTSCOPE" help $topic
    ok "help $topic prints a page" exits 0
done
run "$AOTSCOPE" help keys
ok "help keys names an action" out "stage-next"
run "$AOTSCOPE" help settings
ok "help settings names a setting" out "activation_memory_budget=1"
solvers=$("$AOTSCOPE" help activation_memory_budget_solver | sed -n 's/^ *one of: //p')
ok "help tells what the solver may be" test -n "$solvers"
for solver in $solvers; do
    run "$AOTSCOPE" help "$solver"
    ok "help $solver tells of that solver" out "Solvers of the budget"
done
while read -r word; do
    run "$AOTSCOPE" help "$word"
    ok "help '$word' explains it" exits 0
done <<'END'
unit
primals
tangents
saved values
joint graph
forward module
mutated inputs
intermediate bases
num_fwd_outputs
static inputs
ban reason
one cut
reduction op
random-redrawn
AOTDispatchAutograd
!
END
run "$AOTSCOPE" help "no such word"
ok "another word is an error" exits 2

run "$AOTSCOPE" partition --outptu x
ok "a mistyped option is answered with the nearest one" err "did you mean --output?"
run "$AOTSCOPE" partition -o
ok "a missing value is named" err "needs a value"
run "$AOTSCOPE" partition --help=yes
ok "a switch takes no value" err "takes no value"
run "$AOTSCOPE" show "$log" --stage joint --stage forward
ok "an option that does not repeat given twice is an error" exits 2
ok "both values are named" err "--stage is given twice: 'joint' and 'forward'"
run "$AOTSCOPE" show "$log" -u 0 -u 0
ok "by letter, too" exits 2
run "$AOTSCOPE" show "$log" --saved --saved --set cse=False --set cse=True
ok "switches and --set may be given twice" exits 0
run "$AOTSCOPE" partition
ok "a missing input is an error" exits 2
ok "a missing input is named" err "input is missing"
ok "the error says where to read more" err "aotscope help partition"
run "$AOTSCOPE" help one two
ok "one argument too many is an error" err "'two' is one argument too many"
run "$AOTSCOPE" partiton
ok "a mistyped command is answered with the nearest one" err "did you mean 'partition'?"
run "$AOTSCOPE" help --completion csh
ok "an unknown shell is an error" exits 2

for c in info show check import partition export; do
    run "$AOTSCOPE" $c "$scratch/absent.log" -o "$scratch/o" || :
    ok "$c of a file that is not there exits with 2" exits 2
done
run "$AOTSCOPE" info "$scratch/absent.log"
ok "a file that is not there is named" err "$scratch/absent.log"
ok "errors start with the program's name" err "aotscope: "
printf 'no graph in here\n' >"$scratch/prose.txt"
run "$AOTSCOPE" info "$scratch/prose.txt"
ok "a text that is no log is an error" exits 2
: >"$scratch/empty.log"
run "$AOTSCOPE" info "$scratch/empty.log"
ok "an empty file is an error" exits 2
head -c 4000 /dev/urandom >"$scratch/junk"
run "$AOTSCOPE" info "$scratch/junk"
ok "binary junk is an error" exits 2
run "$AOTSCOPE" info "$scratch"
ok "a folder without a log ends with an exit code, not a signal" test "$code" -le 2
run "$AOTSCOPE" partition "$log" -o "$scratch/out-dir" --set no_such_setting=1
ok "an unknown setting is an error" exits 2
ok "it says where all are listed" err "aotscope help settings"
run "$AOTSCOPE" partition "$log" -o "$scratch/out-dir" --set activation_memory_budget=2
ok "a setting out of range is an error" exits 2

run "$AOTSCOPE" "$log"
ok "without a terminal an input is summed up" exits 0
ok "the summary counts the units" out " unit"
ok "the summary names the batch commands" out "aotscope show "
ok "nothing is coloured in a pipe" no_escape out
ok "no progress bar in a pipe" silent err

# Each command that the summary of these inputs names is run; all must work.
suggestions_work()
{
    "$AOTSCOPE" "$@" >"$scratch/summary" || return 1
    sed -n "s/^  aotscope \(.*\) *# .*/\1/p" "$scratch/summary" >"$scratch/suggested"
    [ -s "$scratch/suggested" ] || return 1
    while IFS= read -r words; do
        (cd "$scratch" && eval "'$AOTSCOPE' $words" >"$scratch/did" 2>&1 </dev/null) || { echo "$words"; tail -3 "$scratch/did"; return 1; }
    done <"$scratch/suggested"
}
ok "what the summary suggests works for a training log" suggestions_work "$log"
ok "for two logs" suggestions_work "$AOT_FIXTURES/logs/ddp_rank_0.log.gz" "$AOT_FIXTURES/logs/ddp_rank_1.log.gz"
ok "for an inference log" suggestions_work "$AOT_FIXTURES/logs/inference_mlp.log.gz"
ok "an inference log is not said to save something" sh -c '! grep -q -e --saved "$1"' - "$scratch/suggested"
ok "for a log of compiled autograd" suggestions_work "$AOT_FIXTURES/logs/compiled_autograd.trace.log.gz"
gunzip -c "$AOT_FIXTURES/logs/three_units.stderr.gz" | sed -n 20,38p >"$scratch/none.log"
ok "for an input without units" suggestions_work "$scratch/none.log"
"$AOTSCOPE" import "$log" -o "$scratch/summary.aots" 2>/dev/null
ok "for a session" suggestions_work "$scratch/summary.aots"
ok "a session is not to be imported" sh -c '! grep -q "^import" "$1"' - "$scratch/suggested"
run "$AOTSCOPE" -- "$log"
ok "-- ends the options" exits 0
run sh -c 'gzip -dc "$1" | "$2" info -' sh "$log" "$AOTSCOPE"
ok "- is standard input" exits 0

quiet_pipe()
{
    for i in 1 2 3; do
        "$AOTSCOPE" help --man 2>"$scratch/pipe-err" | head -n 1 >/dev/null
        (trap '' PIPE; "$AOTSCOPE" show "$log" 2>>"$scratch/pipe-err" | head -n 1 >/dev/null)
    done
    [ ! -s "$scratch/pipe-err" ] || { cat "$scratch/pipe-err"; return 1; }
}
ok "a closed pipe ends it quietly" quiet_pipe
if [ -w /dev/full ]; then
    full() { "$AOTSCOPE" help --man >/dev/full 2>"$scratch/full"; [ $? = 2 ] && grep -q 'standard output' "$scratch/full"; }
    ok "a full disk is an error" full
else
    skip "a full disk is an error" "there is no /dev/full"
fi
if script -qec true /dev/null >/dev/null 2>&1; then
    on_terminal() { TERM=xterm NO_COLOR=$1 script -qec "'$AOTSCOPE' help" /dev/null >"$scratch/tty" </dev/null; }
    coloured() { on_terminal ''; grep -q "$esc\[1m" "$scratch/tty"; }
    plain() { on_terminal 1; ! grep -q "$esc\[1m" "$scratch/tty"; }
    ok "headings are bold on a terminal" coloured
    ok "NO_COLOR turns that off" plain
    build() { # LAST-COMMAND: what the build prints at its end is no failure
        echo ". '$AOT_SRC/tools/build.sh'; aot_quiet '$scratch/build.log' building 1 \
            sh -c 'echo \"  CC       a.o\"; echo \"  CCLD     b\"; $1'" >"$scratch/build.sh"
        script -qec "bash '$scratch/build.sh'" /dev/null </dev/null
    }
    failed_build() { ! build false; }
    ok "a build in a terminal that works is one that worked" build true
    ok "and one that fails has failed" failed_build
else
    skip "NO_COLOR turns colour off" "script(1) is not installed"
fi
for c in "export --what partition" "partition" "run" "sweep"; do
    # shellcheck disable=SC2086 -- words
    run "$AOTSCOPE" $c "$AOT_FIXTURES/logs/train_break.log.gz" -o ''
    ok "an empty place to write to is named: $c" err "--output has an empty value: it needs the name of a f"
done

done_testing
