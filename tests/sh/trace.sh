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
ok "check traces and compares with the recorded graphs" exits 0
ok "with metadata and graphs of both units" out ": 8 same, 0 differ, 0 left out"
run "$AOTSCOPE" check --no-trace "$log"
ok "--no-trace leaves forward and backward" out ": 4 same, 0 differ, 0 left out"
gunzip -c "$log" | sed 's/torch.ops.aten.gelu.default(view_1)$/torch.ops.aten.silu.default(view_1)/' >"$scratch/altered.log"
run "$AOTSCOPE" check "$scratch/altered.log"
ok "an altered operator of a joint graph is a difference" exits 1
ok "with the recorded line" out "recorded: gelu: \"f32[4, 16, 128][2048, 128, 1]cpu\" = torch.ops.aten.silu.default(view_1)"
ok "and the derived one" out "derived:  gelu: \"f32[4, 16, 128][2048, 128, 1]cpu\" = torch.ops.aten.gelu.default(view_1)"
place=$(sed -n 's/.*altered.log:\([0-9]*\)$/\1/p' "$scratch/out" | head -n 1)
ok "at its line of the log" [ "$(sed -n "${place:-1}p" "$scratch/altered.log" | grep -c silu)" = 1 ]
for old in torch_2.8.0 torch_2.15.0; do
    for kind in trace.log.gz stderr.gz; do
        run "$AOTSCOPE" check "$AOT_FIXTURES/logs/$old.$kind"
        ok "$old.$kind: other versions' rules are no fault" exits 0
    done
done
run "$AOTSCOPE" check "$AOT_FIXTURES/logs/torch_2.8.0.trace.log.gz"
ok "what differs is shown with its place" out "left out at"
ok "and who wrote it" out "written by a PyTorch before 2.9"
run "$AOTSCOPE" import "$log" -o "$scratch/checks.aots"
ok "import compares traces, too" err "recorded stages, derived again: 8 same, 0 differ, 0 left out"
run sqlite3 "$scratch/checks.aots" "select stage, result from stage_diff where unit = 0 order by stage"
ok "the session holds what was compared: the joint graph" out "joint|same"
ok "and the metadata" out "runtime|same"
run "$AOTSCOPE" info "$scratch/checks.aots"
ok "info shows the checks of a session" out "Recorded stages, derived again"
ok "by stage" out "  runtime: same"

# One call that writes 300 tensors: each gets its new value back.
awk 'BEGIN {
    printf "class GraphModule(torch.nn.Module):\n    def forward(self"
    for (i = 0; i < 300; i++) { printf ", L_p%d_: \"f32[2][1]cpu\"", i; list = list (i ? ", " : "") "L_p" i "_" }
    printf "):\n        _foreach_mul_ = torch._foreach_mul_([%s], 0.5);  _foreach_mul_ = None\n        return ()\n", list
}' >"$scratch/many.txt"
run "$AOTSCOPE" trace "$scratch/many.txt" -o "$scratch/many"
ok "a call that writes 300 tensors is traced" exits 0
ok "and all of them are copied back" [ "$(grep -c 'aten.copy_.default' "$scratch/many/0.inference.txt")" = 300 ]

# The runtime stage: wrappers in call order, what each does; recorded as rows of the session.
wrap=$AOT_FIXTURES/runtime/trace.log.gz
runtime() { run "$AOTSCOPE" show "$wrap" --unit "$1" --stage runtime; }
runtime 0
ok "the runtime stage is shown" exits 0
ok "with the path and its reason" out "path: autograd (an input and an output"
ok "a write inside of the graph raises the version" out "raises the version of input 0 (l_x_)"
ok "an output that is a view of an input is made again" out "makes output 1 again as a view of input 0 (l_x_)"
ok "saved values have their place" out "values 3 to 4 of what the forward returns"
ok "and a slice" out "tensors_saved_for_backwards_slice = slice(3, None, None)"
ok "a wrapper without work says why" out "EffectTokensWrapper: does nothing here, no operator has side effects"
ok "AOTConfig is shown" out "partition_fn = min_cut_rematerialization_partition"
runtime 1
ok "a mutated input is copied back" out "copies output 0 of the graph back into input 0 (l_x_), since it was mutated"
runtime 2
ok "views of an intermediate come from its base" out "makes output 1 again as a view of base 0 of intermediates, output 3 of the graph"
ok "the base is dropped" out "drops output 3 of the graph"
runtime 5
ok "an input without a gradient is detached" out "detaches input 0 (l_y_): it has a grad_fn, but gets no gradient"
run "$AOTSCOPE" show "$seed/dedupe_mutated.txt" --stage runtime
ok "a tensor that is given twice is dropped" out "drops input 1 (l_y_): it is the same tensor as input 0 (l_x_)"
run "$AOTSCOPE" show "$seed/dedupe_untouched.txt" --stage runtime
ok "not where it is only read" out "AOTDedupeWrapper: does nothing here, the tensors that are given twice are not mutated"
run "$AOTSCOPE" show "$AOT_FIXTURES/oracle/two_tensor_subclass/trace.log.gz" --stage runtime
ok "a tensor subclass is taken apart" out "takes input 0 (l_x_) apart into inputs 0 to 1 of the graph"
run "$AOTSCOPE" show "$AOT_FIXTURES/oracle/effect_tokens_print/trace.log.gz" --stage runtime
ok "effects have their tokens" out "passes a token (None) before the inputs"
runtime 16
ok "overlapping inputs get one base" out "passes the base of input 0 (l_a_) and input 1 (l_b_) as one input, input 0 of the graph"
ok "order: duplicates outermost, tokens innermost" [ "$(grep -n 'AOTDedupeWrapper\|AOTSyntheticBaseWrapper\|  RuntimeWrapper\|AOTDispatchAutograd\|FakifiedOutWrapper\|FunctionalizedRng\|AOTDispatchSubclass\|EffectTokens' "$scratch/out" | sed 's/.*  //; s/:.*//' | tr '\n' ' ')" = "AOTDedupeWrapper AOTSyntheticBaseWrapper RuntimeWrapper AOTDispatchAutograd FakifiedOutWrapper FunctionalizedRngRuntimeWrapper AOTDispatchSubclassWrapper EffectTokensWrapper " ]
run "$AOTSCOPE" show "$wrap" --unit 0 --stage runtime --set debug_assert=True
ok "DebugAssertWrapper checks when asked for" out "raises an error if input 0 (l_x_) requires grad"
run "$AOTSCOPE" show "$wrap" --unit 1 --stage runtime --json
ok "as JSON, too" out '"num_mutated_inp_runtime_indices": 1'
run "$AOTSCOPE" trace "$wrap" -o "$scratch/wrap"
ok "k.metadata.json has what PyTorch computes" grep -q '"tensors_saved_for_backwards_slice"' "$scratch/wrap/1.metadata.json"
run "$AOTSCOPE" run "$wrap" -o "$scratch/wrap.aots"
ok "run tells the paths" err "paths: 16 autograd, 1 inference, 0 export"
ok "and the stages that changed nothing" err "stages that changed nothing: "
run "$AOTSCOPE" show "$wrap" --unit 3 --stage joint_cse
ok "so does show" err "joint_cse changed nothing: the same as joint"

run sqlite3 "$scratch/s.aots" "select count(*) from stage_diff where result = 'same'"
ok "run compares what was recorded, whatever names its own graphs have" out 8
run "$AOTSCOPE" run "$log" --path inference -o "$scratch/asked.aots"
run sqlite3 "$scratch/asked.aots" "select distinct stage, result from stage_diff order by 1"
ok "the other path is no difference where it was asked for" out "joint|left out"
ok "nor is its metadata" [ "$(grep -c runtime "$scratch/out")" = 0 ]
run "$AOTSCOPE" trace "$log" --backend nonsense -o "$scratch/x"
ok "an unknown backend is a usage error" exits 2
ok "that names the known ones" err "aot_eager, decomp or inductor_joint"
run "$AOTSCOPE" trace "$log"
ok "trace without -o is a usage error" exits 2
run "$AOTSCOPE" run "$log"
ok "run without -o is a usage error" exits 2
# Operators chosen by hand; layer_norm by Inductor's table is var_mean, add, rsqrt, sub, mul, mul, add.
cat >"$scratch/norm.txt" <<'END'
class GraphModule(torch.nn.Module):
    def forward(self, L_x_: "f32[4, 8][8, 1]cpu", L_w_: "f32[8][1]cpu", L_b_: "f32[8][1]cpu"):
        h: "f32[4, 8][8, 1]cpu" = torch.nn.functional.layer_norm(L_x_, (8,), L_w_, L_b_, 1e-05)
        y: "f32[4, 8][8, 1]cpu" = torch.nn.functional.gelu(h)
        return (y,)
END
norm="var_mean.correction add.Tensor rsqrt.default sub.Tensor mul.Tensor mul.Tensor add.Tensor"
gelu="mul.Tensor mul.Tensor erf.default add.Tensor mul.Tensor"
calls() {
    rm -rf "$scratch/chosen"
    "$AOTSCOPE" trace "$scratch/norm.txt" "$@" -o "$scratch/chosen" 2>/dev/null
    grep -o 'torch\.ops\.aten\.[a-z_A-Z0-9.]*' "$scratch/chosen/0.inference.txt" | sed 's/torch.ops.aten.//' |
        tr '\n' ' ' | sed 's/ $//'
}
is() { [ "$1" = "$2" ] || { echo "is '$1', not '$2'"; return 1; }; }
ok "layer_norm by Inductor's table" is "$(calls --backend decomp)" "$norm $gelu"
ok "--keep keeps what the table decomposes" is "$(calls --backend decomp --keep gelu)" "$norm gelu.default"
ok "--decompose decomposes what it does not" is "$(calls --backend aot_eager --decompose aten.native_layer_norm.default)" "$norm gelu.default"
ok "--keep goes before --decompose" is "$(calls --backend aot_eager --keep aten.gelu --decompose gelu,native_layer_norm)" "$norm gelu.default"
run "$AOTSCOPE" run "$scratch/norm.txt" --backend decomp --keep gelu --keep native_layer_norm -o "$scratch/chosen.aots"
ok "run takes them too" exits 0
run sqlite3 "$scratch/chosen.aots" "select value from config where name = 'keep'"
ok "and the session says which" out "gelu,native_layer_norm"
run "$AOTSCOPE" trace "$scratch/norm.txt" --decompose nosuch -o "$scratch/x"
ok "an operator that does not exist is a usage error" exits 2
ok "that names it and where to look" err "no operator is called 'nosuch'; \`aotscope ops\`"
run "$AOTSCOPE" trace "$scratch/norm.txt" --decompose aten.convolution -o "$scratch/x"
ok "one without a rule too" err "aten.convolution has no decomposition rule here"
run "$AOTSCOPE" trace "$scratch/norm.txt" --keep aten.linear -o "$scratch/x"
ok "a composite is kept on the export path only" err "(--path export)"

# What has no rule: refused as PyTorch would, or believed.
cat >"$scratch/opaque.txt" <<'END'
class GraphModule(torch.nn.Module):
    # aotscope: requires_grad L_x_
    def forward(self, L_x_: "f32[4, 8][8, 1]cpu"):
        # File: m.py:3 in f, code: y = magic(x, 2, mode='a')
        h: "f32[4][1]cpu" = torch.magic(L_x_, 2, mode = 'a')
        # File: m.py:4 in f, code: return mine.two(y.wand(), b=y)
        y: "f32[4][1]cpu" = h.wand()
        g = torch.ops.mine.two(y, b = h)
        a: "f32[4][1]cpu" = g[0]
        b: "f32[2][1]cpu" = g[1]
        return (a, b)
END
run "$AOTSCOPE" trace "$scratch/opaque.txt" -o "$scratch/x"
ok "without --opaque it is refused" exits 2
ok "with node, source line and remedy" err "h (torch.magic) at m.py:3: torch.magic is not known"
ok "that is --opaque" err "--opaque"
run "$AOTSCOPE" trace "$scratch/opaque.txt" --opaque -o "$scratch/opaque"
ok "with it the recorded types are believed" exits 0
joint=$scratch/opaque/0.joint.txt
ok "a function" grep -qF 'magic: "f32[4][1]cpu" = torch.magic(primals_1, 2, mode' "$joint"
ok "a method" grep -qF 'wand: "f32[4][1]cpu" = torch.Tensor.wand(magic)' "$joint"
ok "a custom operator of two results" grep -qF 'torch.ops.mine.two.default(wand, b = magic)' "$joint"
ok "its gradient is an opaque node" grep -qF 'torch.ops.opaque.mine_two_backward.default(tangents_1, tangents_2, wand, magic)' "$joint"
ok "typed as the input" grep -qF 'torch_magic_backward: "f32[4, 8][8, 1]cpu"' "$joint"
run "$AOTSCOPE" run "$scratch/opaque.txt" --opaque -o "$scratch/opaque.aots"
run sqlite3 "$scratch/opaque.aots" "select rule from rewrites where stage = 'joint' and rule like 'believed%'"
ok "the session marks what was believed" out "believed type of torch.magic"
ok "and the gradients" out "believed gradient of torch.ops.mine.two.default"

# The export path from a Dynamo graph, and from an exported program.
exported=$AOT_FIXTURES/export/norm_attention
run "$AOTSCOPE" trace "$exported.log.gz" --path export -o "$scratch/exported"
ok "the export path is traced" exits 0
ok "inputs are named and described as in an exported program" grep -qF "PARAMETER target='l.weight'" "$scratch/exported/0.export.txt"
ok "so are the outputs" grep -qF "BUFFER_MUTATION target='c'" "$scratch/exported/0.export.txt"
run "$AOTSCOPE" run "$exported.train.pt2" -o "$scratch/exported.aots"
ok "run takes an exported program" exits 0
run "$AOTSCOPE" trace "$AOT_FIXTURES/pt2/constants.pt2" -o "$scratch/constants"
ok "numbers and texts among the inputs of an exported program stay, without a type" \
    [ "$(grep -c '^        [ifnb],  # USER_INPUT$\|^        st,  # USER_INPUT$' "$scratch/constants/0.inference.txt")" = 5 ]
run sqlite3 "$scratch/exported.aots" "select stage, origin from stage_graph order by stage"
ok "the session holds the program" out "export|recorded"
ok "and its decomposition" out "inference|derived"

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

run "$AOTSCOPE" check --trace "$AOT_FIXTURES/logs/three_units.stderr.gz"
ok "TORCH_LOGS tells in its metadata which inputs require grad" out "12 same, 0 differ, 0 left out"
"$AOTSCOPE" show "$AOT_FIXTURES/logs/dropout_default.log.gz" --stage joint >"$scratch/joint.txt"
run "$AOTSCOPE" run "$scratch/joint.txt" -o "$scratch/none.aots"
ok "run says what is missing where there is no Dynamo graph" err "nothing was traced: no Dynamo graph"
run "$AOTSCOPE" show "$AOT_FIXTURES/logs/transformer_encoder_layer.log.gz" --set backend=decomp --stage joint
ok "another backend gives another joint graph than the recorded one" out "var_mean"
done_testing
