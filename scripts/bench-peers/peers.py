"""Workloads on our compiler and on its peers, in one run.

Usage: peers.py BINARY MODEL [--rounds N] [--only a,b] [--modes a,b]. Every
engine has the same number of threads; they take turns within a round, so that
what else the machine does hits all of them, and the least time of a call counts.
A peer that is not installed is left out, aloud.
"""

import argparse
import contextlib
import importlib.util
import io
import os
import platform
import subprocess
import sys
import tempfile
import time

THREADS = len(os.sched_getaffinity(0))


def say(*words):
    print("bench-peers:", *words, file=sys.stderr, flush=True)


def have(*modules):
    lacking = [m for m in modules if importlib.util.find_spec(m) is None]
    if lacking:
        say(f"left out for want of {', '.join(lacking)}: {sys.executable} -m pip install {' '.join(lacking)}")
    return not lacking


class Ours:
    """The compiled Go program behind a pipe."""

    def __init__(self, binary, model):
        self.proc = subprocess.Popen([binary, "run", "--plain", model], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def times(self, name, calls):
        self.proc.stdin.write(f"{name} {calls}\n")
        self.proc.stdin.flush()
        line = self.proc.stdout.readline()
        if not line or line.startswith("error"):
            sys.exit(f"bench-peers: {name}: our side said {line!r}")
        return [int(word) / 1e3 for word in line.split()]


def calls_of(run, calls):
    """Milliseconds of each call."""
    out = []
    for _ in range(calls):
        start = time.perf_counter()
        run()
        out.append((time.perf_counter() - start) * 1e3)
    return out


def workloads():
    """Name, title, module and inputs of each workload."""
    import torch
    from torch import nn
    from torch.nn import functional as F

    class Block(nn.Module):
        def __init__(self, hidden=768, inner=3072, heads=12):
            super().__init__()
            self.heads = heads
            self.q, self.k, self.v, self.o = (nn.Linear(hidden, hidden) for _ in range(4))
            self.up, self.down = nn.Linear(hidden, inner), nn.Linear(inner, hidden)
            self.norm1, self.norm2 = nn.LayerNorm(hidden), nn.LayerNorm(hidden)

        def split(self, x):
            return x.view(x.shape[0], x.shape[1], self.heads, -1).transpose(1, 2)

        def forward(self, x):
            a = F.scaled_dot_product_attention(self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x)))
            x = self.norm1(x + self.o(a.transpose(1, 2).reshape(x.shape)))
            return self.norm2(x + self.down(F.gelu(self.up(x))))

    class Silu(nn.Module):
        def forward(self, x, y):
            return F.silu(x) * x + y

    torch.manual_seed(0)

    def encoder(layers):
        return nn.Sequential(*(Block() for _ in range(layers)))

    yield "encoder", "encoder, 12 layers, 1x128", encoder(12), (torch.randn(1, 128, 768),)
    if have("torchvision"):
        from torchvision.models import resnet50

        yield "resnet", "ResNet-50, 1x3x224x224", resnet50(), (torch.randn(1, 3, 224, 224),)
    yield "matmul", "linear 1024x1024x1024", nn.Linear(1024, 1024, bias=False), (torch.randn(1024, 1024),)
    yield "silu", "silu(x)*x+y, 64 MB", Silu(), (torch.randn(16 << 20), torch.randn(16 << 20))
    yield "softmax", "softmax 4096x4096", nn.Softmax(-1), (torch.randn(4096, 4096),)
    yield "layer_norm", "layer_norm 4096x4096", nn.LayerNorm(4096), (torch.randn(4096, 4096),)
    yield "train_encoder", "training step: encoder, 4 layers, 4x128, AdamW", encoder(4), (torch.randn(4, 128, 768), torch.randn(4, 128, 768))
    if have("torchvision"):
        from torchvision.models import resnet18

        yield "train_resnet", "training step: ResNet-18, 4x3x128x128, SGD", resnet18(), (torch.randn(4, 3, 128, 128), torch.randint(0, 1000, (4,)))


def training_engines(module, inputs, modes):
    """Steps of training, compiled whole: the graph breaks at the backward pass."""
    import torch
    from torch.nn import functional as F

    x, want = inputs
    params = list(module.parameters())
    if want.dtype == torch.long:
        loss, make = F.cross_entropy, lambda: torch.optim.SGD(params, lr=0.01, momentum=0.9)
    else:
        loss, make = F.mse_loss, lambda: torch.optim.AdamW(params)

    def steps(compiled=lambda step: step):
        optimizer = make()

        def step():
            optimizer.zero_grad()
            loss(module(x), want).backward()
            optimizer.step()

        step = compiled(step)
        step()
        return step

    yield "eager", steps()
    for mode in modes:
        if mode != "freezing":  # which is for inference
            torch._dynamo.reset()
            yield mode, steps(lambda step, mode=mode: torch.compile(step, mode=mode))


def torch_engines(module, inputs, modes):
    import torch

    yield "eager", lambda: module(*inputs)
    for mode in modes:
        torch._dynamo.reset()
        if mode == "freezing":
            config = torch._inductor.config.patch(freezing=True)
            compiled = torch.compile(module)
        else:
            config = contextlib.nullcontext()
            compiled = torch.compile(module, mode=mode)
        with config:
            compiled(*inputs)
        yield mode, lambda compiled=compiled: compiled(*inputs)


def exported(module, inputs, folder):
    import torch

    path = os.path.join(folder, "model.onnx")
    with contextlib.redirect_stdout(io.StringIO()):
        torch.onnx.export(module, inputs, path, dynamo=True)
    return path


def onnxruntime_engine(path, inputs):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = THREADS
    options.add_session_config_entry("session.force_spinning_stop", "1")
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    feed = {i.name: x.numpy() for i, x in zip(session.get_inputs(), inputs)}
    return lambda: session.run(None, feed)


def openvino_engine(path, inputs):
    import openvino

    core = openvino.Core()
    hints = {"INFERENCE_NUM_THREADS": THREADS, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}
    request = core.compile_model(core.read_model(path), "CPU", hints).create_infer_request()
    feed = [openvino.Tensor(x.numpy(), shared_memory=True) for x in inputs]
    for i, x in enumerate(feed):
        request.set_input_tensor(i, x)
    return request.infer


def engines(module, inputs, modes):
    """Every engine of one workload by name."""
    out = dict(torch_engines(module, inputs, modes))
    with tempfile.TemporaryDirectory() as folder:
        if not have("onnx", "onnxscript"):
            return out
        path = exported(module, inputs, folder)
        if have("onnxruntime"):
            out["ONNX Runtime"] = onnxruntime_engine(path, inputs)
        if have("openvino"):
            out["OpenVINO"] = openvino_engine(path, inputs)
    return out


def table(rows, columns, modes):
    """The figures as a table, with the ratio to the best mode of torch.compile."""
    print("| workload | " + " | ".join(columns) + " | best mode / tcdbg |")
    print("|---" * (len(columns) + 2) + "|")
    for title, best in rows:
        cells = [f"{best[c]:.2f}" if c in best else "-" for c in columns]
        compiled = [best[m] for m in modes if m in best]
        ratio = f"{min(compiled) / best['tcdbg']:.2f}" if compiled else "-"
        print(f"| {title} | " + " | ".join(cells) + f" | {ratio} |")


def machine():
    model = platform.processor()
    with contextlib.suppress(OSError), open("/proc/cpuinfo") as f:
        model = next((l.split(":")[1].strip() for l in f if l.startswith("model name")), model)
    return f"{model}, {THREADS} threads"


def main():
    args = argparse.ArgumentParser()
    args.add_argument("binary")
    args.add_argument("model")
    args.add_argument("--rounds", type=int, default=12)
    args.add_argument("--only", default="")
    args.add_argument("--modes", default="default,max-autotune,freezing")
    opt = args.parse_args()
    only, modes = [w for w in opt.only.split(",") if w], opt.modes.split(",")
    ours = Ours(opt.binary, opt.model)
    rows, columns = [], ["tcdbg"]
    if not have("torch"):
        for name in only or ["encoder", "resnet", "matmul", "silu", "softmax", "layer_norm", "train_encoder", "train_resnet"]:
            ours.times(name, 3)
            rows.append((name, {"tcdbg": min(ours.times(name, 5 * opt.rounds))}))
    else:
        import torch

        torch.set_num_threads(THREADS)
        say(f"PyTorch {torch.__version__}")
        for name, title, module, inputs in workloads():
            if only and name not in only:
                continue
            say(title)
            training = name.startswith("train_")
            with torch.set_grad_enabled(training):
                peers = dict(training_engines(module, inputs, modes)) if training else engines(module.eval(), inputs, modes)
                rows.append((title, measure(ours, name, peers, opt.rounds)))
            columns += [c for c in rows[-1][1] if c not in columns]
    print(f"Least milliseconds of a call; {machine()}.\n")
    table(rows, columns, modes)
    ours.proc.stdin.close()


def measure(ours, name, peers, rounds):
    best = {}
    takers = {"tcdbg": lambda n: ours.times(name, n)}
    takers.update({peer: (lambda n, run=run: calls_of(run, n)) for peer, run in peers.items()})
    for take in takers.values():
        take(3)
    for _ in range(rounds):
        for peer, take in takers.items():
            time.sleep(0.02)  # the threads of the one before stop spinning
            best[peer] = min(take(5) + [best.get(peer, float("inf"))])
    return best


if __name__ == "__main__":
    main()
