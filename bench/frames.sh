#!/bin/sh
# How long a frame takes while a key repeats on a big graph: a joint graph of N nodes (100,000 by default)
# is written, opened, and keys are pressed without a terminal (`frames` of --script, see tui/script.c).
# What a frame costs must not grow with N. Usage: bench/frames.sh [N] [COLSxROWS], AOTSCOPE names the program.
n=${1:-100000} size=${2:-200x60}
dir=$(mktemp -d "${TMPDIR:-/tmp}/aotscope-frames.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
# layers of mm, gelu and a residual add, forward and backward: 8 nodes and one parameter a layer
awk -v layers=$((n / 9)) 'BEGIN {
    T = "\"f32[64, 64][64, 1]cpu\""
    printf "class joint(torch.nn.Module):\n    def forward(self, primals, tangents):\n        primals_1: %s; ", T
    for (i = 0; i < layers; i++) printf "primals_%d: %s; ", i + 2, T
    printf "tangents_1: %s; \n\n        primals_1, ", T
    for (i = 0; i < layers; i++) printf "primals_%d, ", i + 2
    printf "tangents_1, = fx_pytree.tree_flatten_spec([primals, tangents], self._in_spec)\n"
    for (i = 0; i < layers; i++) {
        x = i ? "add_" i - 1 : "primals_1"
        printf "        # File: /src/model.py:%d in forward, code: x = x + gelu(x @ w%d)\n", 10 + i % 400, i
        printf "        mm_%d: %s = torch.ops.aten.mm.default(%s, primals_%d)\n", i, T, x, i + 2
        printf "        gelu_%d: %s = torch.ops.aten.gelu.default(mm_%d)\n", i, T, i
        printf "        add_%d: %s = torch.ops.aten.add.Tensor(gelu_%d, %s)\n", i, T, i, x
    }
    for (i = layers - 1; i >= 0; i--) {
        g = i == layers - 1 ? "tangents_1" : "add_b" i + 1
        x = i ? "add_" i - 1 : "primals_1"
        printf "        # File: /src/model.py:%d in forward, code: x = x + gelu(x @ w%d)\n", 10 + i % 400, i
        printf "        gb_%d: %s = torch.ops.aten.gelu_backward.default(%s, mm_%d)\n", i, T, g, i
        printf "        t_%d: %s = torch.ops.aten.t.default(primals_%d)\n", i, T, i + 2
        printf "        mx_%d: %s = torch.ops.aten.mm.default(gb_%d, t_%d)\n", i, T, i, i
        printf "        add_b%d: %s = torch.ops.aten.add.Tensor(%s, mx_%d)\n", i, T, g, i
    }
    printf "        return pytree.tree_unflatten([add_%d, add_b0", layers - 1
    for (i = 0; i < layers; i++) printf ", None"
    print "], self._out_spec)"
}' </dev/null >"$dir/joint.txt"
cat >"$dir/keys" <<'KEYS'
frames 500 j
frames 500 <PgDn>
frames 500 k
frames 20 Gg
keys G
frames 200 <PgUp>
keys /gelu_7<Enter>
frames 500 n
frames 500 N
keys <Esc>
keys fgelu<Enter>
frames 500 j
frames 300 <PgDn>
keys <Esc>
keys >
frames 300 j
keys <lt>
keys s
frames 300 j
frames 20 >
keys sg
frames 200 c
frames 200 p
frames 20 <Right><Left>
keys g
keys 40j
frames 10 jSjRjx
frames 20 z
frames 20 Z
keys B
frames 10 0.7<BS>
frames 10 +
frames 10 -
keys <Esc>
keys b
frames 1 h
frames 100 h
frames 100 l
frames 20 }
keys <Esc>
keys q
KEYS
grep -c ' = torch' "$dir/joint.txt" | sed 's/$/ operators/'
"${AOTSCOPE:-aotscope}" "$dir/joint.txt" --size "$size" --script "$dir/keys"
