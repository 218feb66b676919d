#!/bin/sh
# --redact: nothing of the user's is left in a session, in a copy of a session, or in what is shown; what
# PyTorch did is all there.
. "$AOT_SRC/tests/sh/lib.sh"

# Every place where a name of the user may stand, each with "secret" in it.
cat >"$scratch/secretfile.txt" <<'END'
class GraphModule(torch.nn.Module):
    def forward(self, L_self_modules_secretmodule_parameters_secretweight_: "f32[4, 4][4, 1]cpu", L_secretinput_: "f32[4, 4][4, 1]cpu"):
        l_self_modules_secretmodule_parameters_secretweight_ = L_self_modules_secretmodule_parameters_secretweight_
        l_secretinput_ = L_secretinput_

        # File: /home/secretuser/secretproject/secretmodel.py:12 in secretfunction, code: secretvalue = F.relu(secretinput)
        _log_api_usage_once = torch._C._log_api_usage_once('secretproject.ops.SECRET');  _log_api_usage_once = None
        pad: "f32[4, 4][4, 1]cpu" = torch.ops.aten._pad_enum.default(l_secretinput_, [0], 'SECRET'); pad = None
        padded: "f32[4, 4][4, 1]cpu" = torch.nn.functional.pad(l_secretinput_, (0, 0), 'reflect');  padded = None
        to: "f32[4, 4][4, 1]cpu" = l_secretinput_.to('cuda:0', 'secretdtype');  to = None
        einsum: "f32[4, 4][4, 1]cpu" = torch.functional.einsum('ab,bc->ac', l_secretinput_, l_secretinput_);  einsum = None
        secretvalue: "f32[4, 4][4, 1]cpu" = torch.nn.functional.relu(l_secretinput_);  l_secretinput_ = None
        secretvalue_1: "f32[4, 4][4, 1]cpu" = torch.ops.secretspace.secretop.default(secretvalue, secretkey = 'secret text');  secretvalue = None
        secretother: "f32[4, 4][4, 1]cpu" = secretvalue_1 @ l_self_modules_secretmodule_parameters_secretweight_;  secretvalue_1 = l_self_modules_secretmodule_parameters_secretweight_ = None
        secretlayer: "f32[4, 4][4, 1]cpu" = self.secretlayer(secretother);  secretother = None
        return (secretlayer,)
END
# No secret in a file's bytes, pages that are free included; nor in what SQLite leaves beside it.
clean()
{
    for f in "$1" "$1"-*; do
        [ ! -e "$f" ] || ! grep -aio '[a-z_]*secret[a-z_]*' "$f" || return 1
    done
}
query() { sqlite3 "$1" "$2" >"$scratch/out"; }

run "$AOTSCOPE" import "$scratch/secretfile.txt" -o "$scratch/s.aots" --redact
ok "a text is recorded redacted" exits 0
ok "no byte of the session has a name of the user" clean "$scratch/s.aots"
run "$AOTSCOPE" show "$scratch/s.aots" --stage dynamo
ok "the graph is there" out "torch.nn.functional.relu("
ok "line numbers stay, paths and code go" out "file_1.py:12 in "
ok "what a text constant of the user named is told apart" grep -q "_log_api_usage_once('n[0-9]*[.]n[0-9]*[.]n[0-9]*')" "$scratch/out"
ok "a mode of PyTorch's stays" out "'reflect')"
ok "a device stays" out "'cuda:0', 'n"
ok "an equation stays" out "'ab,bc->ac'"
ok "a parameter is still one" out "L_self_modules_n"
run "$AOTSCOPE" show "$scratch/secretfile.txt" --stage dynamo --redact
cp "$scratch/out" "$scratch/shown"
ok "what is shown is redacted too" clean "$scratch/shown"
ok "and not empty" out "relu("

# Every command that reads units: whatever it prints or writes has none of the names.
cat >"$scratch/secretjoint.txt" <<'END'
class joint_helper(torch.nn.Module):
    def forward(self, primals, tangents):
        primals_1: "f32[4, 4][4, 1]cpu"; tangents_1: "f32[4, 4][4, 1]cpu";
        primals_1, tangents_1, = fx_pytree.tree_flatten_spec([primals, tangents], self._in_spec)
        # File: /home/secretuser/secretproject/secretmodel.py:12 in secretfunction, code: secretvalue = F.relu(secretinput)
        sin: "f32[4, 4][4, 1]cpu" = torch.ops.aten.sin.default(primals_1)
        cos: "f32[4, 4][4, 1]cpu" = torch.ops.aten.cos.default(primals_1);  primals_1 = None
        mul: "f32[4, 4][4, 1]cpu" = torch.ops.aten.mul.Tensor(tangents_1, cos);  tangents_1 = cos = None
        return pytree.tree_unflatten([sin, mul], self._out_spec)
END
cat "$scratch/secretfile.txt" "$scratch/secretjoint.txt" >"$scratch/secret.txt"
tries=0
all_redacted()
{
    for name in open info show explain lint rng mutation diff ranks check run trace passes partition sweep memory \
        profile export; do
        set -- "$scratch/secret.txt"
        rm -rf "$scratch/written"
        case $name in
        explain) set -- "$@" cos ;;
        diff) set -- "$@" --stage joint --other-stage forward ;;
        ranks) set -- "$@" "$@" ;;
        run) set -- "$@" -o "$scratch/written" ;;
        trace | passes | partition) set -- "$@" -o "$scratch/written" ;;
        export) set -- "$@" --what partition --format dot ;;
        esac
        run "$AOTSCOPE" "$name" "$@" --redact
        ! grep -q "unknown option" "$scratch/err" || { echo "$name: no --redact"; return 1; }
        [ -s "$scratch/out" ] || [ -s "$scratch/err" ] || [ -e "$scratch/written" ] || { echo "$name: nothing"; return 1; }
        # the person's own folder, in the file name that they typed, is no name of the input's
        sed "s|$scratch/secret[a-z]*.txt||g" "$scratch/out" "$scratch/err" >"$scratch/printed"
        clean "$scratch/printed" || { echo "$name prints it"; return 1; }
        if [ -e "$scratch/written" ]; then
            ! grep -raio '[a-z_]*secret[a-z_]*' "$scratch/written" || { echo "$name writes it"; return 1; }
        fi
        tries=$((tries + 1))
    done
}
ok "no command prints or writes a name of the user" all_redacted
run "$AOTSCOPE" open "$scratch/secretfile.txt" --redact
ok "not even the name of the input" grep -q "aotscope info input_1 " "$scratch/out"
run "$AOTSCOPE" memory "$scratch/secret.txt" --redact
ok "memory is that of the graph" out "cos"
has_redact() { grep -q -- "--redact" "$scratch/out"; }
lacking()
{
    for name in $(sed -n 's/^CMD(\([a-z]*\)).*/\1/p' "$AOT_SRC/tui/commands.def"); do
        case $name in merge | exec | replay | verify | knapsack | ops | help) continue ;; esac # they print no unit, or run on values by name (import --redact, then run)
        run "$AOTSCOPE" help "$name"
        has_redact || { echo "$name"; return 1; }
    done
}
ok "every command that prints units has the option" lacking

# A session that was not redacted is copied redacted.
log=$AOT_FIXTURES/logs/train_break.log.gz
"$AOTSCOPE" import "$log" -o "$scratch/plain.aots" 2>"$scratch/err"
run "$AOTSCOPE" import "$scratch/plain.aots" -o "$scratch/copy.aots" --redact
ok "a session is copied" exits 0
no_words()
{
    for w in raw_train train_break "$AOT_FIXTURES" "$scratch" "self.b(F" "L_x_" "code: return"; do
        ! grep -aq -- "$w" "$1" || { echo "still there: $w"; return 1; }
    done
}
ok "without its source, paths and names" no_words "$scratch/copy.aots"
ok "which the session itself holds" grep -aq "raw_train" "$scratch/plain.aots"
if command -v sqlite3 >/dev/null 2>&1; then
    facts="select label, path, n_saved, saved_bytes, cut_value, n_cut_nodes, rung from unit;
        select unit, name, bytes, weight, ban, verdict from node;
        select unit, stage, result from stage_check"
    query "$scratch/plain.aots" "$facts" && cp "$scratch/out" "$scratch/want"
    query "$scratch/copy.aots" "$facts"
    ok "every decision is the same" diff "$scratch/want" "$scratch/out"
    query "$scratch/copy.aots" "select count(*) from inputs where source like 'L[''n%'']._modules[''n%'']._parameters[''n%'']'"
    ok "sources keep their form" grep -qv '^0$' "$scratch/out"
else
    skip "every decision is the same" "no sqlite3"
fi

# Every captured unit: its checks come out as without redaction.
same_checks()
{
    for f in "$AOT_FIXTURES"/oracle/*/trace.log.gz "$AOT_FIXTURES"/export/*.log.gz "$AOT_FIXTURES"/pt2/*.pt2; do
        "$AOTSCOPE" import "$f" -o "$scratch/a.aots" 2>&1 | sed 1d >"$scratch/a"
        "$AOTSCOPE" import "$f" -o "$scratch/b.aots" --redact 2>&1 | sed 1d >"$scratch/b"
        sed 's/info .*//' "$scratch/a" >"$scratch/a1"
        sed 's/info .*//' "$scratch/b" >"$scratch/b1"
        diff "$scratch/a1" "$scratch/b1" || { echo "$f"; return 1; }
        rm -f "$scratch"/[ab].aots*
    done
}
ok "derived stages are the same as without redaction" same_checks

# :redact writes what the screen shows, not what was recorded.
log=$AOT_FIXTURES/logs/train_break.log.gz
printf '%s\n' 'type <Enter>:set activation_memory_budget=0<Enter>' 'type :stage forward<Enter>' \
    "type :redact $scratch/shown.txt<Enter>" 'screen done' 'keys qqq' >"$scratch/keys"
run "$AOTSCOPE" "$log" --script "$scratch/keys"
ok "a stage is written redacted from the screen" out "without source lines, paths and your names is in"
"$AOTSCOPE" show "$log" --unit 0 --stage forward --redact --set activation_memory_budget=0 >"$scratch/want" 2>"$scratch/err"
"$AOTSCOPE" show "$log" --unit 0 --stage forward --redact >"$scratch/recorded" 2>"$scratch/err"
ok "under the settings of the screen" cmp "$scratch/shown.txt" "$scratch/want"
ok "which are not those that were recorded" sh -c '! cmp -s "$1" "$2"' - "$scratch/shown.txt" "$scratch/recorded"
done_testing
