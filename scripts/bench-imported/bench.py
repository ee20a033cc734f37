"""Models that PyTorch exported, under our compiler: their numbers beside PyTorch's, and the time of a warm call beside that of the
same model written in Go and that of PyTorch.

Usage: bench.py BINARY [--only a,b] [--seconds N] [--folder DIR] [--threads N]. Each model's processes take turns, one after the other, so that
what else the machine does hits all of them, and the least time of a call counts. Models stay in DIR for the next time.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

import export
import torch
from zoo import MODELS, OTHERS

SOURCE = os.path.join(os.path.dirname(__file__), "model.go")


def arguments():
    args = argparse.ArgumentParser()
    args.add_argument("binary")
    args.add_argument("--only", default=",".join(MODELS))
    args.add_argument("--seconds", type=float, default=10)
    args.add_argument("--folder")
    args.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    return args.parse_args()


class Ours:
    """A compiled program behind a pipe."""

    def __init__(self, opt, how, folder, name):
        self.proc = subprocess.Popen([opt.binary, "run", "--plain", SOURCE, how, folder, name], stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, text=True, env={**os.environ, "GOMAXPROCS": str(opt.threads)})

    def ask(self, what):
        try:
            self.proc.stdin.write(f"{what}\n")
            self.proc.stdin.flush()
        except BrokenPipeError:
            pass
        line = self.proc.stdout.readline().strip()
        if not line or line.startswith("error"):
            raise RuntimeError(line.split(".pt2: ")[-1] or "our program ended")
        return [float(word) for word in line.split()]

    def processor(self):
        """Seconds of processor time of the program and what it started."""
        ticks, left = 0, [self.proc.pid]
        while left:
            pid = left.pop()
            try:
                with open(f"/proc/{pid}/stat") as f:
                    fields = f.read().rsplit(")", 1)[1].split()
                ticks += int(fields[11]) + int(fields[12])
                for task in os.listdir(f"/proc/{pid}/task"):
                    with open(f"/proc/{pid}/task/{task}/children") as f:
                        left += map(int, f.read().split())
            except OSError:  # it ended
                pass
        return ticks / os.sysconf("SC_CLK_TCK")

    def end(self):
        try:
            self.proc.stdin.close()
        except BrokenPipeError:
            pass
        self.proc.wait()


class Eager:
    """PyTorch's own calls."""

    def __init__(self, name):
        self.model, self.x = export.made(name)

    @torch.no_grad()
    def ask(self, calls):
        least = float("inf")
        for _ in range(calls):
            start = time.perf_counter()
            self.model(self.x)
            least = min(least, (time.perf_counter() - start) * 1e3)
        return [least]


def exported(folder, name):
    if not os.path.exists(f"{folder}/{name}.pt"):
        export.write(folder, name)


def measure(opt, folder, name):
    """What the turns gave, and how far results are from PyTorch's."""
    exported(folder, name)
    sides = {how: Ours(opt, how, folder, name) for how in (["imported"] if name in OTHERS else ["imported", "written"])}
    try:
        apart = {how: side.ask("first")[1] for how, side in sides.items()}
        sides["PyTorch"] = Eager(name)
        return *turns(sides, opt.seconds), apart
    finally:
        for side in sides.values():
            if isinstance(side, Ours):
                side.end()


def turns(sides, seconds):
    """The least milliseconds of each side, and the processor time of the imported one's calls divided by that of the written one's."""
    best = {how: side.ask(2)[0] for how, side in sides.items()}
    calls = {how: max(2, int(seconds * 1e3 / 40 / ms)) for how, ms in best.items()}  # some ten rounds
    used, rounds, end = dict.fromkeys(sides, 0.0), 0, time.time() + seconds
    while time.time() < end or rounds < 5:
        for how, side in sides.items():
            if how == "PyTorch":
                if rounds < 5:
                    best[how] = min(best[how], side.ask(calls[how])[0])
                continue
            before = side.processor()
            best[how] = min(best[how], side.ask(calls[how])[0])
            used[how] += (side.processor() - before) / calls[how]
        rounds += 1
    return best, used["imported"] / (used.get("written") or used["imported"])


def row(name, best, processor, apart):
    written = " |  | "
    if "written" in best:
        written = f"{best['written']:.3f} | {best['imported'] / best['written']:.3f} | {processor:.3f}"
    far = max(apart.values())
    return (f"| {name} | {best['imported']:.3f} | {written} | {best['PyTorch']:.3f} | {best['PyTorch'] / best['imported']:.1f} | "
            f"{far:.1e} |", far)


def main():
    opt = arguments()
    names = opt.only.split(",")
    if unknown := set(names) - set(MODELS):
        sys.exit(f"bench-imported: no model {', '.join(sorted(unknown))}: there are {', '.join(MODELS)}")
    torch.set_num_threads(opt.threads)
    print(f"PyTorch {torch.__version__}, threads: {opt.threads}, processors: {len(os.sched_getaffinity(0))}, load {os.getloadavg()[0]:.1f}\n")
    print("| model | imported, ms | written in Go, ms | imported / Go | processor time | PyTorch eager, ms | eager / imported | apart from PyTorch |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    failed = []
    with tempfile.TemporaryDirectory() as kept:
        for name in names:
            try:
                text, far = row(name, *measure(opt, opt.folder or kept, name))
                print(text, flush=True)
                if not far < 1e-4:
                    failed.append(f"{name}: {far} apart")
            except RuntimeError as e:
                failed.append(f"{name}: {e}")
            if not opt.folder:
                for end in (".pt", ".pt2"):
                    if os.path.exists(f"{kept}/{name}{end}"):
                        os.remove(f"{kept}/{name}{end}")
    print("\n".join(["", *failed] if failed else []), end="")
    sys.exit(1 if failed else 0)


main()
