# This program compares what exportcases and export left in a folder with what PyTorch and ONNX Runtime compute of the
# same files: python compare.py FOLDER. It prints a line for each file, and ends with an error where one differs.
import glob
import os
import sys

import numpy
import torch
from safetensors.torch import load_file


def distance(got, want):
    got, want = torch.as_tensor(got).double(), want.double()
    if got.shape != want.shape:
        return float("inf")
    return ((got - want).abs().max() / (want.abs().max() + 1e-12)).item() if got.numel() else 0.0


def values(data, prefix):
    return [data[k] for k in sorted((k for k in data if k.startswith(prefix)), key=lambda k: int(k[len(prefix) :]))]


def pytorch(path, data):
    program = torch.export.load(path)
    args, kwargs = program.example_inputs
    with torch.no_grad():
        results = program.module()(*args, **kwargs)
        far = first_rows(data, lambda x: program.module()(x)) if program.range_constraints and smallest(program) < 2 else 0.0
    got = torch.utils._pytree.tree_leaves(results)
    return max(far, *(distance(g, w) for g, w in zip(got, values(data, "out"), strict=True)))


def smallest(program):
    return max(r.lower for r in program.range_constraints.values())


def first_rows(data, run):
    """Compares a call with a batch of one, of programs of one argument and one result whose batch is dynamic."""
    args, results = values(data, "in"), values(data, "out")
    if len(args) != 1 or len(results) != 1 or args[0].shape[0] != results[0].shape[0]:
        return 0.0
    return distance(run(args[0][:1]), results[0][:1])


def onnx(path, data):
    import onnxruntime

    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    feed = {i.name: v.numpy() for i, v in zip(session.get_inputs(), values(data, "in"), strict=True)}
    got = session.run(None, feed)
    first = session.get_inputs()[0]
    far = 0.0
    if first.shape and isinstance(first.shape[0], str):
        far = first_rows(data, lambda x: session.run(None, {first.name: x.numpy()})[0])
    return max(far, *(distance(numpy.asarray(g), w) for g, w in zip(got, values(data, "out"), strict=True)))


worst = 0.0
for file in sorted(glob.glob(os.path.join(sys.argv[1], "*.safetensors"))):
    stem = file.removesuffix(".safetensors")
    data = load_file(file)
    for what, suffix, run in (("pytorch", ".pt2", pytorch), ("onnxruntime", ".onnx", onnx)):
        if not os.path.exists(stem + suffix):
            continue
        try:
            far = run(stem + suffix, data)
        except ImportError:
            print(f"{os.path.basename(stem)} {what}: not installed")
            continue
        worst = max(worst, far)
        print(f"{os.path.basename(stem)} {what} {far:.2g}", flush=True)
print(f"largest difference {worst:.2g}")
sys.exit(0 if worst < 1e-4 else 1)
