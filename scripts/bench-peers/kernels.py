"""Which kernels of ours take much longer than their own multiply-adds or bytes."""

import collections
import json
import os
import statistics
import subprocess

from engines import Ours

CALLS, PROGRAMS = 40, 4
REACHED = 0.6


class Family:
    """Kernels of one name and equal work, as the layers of a model have them: how many, the median of
    their microseconds a call and the least that the work takes."""

    def __init__(self, name, flops, moved, us, limit):
        self.name, self.us, self.limit, self.count = name, statistics.median(us), limit, len(us)
        self.work = f"{flops / 1e6:.3g} MFLOP, {moved / 1e6:.3g} MB"

    @property
    def lost(self):
        return self.count * (self.us - self.limit)


def slow(binary, model, workload, cache, state, machine):
    """The families that reach less than 60 % of their limit, the costliest loss first, and the time of all kernels.

    What a first call alone does is taken away: a program of one call is timed beside some of many, of which the
    least mean counts."""
    run = lambda calls: times(binary, model, workload, cache, state, calls)
    once, often = run(1), [run(1 + CALLS) for _ in range(PROGRAMS)]
    families = collections.defaultdict(list)
    for key, (_, calls, k) in often[0].items():
        before, first, _ = once.get(key, (0, 0, None))
        if calls > first:  # else it runs only when parameters change
            us = (min(o[key][0] for o in often) - before) / (calls - first) / 1e3
            families[k["name"].rstrip("0123456789").rstrip("_"), k["flops"] or 0, k["bytes"] or 0].append(us)
    rate = machine.rate(workload.half)
    all_of_them = [
        Family(name, flops, moved, us, max(flops / rate, moved / max(machine.read, machine.copy)) / 1e3)
        for (name, flops, moved), us in families.items()
    ]
    found = [f for f in all_of_them if f.limit < REACHED * f.us]
    return sorted(found, key=lambda f: -f.lost), sum(f.count * f.us for f in all_of_them)


def times(binary, model, workload, cache, state, calls):
    """By kernel, the nanoseconds of the calls that were timed, how many those are, and what the report says of it."""
    os.environ["XDG_STATE_HOME"] = state
    ours = Ours(binary, model, cache)
    ours.times(workload.name, calls)
    ours.end()
    text = subprocess.run([binary, "report", "--format", "json", "last"], check=True, capture_output=True, text=True).stdout
    out = {}
    for i, k in enumerate(json.loads(text)["kernels"]):
        if k.get("timed_calls"):
            out[k["name"], i] = k["ns"], k["timed_calls"], k
    return out


def rows(found, total, most=12):
    """Lines of a table: each family, and what share of the time of all kernels is lost in it."""
    line = lambda name, work, us, limit, lost: [
        name, work, f"{us:.0f}", f"{limit:.0f}", f"{100 * limit / us:.0f} %", f"{100 * lost / total:.1f} %"
    ]
    shown = [line(f"{f.count} x {f.name}" if f.count > 1 else f.name, f.work, f.us, f.limit, f.lost) for f in found[:most]]
    if rest := found[most:]:
        us, limit = (sum(f.count * of(f) for f in rest) for of in (lambda f: f.us, lambda f: f.limit))
        shown.append(line(f"{sum(f.count for f in rest)} more, their sum", "", us, limit, us - limit))
    return shown
