#!/bin/sh
# Graphs from outside with sizes, strides, pivots and windows that nothing can have: a clear error, no crash.
. "$AOT_SRC/tests/sh/lib.sh"

# refuses NAME "INPUTS" CALL TEXT: a replay of the graph that calls CALL is an error that says TEXT.
refuses()
{
    cat >"$scratch/g.txt" <<END
class <lambda>(torch.nn.Module):
    def forward(self, $2):
        x = torch.ops.aten.$3
        return (x,)
END
    run "$AOTSCOPE" replay "$scratch/g.txt"
    ok "$1" exits 2
    ok "$1: why" err "$4"
}
v='arg0_1: "f32[4][1]cpu"'
refuses "strides whose reach overflows" "$v" "as_strided.default(arg0_1, [3, 2], [4611686018427387904, 1], 0)" "reaches beyond its storage of 16 bytes"
refuses "an offset that overflows" "$v" "as_strided.default(arg0_1, [2], [1], 2305843009213693951)" "reaches beyond its storage of 16 bytes"
refuses "a negative stride" "$v" "as_strided.default(arg0_1, [2], [-1], 3)" "negative stride -1"
refuses "parts of -1" "$v" "split.Tensor(arg0_1, -1)" "parts of -1 of a dimension of size 4"
refuses "steps of 0" "$v" "slice.Tensor(arg0_1, 0, 0, 2, 0)" "a slice by steps of 0"
refuses "bounds that are no tensors" "$v" "clamp.default(arg0_1, 'none')" "argument 1 is no tensor"
refuses "positions that are no integers" "$v, arg1_1: \"f32[4][1]cpu\"" "gather.default(arg0_1, 0, arg1_1)" "positions of torch.float32"
refuses "more positions than dimensions" "$v, arg1_1: \"i64[2, 2][2, 1]cpu\"" "gather.default(arg0_1, 0, arg1_1)" "positions with 2 dimensions in a tensor with 1"
i='arg0_1: "f32[1, 1, 4, 4][16, 16, 4, 1]cpu"'
refuses "windows of nothing" "$i" "max_pool2d_with_indices.default(arg0_1, [0, 0], [0, 0])" "windows of 0"
refuses "a gradient of other planes" "$i, arg1_1: \"f32[1, 9, 8, 8][576, 64, 8, 1]cpu\"" \
    "avg_pool2d_backward.default(arg0_1, arg1_1, [2, 2], [2, 2], [0, 0], False, True, None)" "size 1 of dimension 1 where 9 is due"
refuses "a size that no int holds" "$i" "adaptive_avg_pool3d.default(arg0_1, [4, 2, 9223372036854775807])" "argument 1 is 9223372036854775807"
refuses "a vector of factors" "$v, arg1_1: \"i32[4][1]cpu\"" "lu_unpack.default(arg0_1, arg1_1)" "a tensor with 1 dimensions is no matrix"
refuses "points without length" "$v" "cdist.default(arg0_1, arg0_1, 2.0, None)" "dimensions"
refuses "more elements than there can be" "$v" "zeros.default([4611686018427387904, 4611686018427387904, 0])" "elements"
refuses "indices in no bag" 'arg0_1: "f32[3, 2][2, 1]cpu", arg1_1: "i64[2][1]cpu", arg2_1: "i64[0][1]cpu"' \
    "_embedding_bag.default(arg0_1, arg1_1, arg2_1)" "2 indices and no bag"
refuses "the next of an integer" 'arg0_1: "i64[3][1]cpu"' "nextafter.default(arg0_1, arg0_1)" "not implemented for torch.int64"
m='arg0_1: "f32[2, 2][2, 1]cpu", arg1_1: "i32[2][1]cpu"'
cat >"$scratch/g.txt" <<END
class <lambda>(torch.nn.Module):
    def forward(self, $m):
        x = torch.ops.aten.linalg_lu_solve.default(arg0_1, arg1_1, arg0_1)
        return (x,)
END
run "$AOTSCOPE" replay "$scratch/g.txt"
ok "pivots that are made up are rows" exits 0
sed 's/arg1_1, arg0_1)/add, arg0_1)/; s/x = /add = torch.ops.aten.add.Tensor(arg1_1, 7)\n        x = /' "$scratch/g.txt" >"$scratch/h.txt"
run "$AOTSCOPE" replay "$scratch/h.txt"
ok "LAPACK is given no others" err "pivot 8 of matrices with 2 rows"
sed 's/linalg_lu_solve/linalg_ldl_solve/; s/Tensor(arg1_1, 7)/Tensor(arg1_1, -1)/' "$scratch/h.txt" >"$scratch/g.txt"
run "$AOTSCOPE" replay "$scratch/g.txt"
ok "nor those of blocks" err "pivot 0 of matrices with 2 rows"

for size in "f32[2147483648, 2147483648][2147483648, 1]" "f32[-4][1]" "f32[2][-1]" "f32[2][9223372036854775807]"; do
    refuses "an input $size" "arg0_1: \"${size}cpu\"" "relu.default(arg0_1)" "no values are made up for arg0_1: "
done
done_testing
