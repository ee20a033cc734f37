import random, torch
random.seed(3)
torch.manual_seed(3)

@torch.compile(backend="inductor")
def f(x, drop):
    x = torch.where(drop, x * 2, x)
    return x + 1

@torch.compile(backend="inductor")
def g(x, drop):
    for i in range(3):
        x = torch.where(drop[i], x * 2, x)
    return x + 1

for _ in range(4):
    first = f(torch.ones(3), torch.tensor(random.random() < 0.5))
    print(first, g(torch.ones(3), torch.stack([torch.rand(()) < 0.5 for _ in range(3)])))
