import os, torch
table = torch.ones(50)

def scale(x, t):
    previous = t - 10
    other = table[previous] if previous >= 0 else torch.ones(())
    return x * table[t] + other

@torch.compile(backend="eager")
def f(x, t):
    return scale(torch.full((2,), t) + x, t)

for _ in range(int(os.environ.get("ROUNDS", "1"))):
    for t in (49, 39, 29, 9, 4): print(f(torch.ones(2), t))
