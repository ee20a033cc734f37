import random, torch
random.seed(3)

@torch.compile(backend="eager")
def f(x):
    if random.random() < 0.5:
        x = x * 2
    return x + 1

for _ in range(4):
    print(f(torch.ones(3)))
