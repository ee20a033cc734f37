"""Writes measurements.json: times, and what torch.utils.benchmark prints of them.

    python measurements.py > measurements.json
"""
import json, math, random
import torch
import torch.utils.benchmark as B
from torch.utils.benchmark.utils.common import Measurement, TaskSpec

random.seed(0)


def measurement(label, sub, description, env, threads, number, times):
    spec = TaskSpec(stmt="f(x)", setup="pass", label=label or None, sub_label=sub or None, description=description or None,
                    env=env or None, num_threads=threads)
    return Measurement(number, times, spec)


def task(m):
    t = m.task_spec
    return {"Stmt": t.stmt, "Label": t.label or "", "SubLabel": t.sub_label or "", "Description": t.description or "",
            "Env": t.env or "", "NumThreads": t.num_threads}


def some(envs):
    out = []
    magnitude = random.uniform(-8, 0)  # PyTorch trims in float32: numbers of more digits than that has would differ
    for label in random.sample(["", "dot", "a longer label"], random.randint(1, 2)):
        for threads in random.sample([1, 2, 16], random.randint(1, 2)):
            for sub in random.sample(["", "[1, 1]", "[128, 64]", "x"], random.randint(1, 3)):
                for description in random.sample(["eager", "compiled", "a long description"], random.randint(1, 3)):
                    for env in envs:
                        if random.random() < 0.2:
                            continue
                        base = 10 ** (magnitude + random.uniform(0, 3))
                        spread = random.choice([0, 0.001, 0.02, 0.3])
                        number = random.choice([1, 10, 1000])
                        times = [base * number * (1 + spread * random.random()) for _ in range(random.randint(1, 9))]
                        out.append(measurement(label, sub, description, env, threads, number, times))
    return out


cases = []
while len(cases) < 40:
    list_ = some(random.choice([[""], [""], ["fork", "main"]]))
    labels = {}
    for m in list_:
        labels.setdefault(m.label, set()).add(bool(m.description))
    if not list_:
        continue
    how = {"Trim": random.random() < 0.4, "Colour": random.random() < 0.4, "Rows": random.random() < 0.5, "Warn": random.random() < 0.4}
    c = B.Compare(list_)
    if how["Trim"]:
        c.trim_significant_figures()
    if how["Colour"]:
        c.colorize(how["Rows"])
    if how["Warn"]:
        c.highlight_warnings()
    cases.append({
        "Measurements": [{"NumberPerRun": m.number_per_run, "RawTimes": m.raw_times, "Task": task(m)} for m in list_],
        "Prints": ["\n".join(repr(m).splitlines()[1:]) for m in list_],
        "Figures": [m.significant_figures for m in list_],
        **how, "Table": str(c),
    })
print(json.dumps({"PyTorch": torch.__version__, "Cases": cases}))
