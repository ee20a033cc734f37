import torch
torch.manual_seed(0)

@torch.compile(backend="eager")
def returns(rewards, gamma):
    total, out = 0.0, []
    for r in reversed(rewards):
        total = r + gamma * total
        out.insert(0, total)
    return torch.tensor(out)

@torch.compile(backend="eager")
def mean(rows):
    return torch.stack([r.sum() for r in rows]).mean()

for n in (4, 5, 6, 7):
    print(returns([0.5 * k for k in range(n)], 0.9))
for n in (4, 9, 6, 2, 11):
    print("%.4f" % mean([torch.rand(3) for _ in range(n)]))
