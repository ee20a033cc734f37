"""Runs exported Triton modules and compares them with eager's results.

    go test ./backends -run TritonExport -triton-export=DIR
    python scripts/compare-triton.py DIR [CASE... | PART/PARTS]

Needs PyTorch with Triton and a GPU. With TRITON_INTERPRET=1 the kernels run on
the CPU, in Triton's interpreter.
"""

import base64
import importlib.util
import json
import os
import pathlib
import sys

import torch

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
DEVICE = "cpu" if INTERPRETED else "cuda"


class Libdevice:
    """The elementary functions for Triton's interpreter, which has none."""

    def __getattr__(self, name):
        function = getattr(torch, {"nearbyint": "round"}.get(name, name))

        def call(*values):
            from triton.language.core import tensor
            from triton.runtime.interpreter import TensorHandle

            first = values[0]
            arrays = [torch.from_numpy(v.handle.data.copy()) for v in values]
            return tensor(TensorHandle(function(*arrays).numpy(), first.handle.dtype), first.type)

        return call


def load(path):
    spec = importlib.util.spec_from_file_location("module_" + path.parent.name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if INTERPRETED:
        module.libdevice = Libdevice()
        module.device = torch.device("cpu")
    return module


def read(t):
    """A tensor, or the number that stands instead of one."""
    if "dtype" not in t:
        return t.get("number")
    shape, stride = t.get("shape") or [], t.get("stride") or []
    dtype = getattr(torch, t["dtype"])
    if 0 in shape:
        return torch.empty_strided(shape, stride, dtype=dtype)
    flat = torch.frombuffer(bytearray(base64.b64decode(t["data"])), dtype=dtype)
    return torch.as_strided(flat, shape, stride)


def on_device(x):
    """The same layout on the device, which to() need not keep."""
    if not isinstance(x, torch.Tensor):
        return x
    if x.numel() == 0:
        return torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device=DEVICE)
    span = 1 + sum((n - 1) * s for n, s in zip(x.shape, x.stride()))
    return torch.as_strided(torch.as_strided(x, (span,), (1,)).to(DEVICE), x.shape, x.stride())


# What a sum in another order may differ by, of the largest element.
WITHIN = {torch.float64: 1e-7, torch.float32: 1e-4, torch.float16: 1e-2, torch.bfloat16: 4e-2}


def check(got, want):
    if isinstance(got, torch.Tensor) and isinstance(want, torch.Tensor):
        got, within = got.cpu(), WITHIN.get(want.dtype, 0)
        largest = torch.nan_to_num(want.double(), 0, 0, 0).abs().max().item() if want.numel() else 0
        torch.testing.assert_close(got, want, rtol=within, atol=within * max(1, largest), equal_nan=True)
    elif got != want and not (got != got and want != want):
        raise AssertionError(f"{got} and not {want}")


def run(folder):
    case = json.loads((folder / "case.json").read_text())
    module = load(folder / "module.py")
    results = module.call([on_device(read(t)) for t in case["inputs"]])
    wrong = []
    for i, (o, got) in enumerate(zip(case["outputs"], results, strict=True)):
        try:
            check(got, read(o))
        except AssertionError as e:
            wrong.append(f"output {i}: {' '.join(str(e).split())}")
    return case["kernels"], wrong


def main(root, *names):
    torch.backends.cudnn.allow_tf32 = False
    failed = total = 0
    folders = sorted(p.parent for p in pathlib.Path(root).glob("*/case.json"))
    if names and "/" in names[0]:  # 3/16: the fourth of sixteen parts
        part, of = map(int, names[0].split("/"))
        folders, names = folders[part::of], ()
    for folder in folders:
        if names and folder.name not in names:
            continue
        try:
            kernels, wrong = run(folder)
        except Exception as e:  # a kernel that does not compile is a finding too
            kernels, wrong = 0, [f"{type(e).__name__}: {str(e)[-400:]}"]
        total += kernels
        failed += bool(wrong)
        print(f"{folder.name}: {kernels} kernels, {'; '.join(wrong) or 'as eager'}", flush=True)
    print(f"{total} kernels, {failed} cases differ")
    return 1 if failed or not total else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
