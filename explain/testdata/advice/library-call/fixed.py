import copy, torch

@torch.compile(backend="eager")
def f(x, e):
    return e["s"] + x * 2

d = {"s": torch.zeros(3)}
print(f(torch.ones(3), copy.deepcopy(d)))
