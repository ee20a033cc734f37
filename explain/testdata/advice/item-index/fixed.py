import torch
torch.manual_seed(0)

@torch.compile(backend="eager")
def f(boxes, scores):
    order = scores.argsort(descending=True)
    best = order[:1]
    return (boxes - boxes[best].squeeze(0)).abs().sum(-1) + boxes[:, scores.argmax()[None]].squeeze(1)

print(f(torch.rand(4, 4), torch.rand(4)))

@torch.compile(backend="eager")
def walk(x, t):
    for _ in range(3):
        x = x + x[t[None]].squeeze(0)
        t = (t + 1) % 4
    return x

print(walk(torch.rand(4, 4), torch.tensor(2)))
