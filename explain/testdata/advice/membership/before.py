import os, torch
class C: pass
c = C(); c.skip = set()

@torch.compile(backend="eager")
def f(x, c):
    if "relu" in c.skip: return x + 1
    return x.relu()

for _ in range(int(os.environ.get("ROUNDS", "1"))):
    for s in (set(), {"relu"}, set()):
        c.skip = s
        print(f(torch.ones(3), c))
