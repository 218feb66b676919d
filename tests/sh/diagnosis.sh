#!/bin/sh
# The diagnosis table: each symptom that aotscope itself meets, and the command of each row.
. "$AOT_SRC/tests/sh/lib.sh"
log=$AOT_FIXTURES/logs/train_break.log.gz

program() {
    cat >"$scratch/p.txt"
    run "$AOTSCOPE" trace "$scratch/p.txt" -o "$scratch/out.d"
}
program <<'END'
class GraphModule(torch.nn.Module):
    def forward(self, L_x_: "f32[4][1]cpu"):
        y: "f32[4][1]cpu" = torch.ops.mine.scale(L_x_, a = 2.0)
        return (y,)
END
ok "an operator without a fake implementation" err "no fake implementation"
ok "its likely cause" err "likely cause: a custom operator without register_fake"
ok "and the command" err "see: aotscope run INPUT --opaque"
program <<'END'
class GraphModule(torch.nn.Module):
    # aotscope: requires_grad L_x_
    def forward(self, L_x_: "f32[4][1]cpu"):
        y: "f32[4][1]cpu" = torch.ops.mine.scale(L_x_, 2.0)
        return (y,)
END
ok "an operator without a derivative" err "derivative for torch.ops.mine.scale.default is not implemented"
ok "the likely cause of that" err "likely cause: a custom operator's gradient is Python code"
program <<'END'
class GraphModule(torch.nn.Module):
    # aotscope: storage base f32[8]
    # aotscope: input L_x_ = base[0:4]
    # aotscope: input L_y_ = base[2:6]
    # aotscope: requires_grad L_x_
    def forward(self, L_x_: "f32[4][1]cpu", L_y_: "f32[4][1]cpu"):
        add_: "f32[4][1]cpu" = L_y_.add_(1)
        y: "f32[4][1]cpu" = L_x_ * 2
        return (y,)
END
if [ "$code" = 0 ]; then
    ok "a synthetic base is told in the metadata" grep -q '"synthetic_base": true' "$scratch/out.d/0.metadata.json"
else
    ok "views that are written and have no base are refused" err "aot_autograd() does not yet handle"
    ok "the likely cause is the layout of the inputs" err "likely cause: their synthetic base cannot be made"
fi
run "$AOTSCOPE" trace "$AOT_FIXTURES/seed/synthetic_base_overlapping.txt" -o "$scratch/base"
ok "the metadata of a trace says that there is a synthetic base" grep -q '"synthetic_base": true' "$scratch/base/0.metadata.json"
run "$AOTSCOPE" lint "$log"
ok "lint answers for gradients" [ "$code" != 2 ]
run "$AOTSCOPE" sweep "$log" --budgets 0:1:0.5 --solvers dp --format json -o "$scratch/sweep.json"
ok "sweep answers for memory" exits 0
run "$AOTSCOPE" replay "$log" --unit 0 --device-memory 24GiB --dry
ok "replay answers for out of memory" out "live bytes stay within 24.00 GiB"
run "$AOTSCOPE" replay "$log" --unit 0 --break diff
ok "replay answers for masks" out "computed again in the backward"
run "$AOTSCOPE" info "$log"
ok "info answers for time" exits 0
run "$AOTSCOPE" help diagnosis
ok "help diagnosis prints the table" out "as_strided_scatter in the graph"
run "$AOTSCOPE" trace "$scratch/nothing" -o "$scratch/x"
ok "an error without a row has no such lines" sh -c "! grep -q 'likely cause' '$scratch/err'"
done_testing
