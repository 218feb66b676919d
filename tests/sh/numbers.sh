#!/bin/sh
# What a person types as a number: all of it is one, within its range, or the command says so.
. "$AOT_SRC/tests/sh/lib.sh"
log=$AOT_FIXTURES/logs/train_break.log.gz

refuses() { # NAME TEXT ARGUMENTS...
    name=$1 text=$2
    shift 2
    run "$AOTSCOPE" "$@"
    ok "$name" sh -c '[ "$1" = 2 ] && grep -qF -- "$2" "$3"' - "$code" "$text" "$scratch/err"
}

echo '{}' >"$scratch/v.json"
for seed in x '' 1.5 18446744073709551616 -9223372036854775809 ' 1'; do
    refuses "exec: no seed: '$seed'" "--seed" exec "$log" --values "$scratch/v.json" --seed "$seed"
    refuses "replay: no seed: '$seed'" "--seed" replay "$log" --seed "$seed"
    refuses "verify: no seed: '$seed'" "--seed" verify "$log" --seed "$seed"
done
for n in '' -1 1.5 9223372036854775808; do
    refuses "no steps: '$n'" "--steps" replay "$log" --steps "$n"
done
for grid in 0:1:inf 0:1:0 0:1 0:inf:0.1 0:1:0.1: nan '' 0.5:0.2:0.1; do
    refuses "no grid of budgets: '$grid'" "--budgets" sweep "$log" --budgets "$grid"
done
run "$AOTSCOPE" sweep "$log" --unit 0 --budgets 0:1:0.5 --format csv
ok "a grid of budgets" exits 0
for tolerance in inf,inf inf 1e-5,inf nan '' ,1 1,; do
    refuses "no tolerance: '$tolerance'" "--tolerance" verify "$log" --tolerance "$tolerance"
done
refuses "a hint that is no size" "at most 2^40" memory "$log" --hint s77=1152921504606846976 --fits 1GiB
refuses "a hint that is no size of 64 bits" "s77" memory "$log" --hint s77=18446744073709551616
refuses "two hints for one symbol" "given twice" memory "$log" --hint s77=6,s77=7

# Sizes that no memory has: sums stay at the largest number, and nothing fits.
cat >"$scratch/huge.txt" <<'END'
class joint_helper(torch.nn.Module):
    def forward(self, primals, tangents):
        primals_1: "f32[s77, s77][s77, 1]cpu"; primals_2: "Sym(s77)"; tangents_1: "f32[s77, s77][s77, 1]cpu";
        primals_1, primals_2, tangents_1, = fx_pytree.tree_flatten_spec([primals, tangents], self._in_spec)
        sin: "f32[s77, s77][s77, 1]cpu" = torch.ops.aten.sin.default(primals_1)
        exp: "f32[s77, s77][s77, 1]cpu" = torch.ops.aten.exp.default(sin)
        mm: "f32[s77, s77][s77, 1]cpu" = torch.ops.aten.mm.default(exp, exp)
        mul: "f32[s77, s77][s77, 1]cpu" = torch.ops.aten.mul.Tensor(tangents_1, exp)
        mul_1: "f32[s77, s77][s77, 1]cpu" = torch.ops.aten.mul.Tensor(mul, mm)
        cos: "f32[s77, s77][s77, 1]cpu" = torch.ops.aten.cos.default(primals_1)
        mul_2: "f32[s77, s77][s77, 1]cpu" = torch.ops.aten.mul.Tensor(mul_1, cos)
        return pytree.tree_unflatten([mm, mul_2, None], self._out_spec)
END
for size in 1099511627776 3000000000; do
    run "$AOTSCOPE" memory "$scratch/huge.txt" --hint s77=$size --fits 1GiB
    ok "nothing so large fits: $size" sh -c 'grep -q "does not fit" "$1" && ! grep -q -- " -[0-9]" "$1"' - "$scratch/out"
    run "$AOTSCOPE" sweep "$scratch/huge.txt" --hint s77=$size --budgets 0:1:0.5 --format json
    ok "no sum wraps: $size" sh -c '[ "$1" = 0 ] && ! grep -Eq "(bytes|flops|peak)\": -" "$2"' - "$code" "$scratch/out"
done

# A break that can never hold, terms run together, words that help knows.
refuses "a break that is none lists what there is" "bytes>" replay "$log" --unit 0 --break nann
refuses "a selection of no node, of all units" "no node of any unit" replay "$log" --break op:nonexist
refuses "terms that a comma runs together" "stand apart by blanks" show "$log" --unit 0 --filter 'node:a,node:b'
for word in keep_inference_input_mutations budget joint_cse joint; do
    run "$AOTSCOPE" help "$word"
    ok "help knows $word" out "$word"
done
refuses "and not what is nothing" "there is no command, setting" help nonsense_word
done_testing
