"""Makes fixtures/kernels/cases.json anew: what PyTorch gives for single operators, for tests/unit/test_kernels.c.

    python tests/capture_kernels.py fixtures/kernels/cases.json      # with torch 2.11, CPU

A case is a call as PyTorch prints it, and its inputs: (dtype, shape, values that repeat or a seed). More calls, with all
of their values, are lines of capture_kernels.calls. Each call starts from torch.manual_seed(0)."""
import json
import os
import re
import sys

import torch
import torch._inductor.inductor_prims  # noqa: F401, prims of Inductor

F, D, I, B, H = torch.float32, torch.float64, torch.int64, torch.bfloat16, torch.float16
NAN, INF = float("nan"), float("inf")
ODD = [1.5, -2.25, NAN, INF, -INF, 0.0, -0.0, 3.0]


def tensor(dtype, shape, values):
    n = 1
    for s in shape:
        n *= s
    if isinstance(values, int):
        g = torch.Generator().manual_seed(values)
        return torch.randint(-24, 25, shape, generator=g).double().div(8).to(dtype)
    return torch.tensor([values[i % len(values)] for i in range(n)], dtype=torch.float64).to(dtype).reshape(shape)


def cases():
    for op in ("neg", "abs", "sign", "relu", "floor", "round", "trunc", "reciprocal", "sqrt", "isnan", "signbit", "exp", "tanh"):
        yield f"aten.{op}.default(x0)", (F, [8], ODD)
        yield f"aten.{op}.default(x0)", (B, [8], ODD)
    for op in ("maximum", "minimum", "fmax", "fmin", "atan2", "copysign.Tensor", "remainder.Tensor", "fmod.Tensor", "floor_divide",
               "mul.Tensor", "add.Tensor", "div.Tensor", "eq.Tensor", "lt.Tensor", "pow.Tensor_Tensor"):
        name = op if "." in op else op + ".default"
        yield f"aten.{name}(x0, x1)", (F, [8, 1], ODD), (F, [8], ODD)
    for op in ("floor_divide.default", "remainder.Tensor", "fmod.Tensor", "div.Tensor", "bitwise_and.Tensor", "gcd.default"):
        for t in (I, torch.int32, torch.int8):
            yield f"aten.{op}(x0, x1)", (t, [6, 1], [-7, 7, -1, 0, 100, -128]), (t, [4], [2, -2, 3, -3])
    for mode in ("floor", "trunc"):
        yield f"aten.div.Tensor_mode(x0, x1, rounding_mode = '{mode}')", (I, [6], [-7, 7, -8, 8, 0, 1]), (I, [6], [2, -2, 3, -3, 5, -1])
        yield f"aten.div.Tensor_mode(x0, x1, rounding_mode = '{mode}')", (F, [8, 1], ODD), (F, [8], ODD)
    yield "aten.mul.Tensor(x0, x1)", (torch.int8, [3], [100, -100, 127]), (torch.int8, [3], [2, 3, 127])  # wraps
    yield "aten.add.Tensor(x0, x1, alpha = 0.1)", (B, [9], 1), (B, [9], 2)
    yield "aten.add.Tensor(x0, 1)", (torch.uint8, [2], [255, 1])
    yield "aten.add.Tensor(x0, x1)", (torch.bool, [2], [1, 0]), (torch.bool, [2], [1, 1])
    yield "aten.add.Tensor(x0, x1)", (F, [2], [1, 2]), (D, [], [0.1])  # a tensor without dimensions keeps no dtype
    for op in ("sum.dim_IntList", "mean.dim", "amax.default", "amin.default", "prod.dim_int", "cumsum.default"):
        d = "1" if op in ("prod.dim_int", "cumsum.default") else "[1]"
        for t in (F, B, H):
            yield f"aten.{op}(x0, {d})", (t, [3, 40], 3)
        yield f"aten.{op}(x0, {d})", (F, [2, 4], ODD)
        if op != "mean.dim":
            yield f"aten.{op}(x0, {d})", (torch.int8, [2, 5], [100, 27, 3, -5, 127])
    yield "aten.sum.default(x0)", (F, [0], [0])
    yield "aten.sum.default(x0)", (torch.bool, [5], [1])
    yield "aten.any.dim(x0, 0)", (F, [0, 3], [0])
    for t in (F, B):
        yield "aten.mm.default(x0, x1)", (t, [3, 5], 4), (t, [5, 2], 5)
        yield "aten.addmm.default(x0, x1, x2, beta = 0.5, alpha = 2)", (t, [2], 6), (t, [3, 5], 4), (t, [5, 2], 5)
        yield "aten.addmm.default(x0, x1, x2, beta = 0)", (t, [2], [NAN]), (t, [3, 5], 4), (t, [5, 2], 5)
        yield "aten.baddbmm.default(x0, x1, x2)", (t, [2, 3, 2], 6), (t, [2, 3, 5], 4), (t, [2, 5, 2], 5)
    yield "aten.mm.default(x0, x1)", (F, [3, 0], [0]), (F, [0, 2], [0])
    yield "aten.addmm.default(x0, x1, x2)", (F, [2], 6), (F, [3, 0], [0]), (F, [0, 2], [0])
    for rest in ("[1], [0], [1], False, [0], 1", "[2], [1], [1], False, [0], 1", "[1], [2], [2], False, [0], 1", "[2], [1], [1], True, [1], 1"):
        yield f"aten.convolution.default(x0, x1, x2, {rest})", (F, [2, 3, 7], 7), (F, [3, 3, 3], 8), (F, [3], 9)
    yield "aten.convolution.default(x0, x1, None, [1, 2], [1, 0], [1, 1], False, [0, 0], 2)", (F, [2, 4, 4, 5], 7), (F, [6, 2, 3, 2], 8)
    yield ("aten.convolution_backward.default(x0, x1, x2, [6], [1, 2], [1, 0], [1, 1], False, [0, 0], 2, [True, True, True])",
           (F, [2, 6, 4, 2], 6), (F, [2, 4, 4, 5], 7), (F, [6, 2, 3, 2], 8))
    yield "aten.convolution_backward.default(x0, x1, x2, [4], [1], [0], [1], False, [0], 1, [True, True, True])", (F, [2, 4, 5], 6), (F, [2, 3, 5], 7), (F, [4, 3, 1], 8)
    for dims, rest, back in (([5], "[1], [2], [2], False, [0], 3", [5]), ([6], "[2], [1], [1], False, [0], 3", [3]),
                             ([4, 5], "[1, 1], [1, 0], [1, 2], False, [0, 0], 3", [4, 1]), ([5, 4], "[2, 1], [1, 1], [1, 1], True, [1, 0], 3", [10, 4]),
                             ([2, 3, 4], "[1, 1, 1], [1, 1, 1], [1, 1, 1], False, [0, 0, 0], 3", [2, 3, 4])):  # one channel a group
        n, c = len(dims), 3 if "True" in rest else 6
        w = (F, [c, 1 if c == 6 else 2] + [3] * n, 8)
        x, y = (F, [2, 3] + dims, 7), (F, [2, 6] + back, 6)
        yield f"aten.convolution.default(x0, x1, x2, {rest})", x, w, (F, [6], 9)
        yield f"aten.convolution_backward.default(x0, x1, x2, [6], {rest}, [True, True, True])", y, x, w
    yield "aten.convolution.default(x0, x1, None, [2, 2], [3, 3], [1, 1], False, [0, 0], 1)", (F, [1, 2, 9, 8], 7), (F, [2, 2, 7, 7], 8)
    for causal in ("False", "True"):
        yield (f"aten._scaled_dot_product_flash_attention_for_cpu_backward.default(x0, x1, x2, x3, x4, x5, 0.0, {causal})", "attention", causal)
    yield ("aten._scaled_dot_product_flash_attention_for_cpu_backward.default(x0, x1, x2, x3, x4, x5, 0.0, False)", "attention", "False", 4)
    for d in (2, 3):
        for mode in range(3 if d == 2 else 2):
            for pad in range(3):
                s = ", ".join(map(str, (mode, pad, (mode + pad) % 2 == 0)))
                big, small = ([1, 2, 3, 4], [1, 3, 2, d]) if d == 2 else ([1, 2, 2, 3, 2], [1, 2, 1, 3, d])
                yield f"aten.grid_sampler_{d}d.default(x0, x1, {s})", (F, big, 1), (F, small, [-1.3, 0.21, 0.77, -0.4, 1.9, -0.05])
                yield (f"aten.grid_sampler_{d}d_backward.default(x0, x1, x2, {s}, [True, True])", (F, small[:1] + [2] + small[1:-1], 3), (F, big, 1),
                       (F, small, [-1.3, 0.21, 0.77, -0.4, 1.9, -0.05]))
    for mode in range(3):
        for pad in (-1, 2):
            yield (f"aten._embedding_bag.default(x0, x1, x2, False, {mode}, False, None, False, {pad})", (F, [5, 3], 1), (I, [6], [1, 2, 4, 2, 0, 3]),
                   (I, [3], [0, 2, 2]))
    yield ("aten._embedding_bag_backward.default(x0, x1, x2, x3, x4, x5, 5, True, 1, False, None)", (F, [3, 2], 1), (I, [6], [1, 2, 4, 2, 0, 3]),
           (I, [3], [0, 2, 2]), (I, [6], [0, 0, 2, 2, 2, 2]), (I, [3], [2, 0, 4]), (I, [3], [2, 0, 4]))
    yield ("aten._embedding_bag_per_sample_weights_backward.default(x0, x1, x2, x3, x4, 0)", (F, [3, 2], 1), (F, [5, 2], 2), (I, [6], [1, 2, 4, 2, 0, 3]),
           (I, [3], [0, 2, 2]), (I, [6], [0, 0, 2, 2, 2, 2]))
    for how in ("sum", "mean", "max", "min", "prod"):
        yield f"aten.segment_reduce.default(x0, '{how}', lengths = x1)", (F, [6, 2], [0, 1, 2, 2, -1]), (I, [3], [2, 0, 4])
        yield f"aten.segment_reduce.default(x0, '{how}', offsets = x1, initial = 2)", (F, [6, 2], [0, 1, 2, 2, -1]), (I, [4], [0, 2, 2, 6])
        yield (f"aten._segment_reduce_backward.default(x0, x1, x2, '{how}', lengths = x3)", (F, [3], 5), "segments", how, (F, [6], [0, 1, 2, 2, 0, -1]), (I, [3], [2, 0, 4]))
    for t in (F, torch.int32, torch.bool):
        yield "aten.hash_tensor.default(x0, [0])", (t, [3, 2], [1.5, -2, 3])
    yield "aten._trilinear.default(x0, x1, x2, [1, 3], [0], [1, 2], [2, 3])", (F, [2, 3], 1), (F, [4, 3, 5], 2), (F, [2, 5], 3)
    yield "aten.histogram.bin_ct(x0, 4, weight = x1, density = True)", (F, [20], 1), (F, [20], [0.5, 1, 2])
    yield "aten.histogram.bin_ct(x0, 3)", (F, [4], [2])
    yield "aten.histogram.bins_tensor(x0, x1)", (F, [20], 1), (F, [4], [-2, -1, 0.5, 3])
    yield "aten._histogramdd_from_bin_cts.default(x0, [2, 3], density = True)", (F, [20, 2], 1)
    for rest in ("[3, 2], [2, 1], [1, 0], [1, 2], False", "[2, 2], [2, 2], [0, 0], [1, 1], True"):
        yield f"prims._low_memory_max_pool_with_offsets.default(x0, {rest})", (F, [1, 2, 6, 5], 1)
    yield "prims._low_memory_max_pool_offsets_to_indices.default(x0, [3, 2], [6, 5], [2, 1], [1, 0], [1, 2])", (torch.int8, [1, 1, 3, 3], [2, 3, 4, 5])


def listed():
    names = {"f32": F, "f64": D, "bf16": B, "f16": H, "i64": I, "i32": torch.int32, "i16": torch.int16, "i8": torch.int8,
             "u8": torch.uint8, "b8": torch.bool}
    for line in open(os.path.splitext(__file__)[0] + ".calls"):
        if not line.startswith("#"):
            call, *tensors = line.rstrip("\n").split(" ; ")
            found = [re.fullmatch(r"(\w+)\[([\d,]*)\]: ?(.*)", t).groups() for t in tensors]
            yield call, *((names[d], [int(n) for n in size.split(",") if n], [float(v) for v in data.split()]) for d, size, data in found)


def inputs(spec):
    if spec and spec[0] == "attention":
        heads = spec[2] if len(spec) > 2 else 2  # of the query; key and value have 2
        q, k, v = (tensor(F, [1, h, n, 4], s) for h, n, s in ((heads, 3, 1), (2, 5, 2), (2, 5, 3)))
        o, lse = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(q, k, v, 0.0, spec[1] == "True")
        return [tensor(F, [1, heads, 3, 4], 4), q, k, v, o.contiguous(), lse.contiguous()]
    if "segments" in spec:
        x, n = (tensor(*s) for s in spec[3:])
        return [tensor(*spec[0]), torch.segment_reduce(x, spec[2], lengths=n), x, n]
    return [tensor(*s) for s in spec]


def data(t):
    flat = t.reshape(-1)
    if t.dtype.is_complex:
        flat = torch.view_as_real(flat).reshape(-1)
    if t.dtype == torch.uint64:
        return [str(v) for v in flat.tolist()]
    return [v if v == v and abs(v) != INF else str(v) for v in flat.double().tolist()]


def value(t):
    if t is None:
        return None
    return {"dtype": str(t.dtype), "size": list(t.shape), "data": data(t)}


if __name__ == "__main__":
    rows = []
    for call, *spec in [*cases(), *listed()]:
        x = inputs(spec)
        torch.manual_seed(0)
        name, args = call.split("(", 1)
        fn = torch.ops
        for part in name.split("."):
            fn = getattr(fn, part)  # `from` is an overload, and a word of Python
        out = eval("fn(" + args, {"fn": fn, "torch": torch, "nan": NAN, "inf": INF, **{f"x{i}": t for i, t in enumerate(x)}})
        out = [out] if isinstance(out, torch.Tensor) else list(out)
        rows.append(json.dumps({"call": call, "in": [value(t) for t in x], "out": [value(t) for t in out]}, separators=(",", ":")))
    with open(sys.argv[1], "w") as f:
        f.write('{"torch":"%s","capability":"%s","cases":[\n' % (torch.__version__, torch.backends.cpu.get_cpu_capability()))
        f.write(",\n".join(rows) + "]}\n")
