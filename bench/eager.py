#!/usr/bin/env python3
"""Times the graphs of bench_exec in PyTorch, eagerly and on one thread: the table that bench_exec compares with.

  bench_exec print | python3 bench/eager.py [RUNS] > eager.tsv

Inputs are those that bench_exec makes. Seconds are the least of the runs, of this thread's CPU time."""
import platform
import re
import sys
import time

import torch

torch.set_num_threads(1)
DTYPES = {"f32": torch.float32, "f64": torch.float64, "bf16": torch.bfloat16, "f16": torch.float16, "i64": torch.int64}


def value(annotation):
    kind, sizes = re.match(r"(\w+)\[([^\]]*)\]", annotation).groups()
    size = [int(s) for s in sizes.split(",") if s.strip()]
    n = 1
    for s in size:
        n *= s
    i = torch.arange(n, dtype=torch.float64)
    return ((i * 37 + 11) % 101 / 101 - 0.5).to(DTYPES[kind]).reshape(size)


def main():
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    print(f"# PyTorch {torch.__version__}, one thread, {platform.machine()}; least CPU seconds of {runs} runs")
    for name, body in re.findall(r"^# (.*)\n((?:(?!^# ).*\n?)*)", sys.stdin.read(), re.M):
        scope = {"torch": torch}
        exec(body, scope)
        module = scope["GraphModule"]()
        args = [value(v) for v in module.forward.__annotations__.values()]
        best = float("inf")
        with torch.no_grad():
            for _ in range(runs + 2):
                start = time.thread_time()
                out = module(*args)
                best = min(best, time.thread_time() - start)
                del out
        print(f"{name}\t{best:.7f}", flush=True)


if __name__ == "__main__":
    main()
