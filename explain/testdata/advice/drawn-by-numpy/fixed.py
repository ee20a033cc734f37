import numpy as np, torch
np.random.seed(0)

@torch.compile(backend="eager")
def f(x, k):
    return x * k

for _ in range(3):
    print(f(torch.ones(3), torch.tensor(np.random.randint(1, 5))))

rng = np.random.default_rng(0)

@torch.compile(backend="eager")
def noisy(x, noise):
    return x + noise

print(noisy(torch.ones(3), torch.from_numpy(rng.normal(size=(3,)).astype(np.float32))))
