import torch

@torch.compile(backend="eager")
def project(x, seen, there):
    x = x * 2
    for i in range(6):
        x = torch.where(there[i], x - x.dot(seen[i]) * seen[i], x)
    return x

seen, there = torch.zeros(6, 7), torch.zeros(6, dtype=torch.bool)
for i in range(6):
    x = torch.eye(7)[i] + 0.5
    print(project(x, seen, there).sum())
    seen[i], there[i] = torch.eye(7)[i], True
