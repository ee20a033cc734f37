import os, torch

@torch.compile(backend="eager")
def f(d):
    return sum(v.sum() for v in d.values())

for _ in range(int(os.environ.get("ROUNDS", "1"))):
    for keys in ("ab", "abc", "ab"): print(f({k: torch.ones(2) for k in keys}))
