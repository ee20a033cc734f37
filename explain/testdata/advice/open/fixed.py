import os, torch

@torch.compile(backend="eager")
def f(x):
    y = x * 2
    return y + 1

y = f(torch.ones(3))
with open(os.devnull, "w") as h:
    h.write("hello")
print(y)
