import torch

def loss(w):
    print("in grad")
    return (w ** 2).sum()

@torch.compile(backend="aot_eager")
def f(x):
    return torch.func.grad(loss)(x.sin()) + 1

print(f(torch.ones(3)))
