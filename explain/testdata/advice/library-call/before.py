import copy, torch

@torch.compile(backend="eager")
def f(x, d):
    e = copy.deepcopy(d)
    return e["s"] + x * 2

d = {"s": torch.zeros(3)}
print(f(torch.ones(3), d))
