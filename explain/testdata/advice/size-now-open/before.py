import os, torch

class Cache: pass

@torch.compile(backend="eager")
def f(x, c):
    c.state["k"] = torch.cat([c.state["k"], x])
    return c.state["k"].sum()

c = Cache()
c.state = {"k": torch.zeros(2)}

for _ in range(int(os.environ.get("ROUNDS", "1"))):
    for _ in range(4): print(f(torch.ones(2), c))
