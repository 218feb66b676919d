#!/bin/sh
# A compiled unit called other than it was compiled for: who catches it. What is expected was seen with PyTorch 2.11.
. "$AOT_SRC/tests/sh/lib.sh"
unit() { ls "$AOT_SRC/fixtures/oracle/$1"/trace.log* | head -n 1; }
seed="$AOT_SRC/fixtures/seed"
try() { run "$AOTSCOPE" verify "$1" --misuse "$2"; }

# f(x, y): x.mul_(2); return x + y
cat >"$scratch/two.txt" <<EOF
class GraphModule(torch.nn.Module):
    def forward(self, L_x_: "f32[4][1]cpu", L_y_: "f32[4][1]cpu"):
        l_x_ = L_x_
        l_y_ = L_y_
        mul_: "f32[4][1]cpu" = l_x_.mul_(2)
        add: "f32[4][1]cpu" = l_x_ + l_y_
        return (add,)
EOF
sed 's/mul_: "f32\[4\]\[1\]cpu" = l_x_.mul_(2)/mul_: "f32[4][1]cpu" = l_x_.mul(2)/' "$scratch/two.txt" >"$scratch/pure.txt"
try "$scratch/two.txt" same-tensor
ok "two tensors that become one, one of them mutated, give wrong results" exits 1
ok "at the output, which nobody refuses" out "first call: output 0 is not what compiling again gives: 4 of 4 elements differ"
ok "Dynamo would compile again" out "note: Dynamo: its guard that no two inputs are one tensor fails"
try "$scratch/pure.txt" same-tensor
ok "without a mutation the unit holds" exits 0
try "$scratch/two.txt" overlap
ok "inputs that overlap now give wrong results" exits 1
ok "where they overlap alone" out "first call: output 0 is not what compiling again gives: 2 of 4 elements differ"
ok "and nobody looks" out "note: Dynamo: no guard looks at it where sizes are fixed"
try "$scratch/pure.txt" overlap
ok "without a mutation that holds too" exits 0

try "$seed/dedupe_mutated.txt" two-tensors
ok "a duplicate that is none is refused" exits 1
ok "by AOTDedupeWrapper" out "first call: AOTDedupeWrapper: compiled under the assumption that L_y_ would be a duplicate of L_x_"
try "$seed/dedupe_untouched.txt" two-tensors
ok "where neither is mutated the graph takes both" exits 0
try "$seed/synthetic_base_overlapping.txt" apart
ok "views that are none are refused" exits 1
ok "by AOTSyntheticBaseWrapper" out "first call: AOTSyntheticBaseWrapper: compiled for inputs that overlap in memory (the base of L_x_ and L_y_), but now L_y_ has memory of its own"
try "$seed/synthetic_base_overlapping.txt" other-views
ok "views of another place give wrong results" out "first call: output 0 is not what compiling again gives"

try "$(unit linear_relu)" requires-grad
ok "an input that now requires grad gets none" out "first call: L['x'] gets no gradient"
run "$AOTSCOPE" verify "$(unit linear_relu)" --misuse requires-grad --set debug_assert=True
ok "DebugAssertWrapper refuses it" out "first call: DebugAssertWrapper: compiled under the assumption that L['x'] would not require grad"
try "$(unit linear_relu)" two-forwards
ok "two forwards before a backward are allowed" exits 0
ok "both hold their saved values" out "256 B of saved values by the first call, 256 B by the second, 512 B together; 128 B of what is saved are the inputs' own"
try "$(unit linear_relu)" backward-twice
ok "a second backward is refused" out "first call: AOTDispatchAutograd: the saved values went with the first backward"
try "$(unit linear_relu)" written-saved
ok "a saved input that is written is refused" out "it is at version 1; expected version 0"
try "$(unit linear_relu)" retain-graph
ok "retain_graph is refused where buffers are donated alone" exits 0

# f(x, y): return (x.sin() * y).cos()
cat >"$scratch/donated.txt" <<EOF
# aotscope: requires_grad L_x_
# aotscope: requires_grad L_y_
class GraphModule(torch.nn.Module):
    def forward(self, L_x_: "f32[4][1]cpu", L_y_: "f32[4][1]cpu"):
        l_x_ = L_x_
        l_y_ = L_y_
        sin: "f32[4][1]cpu" = l_x_.sin()
        mul: "f32[4][1]cpu" = sin * l_y_
        cos: "f32[4][1]cpu" = mul.cos()
        return (cos,)
EOF
run "$AOTSCOPE" verify "$scratch/donated.txt" --misuse retain-graph --set partitioner=default_partition
ok "donated buffers refuse retain_graph" out "first call: AOTDispatchAutograd: the backward may overwrite 2 saved values (donated buffers)"
run "$AOTSCOPE" verify "$scratch/donated.txt" --misuse retain-graph --set partitioner=default_partition --set donated_buffer=False
ok "not so without them" exits 0
try "$scratch/donated.txt" nonsense
ok "an unknown misuse names those there are" err "there are same-tensor, two-tensors, overlap, apart"
try "$scratch/donated.txt" apart
ok "a unit without such inputs says so" err "--misuse apart: the unit has no inputs that were merged into a base"
# f(x, b): out = x * b.clone(); b.add_(1): the second forward writes what the first holds.
cat >"$scratch/buffer.txt" <<EOF
# aotscope: requires_grad L_x_
class GraphModule(torch.nn.Module):
    def forward(self, L_x_: "f32[4][1]cpu", L_b_: "f32[4][1]cpu"):
        l_x_ = L_x_
        l_b_ = L_b_
        clone: "f32[4][1]cpu" = l_b_.clone()
        mul: "f32[4][1]cpu" = l_x_ * clone
        add_: "f32[4][1]cpu" = l_b_.add_(1)
        return (mul,)
EOF
try "$scratch/buffer.txt" two-forwards
ok "a buffer that is saved and written by the next forward is refused" out "saved value 0 (primals_2) was written since the forward"
run "$AOTSCOPE" verify "$(unit linear_relu)" --misuse backward-twice --json
ok "as JSON" out '"kind": "check"'
# On values of one's own: x = [1, 2, 3, 4], y the same tensor, then a view of it.
x='{"dtype": "float32", "shape": [4], "data": [1, 2, 3, 4]}'
printf '{"inputs": {"L_x_": %s, "L_y_": {"same_as": "L_x_"}}}' "$x" >"$scratch/v.json"
run "$AOTSCOPE" exec "$scratch/two.txt" --values "$scratch/v.json"
ok "a unit is run on one tensor as two" exits 0
ok "and Dynamo's guard is told" err "inputs.L_y_ is the same tensor as L_x_, the unit was compiled for two tensors with memory of their own: Dynamo would compile again"
tr -d ' \n' <"$scratch/out" >"$scratch/flat"
ok "with what PyTorch's aot_function gives then" grep -qF '"data":[3.0,6.0,9.0,12.0]' "$scratch/flat"
six='{"dtype": "float32", "shape": [4], "stride": [1], "data": [1, 2, 3, 4]}'
printf '{"inputs": {"L_x_": %s, "L_y_": {"view_of": "L_x_", "shape": [4], "stride": [0], "offset": 1}}}' "$six" >"$scratch/v.json"
run "$AOTSCOPE" exec "$scratch/two.txt" --values "$scratch/v.json"
ok "a view is taken of the memory given" err "no guard of PyTorch looks at it"
printf '{"inputs": {"L_x_": %s, "L_y_": {"view_of": "L_x_", "shape": [4], "offset": 1}}}' "$six" >"$scratch/v.json"
run "$AOTSCOPE" exec "$scratch/two.txt" --values "$scratch/v.json"
ok "a view beyond it is an error" err "inputs.L_y_: the view reaches beyond the 4 elements of the memory that it is of"
done_testing
