import os, torch

class Cfg: scale = 0.5

@torch.compile(backend="eager")
def f(x, c):
    return x * c.scale

c = Cfg()

for _ in range(int(os.environ.get("ROUNDS", "1"))):
    for s in (0.5, 0.6, 0.7):
        c.scale = s
        print(f(torch.ones(3), c))
