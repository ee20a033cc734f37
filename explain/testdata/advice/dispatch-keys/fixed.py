import torch

@torch.compile(backend="eager")
def f(a):
    return a * 2

with torch.inference_mode(): x = torch.ones(3)
x = torch.ones(3)
print(f(torch.ones(3)))
print(f(x))
