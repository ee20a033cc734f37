"""Workloads on our compiler and on its peers, in one run.

Usage: peers.py BINARY MODEL [--threads 1,2] [--rounds N] [--only a,b] [--modes a,b] [--kernels]. Every engine
has the same processors and as many threads; they take turns within a round, so that what else
the machine does hits all of them, and the least time of a call counts. A peer that is not
installed or cannot run a workload is left out, aloud. With --kernels it lists those of ours that reach
less than 60 % of what their multiply-adds or bytes allow, and no peer runs.
"""

import argparse
import gc
import math
import os
import subprocess
import sys
import tempfile
import time

import kernels
import limits
from engines import Ours, calls_of, have, peers_of, say
from workloads import WORKLOADS


def arguments():
    args = argparse.ArgumentParser()
    args.add_argument("binary")
    args.add_argument("model")
    args.add_argument("--threads", default=str(len(os.sched_getaffinity(0))))
    args.add_argument("--rounds", type=int, default=12)
    args.add_argument("--only", default="")
    args.add_argument("--modes", default="default,max-autotune,freezing")
    args.add_argument("--kernels", action="store_true")
    return args.parse_args()


def main():
    opt = arguments()
    counts = [int(n) for n in opt.threads.split(",")]
    if len(counts) > 1:  # a process for each, because libraries ask once for how many there are
        for n in counts:
            subprocess.run([sys.executable, __file__, opt.binary, opt.model, "--threads", str(n), "--rounds", str(opt.rounds),
                            "--only", opt.only, "--modes", opt.modes, *["--kernels"] * opt.kernels], check=True)
            print()
        return
    threads = counts[0]
    processors = sorted(os.sched_getaffinity(0))
    if threads > len(processors):
        sys.exit(f"bench-peers: {threads} threads on {len(processors)} processors")
    os.sched_setaffinity(0, processors[:threads])
    only = [w for w in opt.only.split(",") if w]
    unknown = set(only) - {w.name for w in WORKLOADS}
    if unknown:
        sys.exit(f"bench-peers: no workload {', '.join(sorted(unknown))}: there are {', '.join(w.name for w in WORKLOADS)}")
    with tempfile.TemporaryDirectory() as caches:
        if opt.kernels:
            list_kernels([w for w in WORKLOADS if not only or w.name in only], opt, threads, caches)
            return
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(caches, "inductor")
        rows = [row for w in WORKLOADS if (not only or w.name in only) and (row := measure(w, opt, threads, caches))]
    machine = limits.measure(threads)
    show(rows, machine, threads)


def list_kernels(workloads, opt, threads, folder):
    machine = limits.measure(threads) or sys.exit("bench-peers: the limits of kernels need a C compiler")
    print(f"{limits.processor()}, threads: {threads}, load {os.getloadavg()[0]:.1f}\n{limits.told(machine)}\n")
    for w in workloads:
        found, total = kernels.slow(opt.binary, opt.model, w, os.path.join(folder, "cache"), os.path.join(folder, "state"), machine)
        print(f"{w.title}: kernels below 60 % of their limit {sum(f.count for f in found)}, in all kernels {total / 1e3:.2f} ms\n")
        table(["kernel", "work", "us of one", "limit", "reached", "lost, of all"], kernels.rows(found, total))


class Row:
    """One workload's figures, milliseconds: the least call of each engine, its first one, ours
    from the cache, building our model, and the work it takes."""

    def __init__(self, workload):
        self.workload, self.best, self.first = workload, {}, {}
        self.build = self.warm = self.work = None


def measure(workload, opt, threads, caches):
    say(workload.title)
    row = Row(workload)
    cache = os.path.join(caches, workload.name)
    ours = Ours(opt.binary, opt.model, cache)
    try:
        ours.first("tiny")  # the runtime library is built once for all programs
        row.build, row.first["tcdbg"] = ours.first(workload.name)
        row.warm = min(second(workload, opt, cache) for _ in range(3))
    except RuntimeError as e:
        say(f"{workload.title}: {e}")
        return None
    takers = {"tcdbg": lambda n: ours.times(workload.name, n)}
    if have("torch", *workload.needs):
        import torch

        torch.set_num_threads(threads)
        torch.manual_seed(0)
        module, inputs = workload.make()
        training = bool(workload.optimizer)
        module.train(training)
        with torch.set_grad_enabled(training):
            row.work = limits.work_of(workload, module, inputs)
            runs, first = peers_of(workload, module, inputs, opt.modes.split(","), threads)
            row.first.update(first)
            takers.update({name: lambda n, run=run: calls_of(run, n) for name, run in runs.items()})
            take_turns(row, takers, opt.rounds)
        torch._dynamo.reset()
    else:
        take_turns(row, takers, opt.rounds)
    ours.end()
    takers.clear()
    gc.collect()
    return row


def second(workload, opt, cache):
    """Milliseconds of the first call for who runs the same program once more."""
    ours = Ours(opt.binary, opt.model, cache)
    try:
        ours.first("tiny")
        return ours.first(workload.name)[1]
    finally:
        ours.end()


def take_turns(row, takers, rounds):
    """Calls are timed five at a time, those of more than 200 ms three, since the first one finds in the caches what another engine left
    there; a call of a second is timed alone, as often as ten seconds allow."""
    longest = max(take(1)[0] for take in takers.values())
    calls = 5 if longest < 200 else 3 if longest < 1000 else 1
    for _ in range(max(3, min(rounds, math.ceil(10e3 / longest / calls)))):
        for name, take in takers.items():
            time.sleep(0.02)  # the threads of the one before stop spinning
            row.best[name] = min(take(calls) + [row.best.get(name, math.inf)])


def number(ms):
    return "-" if ms is None else f"{ms:.2f}" if ms < 100 else f"{ms:.0f}"


def table(head, rows):
    print("| " + " | ".join(head) + " |")
    print("|---" * len(head) + "|")
    for cells in rows:
        print("| " + " | ".join(cells) + " |")
    print()


def show(rows, machine, threads):
    print(f"{limits.processor()}, threads: {threads}, load {os.getloadavg()[0]:.1f}")
    if machine:
        print(limits.told(machine))
    names = list(dict.fromkeys(name for row in rows for name in row.best))
    print("\nLeast milliseconds of a call. The limit is what multiply-adds or bytes take at least.\n")
    calls = []
    for row in rows:
        peers = {name: ms for name, ms in row.best.items() if name != "tcdbg"}
        best = min(peers, key=peers.get) if peers else None
        mine = row.best["tcdbg"]
        limit = limits.least_ms(machine, *row.work, row.workload) if machine and row.work else None
        calls.append([row.workload.title, *(number(row.best.get(n)) for n in names), best or "-",
                      f"{mine / peers[best]:.2f}" if best else "-", number(limit), f"{100 * limit / mine:.0f} %" if limit else "-"])
    table(["workload", *names, "best peer", "tcdbg / best", "limit", "reached"], calls)
    names = list(dict.fromkeys(name for row in rows for name in row.first))
    print("Milliseconds to the end of the first call, with empty caches, of ONNX Runtime and OpenVINO the least of three loads; of ours from the cache, the least of three; building our model.\n")
    table(["workload", *names, "tcdbg, cached", "build"],
          [[r.workload.title, *(number(r.first.get(n)) for n in names), number(r.warm), number(r.build)] for r in rows])


if __name__ == "__main__":
    main()
