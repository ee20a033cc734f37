"""The engines that take turns: ours behind a pipe, PyTorch's, ONNX Runtime's and OpenVINO's."""

import contextlib
import copy
import importlib.util
import io
import math
import os
import subprocess
import sys
import tempfile
import time

from workloads import step_of


def say(*words):
    print("bench-peers:", *words, file=sys.stderr, flush=True)


def have(*modules):
    lacking = [m for m in modules if importlib.util.find_spec(m) is None]
    if lacking:
        say(f"left out for want of {', '.join(lacking)}: {sys.executable} -m pip install {' '.join(lacking)}")
    return not lacking


class Ours:
    """The compiled Go program behind a pipe, with kernels in a folder of its own."""

    def __init__(self, binary, model, cache):
        env = {**os.environ, "XDG_CACHE_HOME": cache}
        self.proc = subprocess.Popen(
            [binary, "run", "--plain", model], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env
        )

    def ask(self, name, what):
        self.proc.stdin.write(f"{name} {what}\n")
        self.proc.stdin.flush()
        line = self.proc.stdout.readline()
        if not line or line.startswith("error"):
            raise RuntimeError(f"our side said {line.strip() or 'nothing'!r}")
        return [int(word) / 1e3 for word in line.split()]

    def first(self, name):
        """Milliseconds to build the model and of its first call."""
        return self.ask(name, "first")

    def times(self, name, calls):
        return self.ask(name, calls)

    def end(self):
        self.proc.stdin.close()
        self.proc.wait()


def timed(run):
    """A call's result and its milliseconds."""
    start = time.perf_counter()
    out = run()
    return out, (time.perf_counter() - start) * 1e3


def loaded(load, times=3):
    """What load gives, and the least milliseconds of so many loads: how long the system takes to find
    memory differs by as much as a load takes."""
    least = math.inf
    for _ in range(times):
        run = None  # the one before is let go first
        run, took = timed(load)
        least = min(least, took)
    return run, least


def calls_of(run, calls):
    """Milliseconds of each call."""
    return [timed(run)[1] for _ in range(calls)]


def under_autocast(run):
    import torch

    with torch.autocast("cpu", dtype=torch.bfloat16):
        return run()


def torch_engine(workload, module, inputs, mode):
    """A call of the module, or a step of its training, compiled in a mode, and the milliseconds of the first."""
    import torch

    call = step_of(module, inputs, workload.optimizer) if workload.optimizer else lambda: module(*inputs)
    around = lambda run: run
    if workload.half == "autocast":
        around = lambda run: lambda: under_autocast(run)
    if mode == "eager":
        around(call)()
        return around(call), None
    from torch._inductor.utils import fresh_cache

    torch._dynamo.reset()
    freezing = mode == "freezing"
    settings = torch._inductor.config.patch(freezing=True) if freezing else contextlib.nullcontext()
    folder = os.environ["TORCHINDUCTOR_CACHE_DIR"]
    os.makedirs(folder, exist_ok=True)
    with settings, fresh_cache(dir=folder, delete=False):  # else a step finds the kernels of the same step before
        if workload.optimizer:
            run = torch.compile(call, mode=mode)
        else:
            compiled = torch.compile(module) if freezing else torch.compile(module, mode=mode)
            run = around(lambda: compiled(*inputs))
        return run, timed(run)[1]


def exported(module, inputs, folder):
    import torch

    path = os.path.join(folder, "model.onnx")
    with contextlib.redirect_stdout(io.StringIO()):
        torch.onnx.export(module, inputs, path, dynamo=True)
    return path


def onnxruntime_engine(path, inputs, threads):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.add_session_config_entry("session.force_spinning_stop", "1")

    def load():
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        feed = {i.name: x.numpy() for i, x in zip(session.get_inputs(), inputs)}
        session.run(None, feed)
        return lambda: session.run(None, feed)

    return loaded(load)


def openvino_engine(path, inputs, threads, precision):
    import openvino

    hints = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": precision}

    def load():
        core = openvino.Core()
        request = core.compile_model(core.read_model(path), "CPU", hints).create_infer_request()
        for i, x in enumerate(inputs):
            request.set_input_tensor(i, openvino.Tensor(x.numpy(), shared_memory=True))
        request.infer()
        return request.infer

    return loaded(load)


def peers_of(workload, module, inputs, modes, threads):
    """Each peer's call by its name, and what it took to the end of the first one; what fails is left out, aloud."""
    runs, first = {}, {}

    def add(name, make):
        try:
            runs[name], took = make()
        except Exception as e:  # a peer that cannot run this model
            say(f"{workload.title}: {name} could not run: {type(e).__name__}: {str(e).splitlines()[0] if str(e) else ''}")
        else:
            if took is not None:
                first[name] = took

    mine, given = module, inputs
    if workload.half == "weights":
        import torch

        mine = copy.deepcopy(module).to(torch.bfloat16)
        given = tuple(x.to(torch.bfloat16) if x.is_floating_point() else x for x in inputs)
    for mode in ["eager", *modes]:
        if not (workload.optimizer and mode == "freezing"):  # which is for inference
            add(mode, lambda mode=mode: torch_engine(workload, mine, given, mode))
    if workload.optimizer or not have("onnx", "onnxscript"):
        return runs, first
    with tempfile.TemporaryDirectory() as folder:
        try:
            path = exported(module, inputs, folder)
        except Exception as e:
            say(f"{workload.title}: no export to ONNX: {type(e).__name__}: {str(e).splitlines()[0]}")
            return runs, first
        if workload.half:
            say(f"{workload.title}: ONNX Runtime computes float32 on the CPU and is left out")
        elif have("onnxruntime"):
            add("ONNX Runtime", lambda: onnxruntime_engine(path, inputs, threads))
        if have("openvino"):
            add("OpenVINO", lambda: openvino_engine(path, inputs, threads, "bf16" if workload.half else "f32"))
    return runs, first
