import random, torch
random.seed(3)
torch.manual_seed(3)

@torch.compile(backend="inductor")
def f(x):
    if random.random() < 0.5:
        x = x * 2
    return x + 1

@torch.compile(backend="inductor")
def g(x, p):
    for _ in range(3):
        if torch.rand(()) < p:
            x = x * 2
    return x + 1

for _ in range(4):
    print(f(torch.ones(3)), g(torch.ones(3), 0.5))
