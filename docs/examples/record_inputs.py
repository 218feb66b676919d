"""What inputs.aots.gz recorded: run from this folder with tools/ in PYTHONPATH, PyTorch 2.11.

What calls are given is kept: small tensors whole, of larger ones a hash and a sample."""
import torch

import aotscope_record


def scaled(x, weight):
    return x.sin() * x + weight.sum()


with aotscope_record.session("inputs.aots", record_inputs=64, short_paths=True):
    step = torch.compile(scaled, backend=aotscope_record.backend)
    for first in (1.0, 4.0):
        x = torch.tensor([first, -2.0, 3.0], requires_grad=True)
        step(x, torch.ones(50)).backward(torch.tensor([0.5, 1.0, 2.0]))
