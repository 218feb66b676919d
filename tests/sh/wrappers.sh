#!/bin/sh
# Runtime wrappers: what each one took, changed and gave in a call.
. "$AOT_SRC/tests/sh/lib.sh"
unit() { ls "$AOT_SRC/fixtures/oracle/$1"/trace.log* | head -n 1; }
not_out() { ! out "$1" >/dev/null; }
seed="$AOT_SRC/fixtures/seed"

run "$AOTSCOPE" verify "$seed/dedupe_mutated.txt" --wrappers
ok "a unit that is given a tensor twice passes" exits 0
ok "the second is dropped" out "drop duplicate L_y_: f32[4] -> L_x_, the same tensor"
ok "the next wrapper takes one" out "AOTSyntheticBaseWrapper         take           1 value: f32[4]"
ok "the new value is copied back" out "RuntimeWrapper                  copy back      returned value 0: f32[4] -> L_x_"
ok "and goes no further" out "                                give           1 value: f32[4]"

run "$AOTSCOPE" verify "$AOT_FIXTURES/logs/train_break.log.gz" --unit 0 --wrappers
ok "a list that was told before is not told again" out "AOTSyntheticBaseWrapper         take           7 values: the same"
ok "bytes are told as elsewhere" out "saved 2 (primals_3): f32[4, 16, 32], 8.0 KiB"
run "$AOTSCOPE" verify "$(unit synthetic_base_overlap)" --wrappers
ok "inputs that overlap are passed as one base" out "make base      the base of L['x'] and L['y']: f32[10], 40 B"
ok "which the graph splits" out "split base     L['y']: f32[6] -> in the graph, from element 4 of the base"
ok "autograd is told of the write" out "raise version  the base of L['x'] and L['y']: f32[10] -> the graph writes it"

run "$AOTSCOPE" verify "$(unit output_aliases_input)" --wrappers
ok "what is saved is told with its name" out "AOTDispatchAutograd             save           saved 0 (primals_1): f32[2, 3], 24 B"
ok "an aliased output is kept from autograd" out "hide           output 0: f32[6] -> made again outside"
ok "and made again" out "RuntimeWrapper                  make again     output 0: f32[6] -> a view of L['x']"
ok "the backward takes a tangent" out "tangent        tangent 0: f32[] -> laid out as it was traced"
ok "and frees what was saved" out "free           2 saved values"
run "$AOTSCOPE" verify "$(unit output_aliases_intermediate)" --wrappers
ok "the base of intermediates goes no further" out "drop base      returned value 2: f32[2, 3]"
cat >"$scratch/itself.txt" <<EOF
class GraphModule(torch.nn.Module):
    def forward(self, L_x_: "f32[4][1]cpu"):
        l_x_ = L_x_
        mul_: "f32[4][1]cpu" = l_x_.mul_(2)
        return (mul_,)
EOF
run "$AOTSCOPE" verify "$scratch/itself.txt" --wrappers
ok "an input that is returned is itself" out "return input   output 0: f32[4] -> L_x_"
run "$AOTSCOPE" verify "$(unit effect_tokens_print)" --wrappers
ok "tokens go in" out "EffectTokensWrapper             take           "
ok "as None" out "pass token     token 0: None"
ok "and come back no further than here" out "drop token     token 0: None"
run "$AOTSCOPE" verify "$(unit linear_relu)" --set debug_assert=True --wrappers
ok "with debug_assert there is one more wrapper" out "DebugAssertWrapper              take"
ok "which checks" out "check          L['x']: f32[4, 8] -> requires no grad, as compiled"
run "$AOTSCOPE" verify "$(unit linear_relu)" --wrappers
ok "without it there is none" not_out "DebugAssertWrapper"
run "$AOTSCOPE" verify "$(unit output_aliases_input)" --wrappers --json
ok "as JSON" out '"event": "make again"'
run "$AOTSCOPE" verify "$(unit two_tensor_grad)" --wrappers
ok "a tensor subclass is taken apart" out "unwrap         L['x']: (f32[4, 8], f32[4, 8]) -> values 0 to 1"
ok "outputs are put together" out "wrap           returned values 0 to 1: (f32[], f32[])"
ok "its gradients too" out "gradient       of L['w']: (f32[8, 3], f32[8, 3])"
run "$AOTSCOPE" ops --gaps
ok "what a wrapper cannot do is listed with its reason" out "FunctionalizedRngRuntimeWrapper  numbers from seed and offset"
done_testing
