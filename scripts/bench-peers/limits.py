"""The least time that a workload can take on this machine, by its multiply-adds and by its bytes."""

import contextlib
import os
import platform
import shutil
import subprocess
import tempfile
from dataclasses import dataclass

from engines import say

STATES = {"SGD": 1, "Adam": 2, "AdamW": 2}  # tensors that the optimizer keeps of each parameter


@dataclass
class Machine:
    """GFLOP/s of multiply-adds on registers, GB/s read, GB/s read and written, on so many threads; GFLOP/s
    of bfloat16 by tiles or the dot product, 0 where the processor has neither."""

    flops: float
    read: float
    copy: float
    dots: float

    def rate(self, half):
        """GFLOP/s of products: of bfloat16 by whichever way is quicker here."""
        return max(self.dots, self.flops) if half else self.flops


def processor():
    """The processor's name."""
    with contextlib.suppress(OSError), open("/proc/cpuinfo") as f:
        return next((l.split(":")[1].strip() for l in f if l.startswith("model name")), platform.processor())
    return platform.processor()


def told(machine):
    """The limits in a line."""
    dots = f" Products of bfloat16: {machine.dots:.0f} GFLOP/s." if machine.dots else ""
    return f"Multiply-adds: {machine.flops:.0f} GFLOP/s. Memory: {machine.read:.0f} GB/s read, {machine.copy:.0f} GB/s read and written." + dots


def measure(threads):
    """None without a C compiler."""
    cc = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if cc is None:
        say("no C compiler: the machine's limits are not measured")
        return None
    source = os.path.join(os.path.dirname(__file__), "limits.c.txt")
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "limits")
        subprocess.run([cc, "-O3", "-march=native", "-pthread", "-o", program, "-x", "c", source], check=True)
        out = subprocess.run([program, str(threads)], check=True, capture_output=True, text=True).stdout
    return Machine(*(float(word) for word in out.split()))


@contextlib.contextmanager
def every_operator():
    """Attention as one operator, as nn.MultiheadAttention has it in evaluation, is not counted: its parts are."""
    import torch

    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(before)


def work_of(workload, module, inputs):
    """Floating-point operations of products and convolutions, and bytes that have to be moved once:
    inputs, weights and results, and in training each parameter, its gradient and the optimizer's state."""
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    with every_operator(), FlopCounterMode(display=False) as counter:
        out = module(*inputs[: len(inputs) - bool(workload.optimizer)])
        if workload.optimizer:
            out.sum().backward()
    module.zero_grad()
    if workload.half:  # what is read is half as much, however the weights are given
        size = lambda x: x.numel() * (2 if x.is_floating_point() else x.element_size())
        return counter.get_total_flops(), sum(size(x) for x in (*module.parameters(), *inputs, out))
    weights = sum(p.numel() * p.element_size() for p in module.parameters())
    if workload.optimizer:
        return counter.get_total_flops(), weights * (2 * (1 + STATES[workload.optimizer]) + 2)
    return counter.get_total_flops(), weights + sum(x.numel() * x.element_size() for x in (*inputs, out))


def least_ms(machine, flops, moved, workload):
    """Whichever takes longer."""
    training, rate = bool(workload.optimizer), machine.rate(workload.half)
    return max(flops / rate, moved / (machine.copy if training else max(machine.read, machine.copy))) / 1e6
