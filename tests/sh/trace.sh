#!/bin/sh
# trace and run: programs with aliasing inputs against what aot_function made of them, all stages in a
# session, errors.
. "$AOT_SRC/tests/sh/lib.sh"
seed=$AOT_FIXTURES/seed
log=$AOT_FIXTURES/logs/train_break.log.gz

# What "the same text" means: no comment lines, no blank lines, no trailing blanks.
normal() { sed -e 's/[[:space:]]*$//' -e '/^[[:space:]]*#/d' -e '/^$/d' "$1"; }
same() { normal "$1" >"$scratch/a"; normal "$2" >"$scratch/b"; diff "$scratch/a" "$scratch/b"; }

for program in "$seed"/*.txt; do
    name=$(basename "$program" .txt)
    run "$AOTSCOPE" trace "$program" -o "$scratch/$name"
    ok "$name is traced" exits 0
    ok "$name comes out as from aot_function" same "$seed/$name.expected" "$scratch/$name/0.inference.txt"
done

run "$AOTSCOPE" trace "$log" --stages -o "$scratch/stages"
ok "a log's Dynamo graphs are traced" exits 0
for stage in aten joint_traced joint_functional joint; do
    ok "stage $stage is written" [ -s "$scratch/stages/0.$stage.txt" ]
done
ok "metadata says which path and why" grep -q '"reason"' "$scratch/stages/0.metadata.json"

run "$AOTSCOPE" run "$log" -o "$scratch/s.aots"
ok "run writes a session" exits 0
ok "run says what it did" err "Dynamo graph"
run "$AOTSCOPE" show "$scratch/s.aots" --stage joint_traced
ok "the session shows a derived stage" exits 0
ok "with its graph" out "torch.ops.aten."
run "$AOTSCOPE" check --trace "$log"
ok "check --trace compares with the recorded graphs" exits 0

# One call that writes 300 tensors: each gets its new value back.
awk 'BEGIN {
    printf "class GraphModule(torch.nn.Module):\n    def forward(self"
    for (i = 0; i < 300; i++) { printf ", L_p%d_: \"f32[2][1]cpu\"", i; list = list (i ? ", " : "") "L_p" i "_" }
    printf "):\n        _foreach_mul_ = torch._foreach_mul_([%s], 0.5);  _foreach_mul_ = None\n        return ()\n", list
}' >"$scratch/many.txt"
run "$AOTSCOPE" trace "$scratch/many.txt" -o "$scratch/many"
ok "a call that writes 300 tensors is traced" exits 0
ok "and all of them are copied back" [ "$(grep -c 'aten.copy_.default' "$scratch/many/0.inference.txt")" = 300 ]

run "$AOTSCOPE" trace "$log" --backend nonsense -o "$scratch/x"
ok "an unknown backend is a usage error" exits 2
ok "that names the known ones" err "aot_eager, decomp or inductor_joint"
run "$AOTSCOPE" trace "$log"
ok "trace without -o is a usage error" exits 2
run "$AOTSCOPE" run "$log"
ok "run without -o is a usage error" exits 2
cat >"$scratch/bad.txt" <<'END'
class GraphModule(torch.nn.Module):
    def forward(self, L_x_: "f32[4][1]cpu"):
        l_x_ = L_x_
        y: "f32[4][1]cpu" = torch.no_such_function(l_x_);  l_x_ = None
        return (y,)
END
run "$AOTSCOPE" trace "$scratch/bad.txt" -o "$scratch/bad"
ok "a function that is not known is an error" exits 2
ok "that names the node and the function" err "y (torch.no_such_function)"
done_testing
