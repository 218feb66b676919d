#!/bin/sh
# The library as another program uses it: docs/examples/print_compiler.c.
. "$AOT_SRC/tests/sh/lib.sh"
example=$(dirname "$AOTSCOPE")/docs/examples/print_compiler
printf '' >"$scratch/empty"

cat >"$scratch/model.txt" <<'END'
# aotscope: requires_grad L_w_
class GraphModule(torch.nn.Module):
    def forward(self, L_x_: "f32[4, 8][8, 1]cpu", L_w_: "f32[8, 2][2, 1]cpu"):
        l_x_ = L_x_
        l_w_ = L_w_
        y: "f32[4, 2][2, 1]cpu" = l_x_ @ l_w_;  l_x_ = l_w_ = None
        z: "f32[4, 2][2, 1]cpu" = y.sin();  y = None
        return (z,)
END
run "$example" "$scratch/model.txt"
ok "a Dynamo graph is compiled" exits 0
ok "the forward is handed over" out "forward:"
ok "then the backward" out "backward:"
ok "with types" out 'f32[4, 2][2, 1]cpu'
ok "as instructions" out 'torch.ops.aten.sin.default(mm)'
ok "a slot is taken again after its last use" out "; 4 slots"
ok "metadata name what is saved" out '"name": "mm"'
ok "and the wrappers around it" out '"AOTDispatchAutograd"'
run "$example" "$scratch/model.txt" activation_memory_budget=0
ok "settings are those of --set" exits 0
ok "at budget 0 inputs are saved" out '"name": "primals_2"'
ok "and the product is computed again" sh -c '[ "$(grep -c "mm.default(primals_1, primals_2)" "$1")" = 2 ]' - "$scratch/out"
sed 1d "$scratch/model.txt" >"$scratch/inference.txt"
run "$example" "$scratch/inference.txt"
ok "without gradients there is one graph" out "inference:"
ok "and no backward" sh -c '! grep -q "^backward:" "$1"' - "$scratch/out"
run "$example" "$scratch/model.txt" activation_memory_budget=much
ok "a wrong setting is an error" exits 2
ok "that names it" err "activation_memory_budget"
run "$example" "$scratch/missing"
ok "a file that is not there is said" err "missing: No such file or directory"
run "$example" "$scratch"
ok "and that one is a folder" err "Is a directory"
run "$example" "$scratch/empty"
ok "so is an empty text" exits 2
"$AOTSCOPE" show "$AOT_FIXTURES/logs/train_break.log.gz" --unit 0 --stage joint >"$scratch/joint.txt"
run "$example" "$scratch/joint.txt"
ok "a joint graph alone is cut" out "backward:"
ok "of which nothing says how it is called" out '"runtime": null'
done_testing
