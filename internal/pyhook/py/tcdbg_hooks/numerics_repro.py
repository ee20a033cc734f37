"""A program that shows a difference by itself: the part of the graph as a module, its inputs in a
file, and the comparison. It needs PyTorch alone."""

import inspect
import os
import types

import torch

from . import numerics_run as runs

_HEAD = '''"""%(title)s

Runs a part of a graph compiled and eagerly on the inputs in inputs.pt, prints how far the results lie
apart, and exits with 1 where they differ. Written by tcdbg check --numerics.
"""
import os
import sys

os.environ.setdefault("TORCHINDUCTOR_FORCE_DISABLE_CACHES", "1")  # what another PyTorch compiled tells nothing of this one

import torch
%(imports)s

HERE = os.path.dirname(os.path.abspath(__file__))
BACKEND = %(backend)r  # another one as an argument: a name, or FILE.py:FUNCTION
TOLERANCE = {
    torch.float64: (1e-7, 1e-7), torch.float32: (1.3e-6, 1e-5), torch.complex64: (1.3e-6, 1e-5),
    torch.float16: (1e-3, 1e-5), torch.bfloat16: (1.6e-2, 1e-5),
}


class Part(torch.nn.Module):
    def __init__(self, attributes):
        super().__init__()
        for name, value in attributes.items():
            self.register_buffer(name, value)

%(forward)s
'''

_TAIL = '''

def run(f, saved, wide=False):
    """Outputs and gradients of inputs, on copies of the inputs."""
    torch.set_rng_state(saved["rng"])
    args = []
    for a in saved["inputs"]:
        if isinstance(a, torch.Tensor):
            grad, a = a.requires_grad, a.detach()
            a = a.double() if wide and a.is_floating_point() else a.clone()
            a.requires_grad_(grad)
        args.append(a)
    with torch.set_grad_enabled(saved["grad"]):
        outs = [t for t in f(*args) if isinstance(t, torch.Tensor)]
        wanted = [t for t in outs if t.requires_grad]
        leaves = [a for a in args if isinstance(a, torch.Tensor) and a.requires_grad]
        grads = []
        if saved["train"] and wanted and leaves:
            seeds = []
            for t in wanted:
                at = torch.arange(t.numel(), dtype=torch.float64)
                seeds.append(((torch.cos(0.7 * at + 1) * 64).trunc() / 64).reshape(t.shape).to(t.device, t.dtype))
            grads = torch.autograd.grad(wanted, leaves, seeds, allow_unused=True)
    named = [("output %d" % i, t) for i, t in enumerate(outs)]
    return named + [("gradient %d" % i, g) for i, g in enumerate(grads) if g is not None]


def differs(what, got, want, exact):
    """Whether got is farther from want than its dtype allows, and from double precision than rounding is."""
    if got.dtype != want.dtype or got.shape != want.shape:
        print(what, "is", got.dtype, list(got.shape), "compiled and", want.dtype, list(want.shape), "eager")
        return True
    relative, absolute = TOLERANCE.get(want.dtype, (0.0, 0.0))
    wide = torch.float64 if want.is_floating_point() else want.dtype
    a, b = got.detach().to(wide), want.detach().to(wide)
    same = (a == b) | ((a != a) & (b != b))
    wrong = ~same & ~((a - b).abs() <= absolute + relative * b.abs()) if want.is_floating_point() else ~same
    count = int(wrong.sum())
    if count and exact is not None and want.is_floating_point():
        r = exact.detach()
        spread = (b - r).abs()
        spread = spread[torch.isfinite(spread)]
        most = float(spread.max()) if spread.numel() else 0.0
        wrong &= ~((a - r).abs() <= 4 * most + absolute + relative * r.abs())
    if not bool(wrong.any()):
        print(what, "is equal")
        return False
    at = tuple(int(i) for i in wrong.nonzero()[0])
    print("%%s: %%d of %%d elements differ; the first is %%s: compiled %%r, eager %%r"
          %% (what, int(wrong.sum()), wrong.numel(), list(at), a[at].item(), b[at].item()))
    return True


def backend_of(name):
    if name is None:
        print("the program's own backend made the difference: python repro.py FILE.py:FUNCTION names it")
        sys.exit(2)
    if ":" not in name:
        return name
    import importlib.util

    file, function = name.rsplit(":", 1)
    spec = importlib.util.spec_from_file_location("backend_of_the_program", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, function)


def main():
    backend = backend_of(sys.argv[1] if len(sys.argv) > 1 else BACKEND)
    saved = torch.load(os.path.join(HERE, "inputs.pt"), weights_only=True)
    part = Part(saved["attributes"])
    want = run(part, saved)
    try:
        exact = [t for _, t in run(part.double(), saved, wide=True)]
    except Exception:
        exact = [None] * len(want)
    part = Part(saved["attributes"])
    got = run(torch.compile(part, backend=backend, dynamic=False), saved)
    if len(got) != len(want):
        print(len(got), "results compiled,", len(want), "eager")
        sys.exit(1)
    exact = exact if len(exact) == len(want) else [None] * len(want)
    wrong = [differs(w, a, b, e) for (w, a), (_, b), e in zip(got, want, exact)]
    sys.exit(1 if any(wrong) else 0)


if __name__ == "__main__":
    main()
'''


def write(folder, search):
    """Writes a reproducer of the smallest part that differs, and returns its folder."""
    subject, record = search.smallest, search.graph.record
    attributes = {}
    for n in subject.gm.graph.nodes:
        if n.op == "call_module":
            raise LookupError("the graph calls the module " + str(n.target))
        if n.op == "get_attr":
            value = subject.gm
            for part in str(n.target).split("."):
                value = getattr(value, part)
            if not isinstance(value, torch.Tensor) or "." in str(n.target):
                raise LookupError("the graph reads " + str(n.target))
            attributes[str(n.target)] = value.detach().clone()
    code = subject.gm.graph.python_code("self")
    imports = sorted({_import(name, value) for name, value in code.globals.items()} - {""})
    forward = "\n".join("    " + line if line.strip() else "" for line in code.src.strip("\n").split("\n"))
    title = "Graph %s of %s: it differs from eager execution in %s" % (record["compile"], record["backend"], search.fault["stage"])
    if search.fault.get("node"):
        title += ", at " + search.fault["node"]
    text = _HEAD % {
        "title": title + ".", "imports": "\n".join(imports), "backend": backend_name(search), "forward": forward,
    } + _TAIL.replace("%%", "%")  # fmt: skip
    at = os.path.join(folder, "graph-" + record["compile"].replace("/", "-") + "-%d" % record["process"])
    os.mkdir(at)
    with open(os.path.join(at, "repro.py"), "x") as f:
        f.write(text)
    saved = {
        "inputs": [a.detach().cpu().requires_grad_(a.requires_grad) if isinstance(a, torch.Tensor) else a for a in subject.args],
        "attributes": attributes, "rng": subject.rng, "train": subject.train, "grad": subject.grad,
    }  # fmt: skip
    torch.save(saved, os.path.join(at, "inputs.pt"))
    return at


def backend_name(search):
    """What torch.compile takes for the program's backend; None where a reproducer cannot name it."""
    fn = search.graph.backend._torchdynamo_orig_backend
    name = search.graph.backend._tcdbg_name
    from torch._dynamo.backends.registry import list_backends

    if isinstance(name, str) and name in list_backends(exclude_tags=()):
        return name
    fn = getattr(fn, "compiler_fn", fn)
    file = getattr(inspect.getmodule(fn), "__file__", None)
    qualname = getattr(fn, "__qualname__", "")
    if getattr(fn, "__module__", "__main__") == "__main__" or not file or not qualname.isidentifier():
        return None
    return os.path.abspath(file) + ":" + qualname


def _import(name, value):
    if isinstance(value, types.ModuleType):
        return "import %s" % value.__name__ if value.__name__.split(".")[0] == name else "import %s as %s" % (value.__name__, name)
    if isinstance(value, float):
        return "from math import %s" % name if name in ("inf", "nan") else ""
    if value is type(None):
        return "NoneType = type(None)"
    module, qualname = getattr(value, "__module__", None), getattr(value, "__qualname__", getattr(value, "__name__", ""))
    if module and qualname and "." not in qualname and "<" not in qualname and module != "builtins":
        return "from %s import %s as %s" % (module, qualname, name)
    return ""
