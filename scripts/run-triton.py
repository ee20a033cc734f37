"""Runs exported Triton kernels and compares them with eager's results.

    go test ./backends -run TritonExport -triton-export=DIR
    python scripts/run-triton.py DIR [CASE...]

Needs PyTorch with Triton and a GPU. With TRITON_INTERPRET=1 the kernels run on
the CPU, in Triton's interpreter.
"""

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
    spec = importlib.util.spec_from_file_location("kernels_" + path.parent.name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if INTERPRETED:
        module.libdevice = Libdevice()
    return module


def read(path, dtype, count):
    if count == 0:
        return torch.empty(0, dtype=dtype)
    return torch.frombuffer(bytearray(path.read_bytes()), dtype=dtype, count=count)


def run(folder):
    case = json.loads((folder / "case.json").read_text())
    kernels = load(folder / "kernels.py")
    buffers = []
    for b in case["buffers"]:
        dtype = getattr(torch, b["dtype"])
        if "file" in b:
            buffers.append(read(folder / b["file"], dtype, b["span"]).to(DEVICE))
        else:
            buffers.append(torch.zeros(b["span"], dtype=dtype, device=DEVICE))
    for step in case["steps"]:
        args = [buffers[i] for i in step["buffers"]] + step["numbers"]
        getattr(kernels, step["kernel"])[(step["grid"],)](*args, **step["constants"])
    wrong = []
    for i, o in enumerate(case["outputs"]):
        got = torch.as_strided(buffers[o["buffer"]], o["shape"], o["stride"], o["offset"]).cpu()
        want = read(folder / o["file"], getattr(torch, o["dtype"]), got.numel()).reshape(o["shape"])
        try:
            torch.testing.assert_close(got, want, rtol=o["within"], atol=o["within"], equal_nan=True)
        except AssertionError as e:
            wrong.append(f"output {i}: {' '.join(str(e).split())}")
    return len(case["steps"]), wrong


def main(root, *names):
    failed = total = 0
    for folder in sorted(p.parent for p in pathlib.Path(root).glob("*/case.json")):
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
