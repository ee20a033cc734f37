"""Runs graphs of a PyTorch trace, from their text, with PyTorch itself: JSON on standard input and output."""

import json
import math
import sys
from math import inf, nan

import torch
import torch._inductor.inductor_prims
import torch._prims
from torch import device


def tensor(spec, k):
    count = math.prod(spec["shape"])
    values = [(i * 7919 + k * 104729) % 997 for i in range(count)]
    dtype = getattr(torch, spec["dtype"])
    if dtype.is_floating_point:
        values = [v / 997 + 0.1 for v in values]
    else:
        values = [v % 2 for v in values]
    data = torch.tensor(values, dtype=torch.float64).reshape(spec["shape"]).to(dtype)
    return torch.empty_strided(spec["shape"], spec["stride"], dtype=dtype).copy_(data)


class Stub:
    """Stands for fx_pytree and pytree: inputs and outputs are flat."""

    def __init__(self, inputs):
        self.inputs = inputs

    def tree_flatten_spec(self, _, __):
        return self.inputs

    def tree_unflatten(self, values, _):
        return values


def run(graph):
    values = [s["value"] if "value" in s else tensor(s, k) for k, s in enumerate(graph["inputs"])]
    names = {
        "torch": torch, "device": device, "inf": inf, "nan": nan, "fx_pytree": Stub(values), "pytree": Stub(values),
    }
    exec(graph["text"], names)
    module = names["Graph"]()
    module._in_spec = module._out_spec = None
    if "fx_pytree.tree_flatten_spec" in graph["text"]:
        out = module.forward(None, None)
    else:
        out = module.forward(*values)
    flat = []
    for o in out if isinstance(out, (tuple, list)) else [out]:
        if isinstance(o, torch.Tensor):
            o = o.detach()
            flat.append({"dtype": str(o.dtype), "shape": list(o.shape), "values": [float(x) for x in o.flatten().double().tolist()]})
        else:
            flat.append(None if o is None else {"dtype": "", "shape": [], "values": [float(o)]})
    return flat


answers = []
for graph in json.load(sys.stdin):
    try:
        answers.append({"outputs": run(graph)})
    except Exception as e:
        answers.append({"error": f"{type(e).__name__}: {e}"[:300]})
json.dump(answers, sys.stdout)
