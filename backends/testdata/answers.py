"""What the make.py of complex, flow and numbers share: cases, and how PyTorch answers them.

Each case is a function of x and w, in Python and in Go. It runs compiled on x and on -x; what is kept are values,
gradients and the text of the captured graph.
"""
import json
import sys
import warnings

import torch

warnings.filterwarnings("ignore")
CASES = []


def case(name, go, grad=True):
    def add(f):
        CASES.append((name, f, go, grad))
    return add


def aot_eager(gm, example):
    from torch._dynamo.backends.debugging import aot_eager
    return aot_eager(gm, example)


def answer(x0, w0, compiled, eagerly, name, f, go, grad):
    graphs = []

    def backend(gm, example):
        graphs.append(gm.print_readable(print_output=False, include_stride=True, include_device=True))
        return compiled(gm, example)

    torch._dynamo.reset()
    fast = torch.compile(f, backend=backend, fullgraph=True, dynamic=False)
    runs = []
    for sign in (1.0, -1.0):
        x = (torch.tensor(x0) * sign).requires_grad_(grad)
        w = torch.tensor(w0).requires_grad_(grad)
        y = fast(x, w)
        if eagerly(name):
            y = f(x, w)
        run = {"value": y.detach().flatten().tolist()}
        if grad:
            (y * torch.arange(1.0, y.numel() + 1).reshape(y.shape)).sum().backward()
            for k, t in (("x", x), ("w", w)):
                g = t.grad if t.grad is not None else torch.zeros_like(t)
                run[k] = g.flatten().tolist()
        runs.append(run)
    return {"name": name, "go": go.strip("\n"), "grad": grad, "runs": runs, "graph": [s for s in graphs[0].split("\n") if "# File" not in s]}


def write(x, w, compiled=aot_eager, eagerly=lambda name: False):
    """Writes the answers to all cases. Cases that eagerly names take values and gradients of the plain function."""
    out = {"pytorch": torch.__version__, "x": x, "w": w, "cases": [answer(x, w, compiled, eagerly, *c) for c in CASES]}
    json.dump(out, sys.stdout, indent=1)
    print()
