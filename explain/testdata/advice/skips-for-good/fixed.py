import torch


def smooth(parts):
    out = []
    for p in parts:
        out.append(p.sin() + 1)
    return out


fast = torch.compile(smooth, backend="eager")


def batch(n):
    return [torch.full((3,), float(i)) for i in range(n)]


total = 0.0
for n in (2, 0, 2, 2):
    parts = batch(n)
    for y in fast(parts) if parts else []:
        total += y.sum().item()
print(f"{total:.4f}")
