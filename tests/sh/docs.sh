#!/bin/sh
# docs/ says what the program says (`make docs` writes it anew), and the man page is sound roff.
. "$AOT_SRC/tests/sh/lib.sh"

sh "$AOT_SRC/tools/make-docs.sh" "$AOTSCOPE" "$scratch/docs" || exit 99
for f in aotscope.1 commands.md tables.md diagnosis.md keys.md questions.md completion/aotscope completion/_aotscope completion/aotscope.fish; do
    ok "docs/$f is what the program prints (else: make docs)" \
        diff -u "$AOT_SRC/docs/$f" "$scratch/docs/$f"
done

if command -v groff >/dev/null; then
    quiet_roff() { groff -man -Tutf8 -ww "$scratch/docs/aotscope.1" 2>&1 >/dev/null | tee "$scratch/roff"; [ ! -s "$scratch/roff" ]; }
    ok "groff has nothing to say about the man page" quiet_roff
else
    skip "groff has nothing to say about the man page" "groff is not installed"
fi
if command -v bash >/dev/null; then
    ok "the bash completion parses" bash -n "$scratch/docs/completion/aotscope"
    cat >"$scratch/complete.sh" <<'END'
. "$1"
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_aotscope
printf '%s\n' "${COMPREPLY[@]}"
END
    completes() { want=$1; shift; bash "$scratch/complete.sh" "$scratch/docs/completion/aotscope" "$@" | grep -qxF -- "$want"; }
    ok "bash completes a command" completes partition aotscope parti
    ok "bash completes an option" completes --output aotscope partition --out
    ok "bash completes a setting" completes activation_memory_budget= aotscope partition --set activation_memory_b
    ok "bash completes a stage" completes joint_cse aotscope show x.log --stage joint
    ok "bash completes a stage after a letter" completes backward aotscope show x.log -s ba
    ok "bash completes a stage after a sign" completes dynamo aotscope show x.log --stage = d
    ok "bash completes a format" completes svg aotscope export x.log -f s
    ok "bash completes what to draw" completes mincut aotscope export x.log --what m
    ok "bash completes a setting's value" completes False aotscope show x.log --set cse = F
    ok "bash completes it in one word, too" completes greedy aotscope show x.log --set activation_memory_budget_solver=g
    ok "bash completes files elsewhere" completes "$AOT_SRC/README.md" aotscope show "$AOT_SRC/README.m"
else
    skip "the bash completion parses" "bash is not installed"
fi
all_commands_in()
{
    for c in $("$AOTSCOPE" help | awk '/^Commands/ { on = 1; next } /^$/ { on = 0 } on && /^  [a-z]/ { print $1 }'); do
        grep -qE "^(## |\.SS )$c\$" "$1" || { echo "$c is not in $1"; return 1; }
    done
}
ok "the man page has every command" all_commands_in "$AOT_SRC/docs/aotscope.1"
ok "commands.md has every command" all_commands_in "$AOT_SRC/docs/commands.md"
done_testing
