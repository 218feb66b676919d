#!/bin/sh
# exec: a unit run on given values through its wrappers, and what is said about bad values. The expected
# numbers are those of PyTorch 2.11 in eager mode.
. "$AOT_SRC/tests/sh/lib.sh"

# y = 2 sin(w), w requires grad; x is written; the second output is a view of x.
cat >"$scratch/program.txt" <<'EOF'
# aotscope: requires_grad L_w_
class GraphModule(torch.nn.Module):
    def forward(self, L_x_: "f32[2][1]cpu", L_w_: "f32[2][1]cpu"):
        l_x_ = L_x_
        l_w_ = L_w_
        sin: "f32[2][1]cpu" = torch.sin(l_w_);  l_w_ = None
        mul: "f32[2][1]cpu" = sin * 2;  sin = None
        add_: "f32[2][1]cpu" = l_x_.add_(1)
        view: "f32[1, 2][2, 1]cpu" = l_x_.view(1, 2);  l_x_ = None
        return (mul, view)
EOF
values() { printf '{"inputs": {"L_x_": %s, "L_w_": %s}, "tangents": [%s]}' "$1" "$2" "$3" >"$scratch/v.json"; }
x='{"dtype": "float32", "shape": [2], "stride": [1], "data": [1.0, 2.0]}'
w='{"dtype": "float32", "shape": [2], "data": [3.0, 0.5]}'
t='{"dtype": "float32", "shape": [2], "data": [1.0, 10.0]}'

values "$x" "$w" "$t"
run "$AOTSCOPE" exec "$scratch/program.txt" --values "$scratch/v.json"
ok "a unit is run" exits 0
ok "its first output" out "0.28224"
ok "the gradient of w by its source" out "-1.97998"
ok "the gradient of its second element" out "17.5516"
ok "the written input comes out" out '"mutated"'
tr -d ' \n' <"$scratch/out" >"$scratch/flat"
ok "with its new values, seen through the view" grep -qF '"shape":[1,2],"stride":[2,1],"data":[2.0,3.0]' "$scratch/flat"
ok "and for the input itself" grep -qF '"L_x_":{"dtype":"float32","shape":[2],"stride":[1],"data":[2.0,3.0]}' "$scratch/flat"
cp "$scratch/flat" "$scratch/first"
run "$AOTSCOPE" exec "$scratch/program.txt" --values "$scratch/v.json" --set activation_memory_budget=0
tr -d ' \n' <"$scratch/out" >"$scratch/flat"
ok "another cut gives the same numbers" cmp "$scratch/first" "$scratch/flat"
run "$AOTSCOPE" exec "$scratch/program.txt" --values "$scratch/v.json" --until nothing
ok "--until names a node of the graph" err "the graph has no node nothing"

for d in 'uint8 300' 'int8 -129' 'bool 3' 'int64 1.5' 'int32 4294967296'; do
    values "$x" "{\"dtype\": \"${d% *}\", \"shape\": [1], \"data\": [${d#* }]}" "$t"
    run "$AOTSCOPE" exec "$scratch/program.txt" --values "$scratch/v.json"
    ok "a number that the dtype has not: $d" err "is no number of its dtype"
done
values "$x" '{"dtype": "float31", "shape": [2], "data": [1, 2]}' "$t"
run "$AOTSCOPE" exec "$scratch/program.txt" --values "$scratch/v.json"
ok "an unknown dtype is an error" exits 2
ok "with file and key" err "v.json: inputs.L_w_: dtype must be one of PyTorch's"
ok "and the value" err "float31"
values "$x" '{"dtype": "float32", "shape": [2], "data": [1]}' "$t"
run "$AOTSCOPE" exec "$scratch/program.txt" --values "$scratch/v.json"
ok "too few numbers are counted" err "data must be a list of 2 numbers"
values "$x" '{"dtype": "float32", "shape": [3], "data": [1, 2, 3]}' "$t"
run "$AOTSCOPE" exec "$scratch/program.txt" --values "$scratch/v.json"
ok "another shape than compiled for" err "the unit was compiled for f32[2][1]cpu"
values "$x" '{"dtype": "float32", "shape": [2], "stride": [1000000000], "data": [1, 2]}' "$t"
run "$AOTSCOPE" exec "$scratch/program.txt" --values "$scratch/v.json"
ok "strides may not ask for all memory" err "stride reaches over 4000000004 bytes; the storage of a value has at most 1024 MiB"
printf '{"inputs": {"L_x_": %s, "L_w_": %s}, "tangent": []}' "$x" "$w" >"$scratch/v.json"
run "$AOTSCOPE" exec "$scratch/program.txt" --values "$scratch/v.json"
ok "a key that values do not have is an error" err 'there is no key "tangent"'
values "$x" '{"dtype": "float32", "shape": [2], "strides": [1], "data": [1, 2]}' "$t"
run "$AOTSCOPE" exec "$scratch/program.txt" --values "$scratch/v.json"
ok "nor is one of a value passed over" err 'inputs.L_w_: there is no key "strides"'
printf '{"inputs": {"L_x_": %s}}' "$x" >"$scratch/v.json"
run "$AOTSCOPE" exec "$scratch/program.txt" --values "$scratch/v.json"
ok "a missing input is named" err "inputs has no L_w_"
printf '{"inputs": {' >"$scratch/v.json"
run "$AOTSCOPE" exec "$scratch/program.txt" --values "$scratch/v.json"
ok "what is no JSON has a place" err "v.json:1:"
run "$AOTSCOPE" exec "$scratch/program.txt"
ok "values are asked for" err "--values V.json"
done_testing
