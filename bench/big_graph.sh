# Sourced: big_graph N FILE writes a joint graph of about N nodes, a training step of N / 9 layers.
# layers of mm, gelu and a residual add, forward and backward: 8 nodes and one parameter a layer
big_graph()
{
    awk -v layers=$(($1 / 9)) 'BEGIN {
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
}' </dev/null >"$2"
}
