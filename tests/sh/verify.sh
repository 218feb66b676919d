#!/bin/sh
# verify: units run three ways, and mistakes made on purpose that must be found where they are.
. "$AOT_SRC/tests/sh/lib.sh"
unit() { ls "$AOT_SRC/fixtures/oracle/$1"/trace.log* | head -n 1; }

run "$AOTSCOPE" verify "$(unit linear_relu)"
ok "a unit passes" exits 0
ok "and says what was compared" out "PASS (18 values, 0 of them computed again, 1 output, 2 gradients)"
run "$AOTSCOPE" verify "$(unit slice_assign)"
ok "writes into parts pass, their gradients in double too" exits 0

run "$AOTSCOPE" verify "$(unit pain_dropout_under_budget)"
ok "a dropout that is saved passes" exits 0
run "$AOTSCOPE" verify "$(unit pain_dropout_under_budget)" --set activation_memory_budget=0.5
ok "one that is drawn again differs" exits 1
ok "at the dropout itself" out "first backward: native_dropout (torch.ops.aten.native_dropout.default), computed again"

run "$AOTSCOPE" verify "$(unit pain_read_after_mutation)"
ok "an input that is read after it was written differs" exits 1
ok "first at the input" out "first backward: primals_1, which the backward is given"
ok "and the gradient is told to be wrong" out "the gradient of L['x'] is not the finite difference of eager"

run "$AOTSCOPE" verify "$(unit mutate_and_train)" --fault lost-copy
ok "a lost copy_ is found" exits 1
ok "at the input" out "first call: L['x'] behind the call is not what eager leaves in it"
run "$AOTSCOPE" verify "$(unit mutate_and_train)" --fault mutated-recompute
ok "a value computed again from a written input is found" exits 1
ok "at the saved value" out "first backward: detach_1 (torch.ops.aten.detach.default), which the backward is given"
run "$AOTSCOPE" verify "$(unit output_aliases_input)" --fault wrong-alias
ok "an alias that is not made again is found" exits 1
ok "at the output" out "first call: output 0 shares no memory with L['x'], in eager it does"
run "$AOTSCOPE" verify "$(unit checkpoint_dropout)"
ok "a checkpointed dropout passes: its state is set again" exits 0
run "$AOTSCOPE" verify "$(unit checkpoint_dropout)" --fault unthreaded-dropout
ok "a state that is not set again is found" exits 1
ok "at the dropout" out "first backward: getitem (item 0 of run_with_rng_state, torch.ops.higher_order.run_with_rng_state)"
for hop in cond_branches while_loop_inference effect_tokens_print; do
    run "$AOTSCOPE" verify "$(unit $hop)"
    ok "$hop is run" exits 0
done
run "$AOTSCOPE" verify "$(unit custom_op_mutating)"
ok "a unit that cannot be run does not pass" exits 2
ok "and is named with its reason" out "NOT RUN: node auto_functionalized_v2: higher_order.auto_functionalized_v2: the operator inside writes its arguments"
run "$AOTSCOPE" verify "$(unit linear_relu)" --fault lost-copy
ok "a mistake that has nothing to break is an error" exits 2
ok "that says so" err "the unit has nothing that it would break"
run "$AOTSCOPE" verify "$(unit linear_relu)" --fault nonsense
ok "an unknown one names those there are" err "there are unthreaded-dropout, lost-copy, wrong-alias, mutated-recompute"

# What the backward reads must be as it was: autograd counts the writes.
program() {
    cat >"$scratch/program.txt" <<EOF
# aotscope: requires_grad L_x_
# aotscope: requires_grad L_w_
class GraphModule(torch.nn.Module):
    def forward(self, L_x_: "f32[4][1]cpu", L_w_: "f32[4][1]cpu"):
        l_x_ = L_x_
        l_w_ = L_w_
        mul: "f32[4][1]cpu" = $1
        sin: "f32[4][1]cpu" = torch.sin(mul);  mul = None
        _set_grad_enabled = torch._C._set_grad_enabled(False)
        add_: "f32[4][1]cpu" = l_x_.add_(1)
        _set_grad_enabled_1 = torch._C._set_grad_enabled(True)
        return (sin,)
EOF
}
program "l_x_ * l_w_"
run "$AOTSCOPE" verify "$scratch/program.txt"
ok "a saved input that is written is refused, as PyTorch does" exits 2
ok "with the reader, and both versions" out "the gradient of aten.mul.Tensor reads its argument 0, which was written in place since (version 1, saved at 0)"
program "l_x_ + l_w_"
run "$AOTSCOPE" verify "$scratch/program.txt"
ok "one that nobody reads is not" exits 0

# Where gradients stop, finite differences must not see what is behind: f(w): (w * w.detach()).sum()
cat >"$scratch/stops.txt" <<EOF
# aotscope: requires_grad L_w_
class GraphModule(torch.nn.Module):
    def forward(self, L_w_: "f32[4][1]cpu"):
        l_w_ = L_w_
        detach: "f32[4][1]cpu" = l_w_.detach()
        mul: "f32[4][1]cpu" = l_w_ * detach
        return (mul,)
EOF
run "$AOTSCOPE" verify "$scratch/stops.txt"
ok "a detached value is held in the finite differences" exits 0
ok "which are compared" out "1 gradient"

# Of 8000 numbers some change places within any but a very short step.
cat >"$scratch/sort.txt" <<EOF
# aotscope: requires_grad L_w_
class GraphModule(torch.nn.Module):
    def forward(self, L_w_: "f32[8000][1]cpu"):
        l_w_ = L_w_
        sort = torch.sort(l_w_)
        getitem: "f32[8000][1]cpu" = sort[0]
        return (getitem,)
EOF
run "$AOTSCOPE" verify "$scratch/sort.txt"
ok "sorted numbers have the gradient of the order that they have" exits 0
ok "also compared" out "1 gradient)"

# f(w): with no_grad(): w.mul_(2); w.sin(): nothing can be held
cat >"$scratch/hidden.txt" <<EOF
# aotscope: requires_grad L_w_
class GraphModule(torch.nn.Module):
    def forward(self, L_w_: "f32[4][1]cpu"):
        l_w_ = L_w_
        _set_grad_enabled = torch._C._set_grad_enabled(False)
        mul_: "f32[4][1]cpu" = l_w_.mul_(2)
        _set_grad_enabled_1 = torch._C._set_grad_enabled(True)
        sin: "f32[4][1]cpu" = torch.sin(l_w_)
        return (sin,)
EOF
run "$AOTSCOPE" verify "$scratch/hidden.txt"
ok "a write that autograd does not see is told" out "a value is written where autograd does not see it"

run "$AOTSCOPE" verify "$(unit batch_norm_running_stats)" --fault mutated-recompute
ok "a mistake that changes no number is none that could be caught" err "the unit has nothing that it would break"

# Where two numbers go to one position, PyTorch's gradient of scatter is not the derivative.

cat >"$scratch/scatter.txt" <<'EOF'
# aotscope: requires_grad L_v_
class GraphModule(torch.nn.Module):
    def forward(self, L_v_: "f32[2, 300][300, 1]cpu", L_x_: "f32[1, 300][300, 1]cpu", L_i_: "i64[2, 300][300, 1]cpu"):
        l_v_ = L_v_
        l_x_ = L_x_
        l_i_ = L_i_
        scatter: "f32[1, 300][300, 1]cpu" = l_x_.scatter(0, l_i_, l_v_);  l_x_ = l_i_ = l_v_ = None
        return (scatter,)
EOF
run "$AOTSCOPE" verify "$scratch/scatter.txt"
ok "what PyTorch's formula does not cover is no finding" exits 0
ok "but is told" out "PyTorch's gradient of scatter holds where no position is written twice"
run "$AOTSCOPE" verify "$AOT_SRC/fixtures/pt2/mlp_training.pt2"
ok "an exported program that writes buffers, in it and within batch_norm, passes" exits 0
ok "its outputs are the user's" out "2 outputs"

run "$AOTSCOPE" verify "$(unit mutate_and_train)" --fault lost-copy --json
ok "the steps of a finding are told of the unit too" sh -c '! grep -q "\"max_ulps\": 0" "$1"' - "$scratch/out"
# batch_norm counts the items of another operator in eager than in the joint graph.
cat >"$scratch/norm.txt" <<EOF
# aotscope: requires_grad L_w_
class GraphModule(torch.nn.Module):
    def forward(self, L_x_: "f32[4, 3][3, 1]cpu", L_w_: "f32[3][1]cpu", L_m_: "f32[3][1]cpu", L_v_: "f32[3][1]cpu"):
        l_x_ = L_x_
        l_w_ = L_w_
        batch_norm: "f32[4, 3][3, 1]cpu" = torch.nn.functional.batch_norm(l_x_, L_m_, L_v_, l_w_, None, True, 0.1, 1e-05)
        return (batch_norm,)
EOF
run "$AOTSCOPE" verify "$scratch/norm.txt" --fault lost-copy
ok "values that only have one name are not compared" sh -c '! grep -q "first differs from eager" "$1"' - "$scratch/out"
ok "the buffer is told" out "behind the call is not what eager leaves in it"
# The state of a generator and an item of a gradient have one name in the forward and the joint graph.
run "$AOTSCOPE" verify "$AOT_FIXTURES/logs/checkpointed_dropout_norm.log.gz"
ok "values of one name that other operators made are not compared" out "PASS (21 values, 3 of them computed again"
run "$AOTSCOPE" check "$AOT_FIXTURES/logs/checkpointed_dropout_norm.log.gz"
ok "a saved state of a generator is donated" out "4 same, 0 differ"
cat >"$scratch/size.txt" <<'EOF'
class GraphModule(torch.nn.Module):
    def forward(self, arg0_1: "f32[4, 3][3, 1]cpu"):
        sym_size: "Sym(3)" = torch.ops.aten.sym_size.int(arg0_1, -1)
        mul: "f32[4, 3][3, 1]cpu" = torch.ops.aten.mul.Tensor(arg0_1, sym_size);  arg0_1 = sym_size = None
        return (mul,)
EOF
run "$AOTSCOPE" replay "$scratch/size.txt" --steps 9
ok "sizes of a traced graph are numbers of its tensors" exits 0
ok "told as such" out "sym_size"
run "$AOTSCOPE" verify "$(unit linear_relu)" --json
ok "as JSON" out '"format": "aotscope/1"'
ok "with the outcome" out '"outcome": "PASS"'
run "$AOTSCOPE" verify "$AOT_FIXTURES/oracle/pain_dropout_decomposed/trace.log.gz"
ok "where outputs cannot be compared, that gradients alone were is said" out "gradients only: 1"
done_testing
