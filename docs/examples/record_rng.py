"""What rng.aots.gz recorded: run from this folder with tools/ in PYTHONPATH, PyTorch 2.11.

Random numbers where they go wrong: drawn between forward and backward, in bodies of higher-order
operators, with sizes that change from call to call."""
import torch
import torch._functorch.config as config
from torch.nn.functional import dropout

import aotscope_record

torch.manual_seed(0)
linear = torch.nn.Linear(4, 4)


def layer(x):
    return dropout(linear(x), 0.5).sin()


@torch.compiler.nested_compile_region
def region(x):
    return dropout(linear(x), 0.5)


def nested(x):
    return region(region(x)).sin()


def branch(x):
    return torch.cond(x.sum() > 0, lambda x: dropout(x, 0.5).sin(), lambda x: x.cos(), (x,))


def run(f, *sizes, noise=0, **options):
    step = torch.compile(f, backend=aotscope_record.backend, **options)
    for n in sizes:
        out = step(torch.ones(n, 4, requires_grad=True))
        torch.rand(noise)
        out.sum().backward()
    torch._dynamo.reset()


with aotscope_record.session("rng.aots", short_paths=True):
    with config.patch(activation_memory_budget=0):
        run(layer, 2, noise=3)
    run(layer, 3, 5, dynamic=True)
    run(nested, 2)
    run(branch, 2)
