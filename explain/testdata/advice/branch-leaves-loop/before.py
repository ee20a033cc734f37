import torch
torch.manual_seed(0)

@torch.compile(backend="eager")
def decode(h, n):
    out = []
    for t in range(n):
        h = torch.tanh(h * 1.5)
        out.append(h)
        if (h > 0.8).all(): break
    return h

for h in (0.6, 0.7):
    print(decode(torch.full((3,), h), 4))
