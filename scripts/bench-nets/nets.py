"""Networks that are no row of bench-peers, ours compiled beside PyTorch's operators, in turns.

Usage: nets.py BINARY MODEL [--threads N] [--rounds N] [--only a,b]. The least time of a call counts, with as many
processors and threads for both.
"""

import argparse
import os
import subprocess
import sys
import time

import torch
from torch import nn


def block(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.GroupNorm(8, o), nn.SiLU())


def unet():
    return nn.Sequential(
        block(3, 32), nn.MaxPool2d(2), block(32, 64), nn.ConvTranspose2d(64, 32, 2, stride=2), block(32, 32), nn.Conv2d(32, 3, 1)
    )


def generator():
    return nn.Sequential(
        nn.ConvTranspose2d(64, 128, 4), nn.BatchNorm2d(128), nn.ReLU(), nn.ConvTranspose2d(128, 64, 4, 2, 1), nn.BatchNorm2d(64),
        nn.ReLU(), nn.ConvTranspose2d(64, 3, 4, 2, 1), nn.Tanh(),
    )


def volume():
    return nn.Sequential(
        nn.Conv3d(1, 16, 3, padding=1), nn.BatchNorm3d(16), nn.ReLU(), nn.MaxPool3d(2), nn.Conv3d(16, 32, 3, padding=1), nn.ReLU(),
        nn.AdaptiveAvgPool3d(1),
    )


def audio():
    return nn.Sequential(nn.Conv1d(1, 64, 10, 5), nn.GELU(), nn.Conv1d(64, 64, 3, 2), nn.GELU(), nn.Conv1d(64, 64, 3, 2), nn.GELU())


class Sorted(nn.Module):
    def forward(self, x):
        return x.sort(-1)[0].cumsum(-1)


def lstm():
    return nn.LSTM(128, 256, batch_first=True)


def gru():
    return nn.GRU(128, 256, batch_first=True)


def encoder():
    return nn.TransformerEncoderLayer(256, 8, batch_first=True)


NETS = {
    "unet": (unet, (2, 3, 128, 128)), "unet_step": (unet, (2, 3, 64, 64)),
    "generator": (generator, (16, 64, 8, 8)), "generator_step": (generator, (16, 64, 8, 8)),
    "volume": (volume, (2, 1, 32, 32, 32)), "volume_step": (volume, (2, 1, 24, 24, 24)),
    "audio": (audio, (2, 1, 16000)),
    "lstm": (lstm, (8, 64, 128)), "lstm_step": (lstm, (8, 32, 128)), "gru": (gru, (8, 64, 128)),
    "encoder": (encoder, (4, 128, 256)), "encoder_step": (encoder, (4, 128, 256)),
    "sort": (Sorted, (64, 4096)),
}


def call_of(name):
    """A call of a network, or of a step with AdamW."""
    make, shape = NETS[name]
    module, x = make(), torch.randn(*shape)
    if not name.endswith("_step"):
        module.eval()

        def call():
            with torch.no_grad():
                module(x)

        return call
    optimizer = torch.optim.AdamW(module.parameters(), 1e-4)

    def step():
        optimizer.zero_grad()
        y = module(x)
        y = y[0] if isinstance(y, tuple) else y
        y.square().mean().backward()
        optimizer.step()

    return step


def least(call):
    """The least milliseconds of the calls of a second."""
    call()
    best, end = float("inf"), time.perf_counter() + 1
    while time.perf_counter() < end:
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best * 1e3


def ours(binary, model, name):
    """Milliseconds of the first call and of the least."""
    out = subprocess.run([binary, "run", "--plain", model, name], stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    return int(out[1]) / 1e3, int(out[2]) / 1e3


def main():
    args = argparse.ArgumentParser()
    args.add_argument("binary")
    args.add_argument("model")
    args.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    args.add_argument("--rounds", type=int, default=3)
    args.add_argument("--only", default="")
    opt = args.parse_args()
    unknown = [n for n in opt.only.split(",") if n and n not in NETS]
    if unknown:
        sys.exit(f"bench-nets: no network {', '.join(unknown)}: there are {', '.join(NETS)}")
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: opt.threads])
    torch.set_num_threads(opt.threads)
    ours(opt.binary, opt.model, "tiny")  # builds the runtime library once for all of them
    print(f"PyTorch {torch.__version__}, threads: {opt.threads}, least milliseconds of a call of {opt.rounds} rounds\n")
    print("| network | tcdbg | PyTorch | tcdbg / PyTorch | first call |\n|---|---|---|---|---|")
    for name in [n for n in opt.only.split(",") if n] or NETS:
        call = call_of(name)
        runs = [(ours(opt.binary, opt.model, name), least(call)) for _ in range(opt.rounds)]
        mine, theirs = min(r[0][1] for r in runs), min(r[1] for r in runs)
        print(f"| {name} | {mine:.2f} | {theirs:.2f} | {mine / theirs:.2f} | {runs[0][0][0]:.0f} |", flush=True)


if __name__ == "__main__":
    main()
