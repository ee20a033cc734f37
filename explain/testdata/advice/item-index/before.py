import torch
torch.manual_seed(0)

@torch.compile(backend="eager")
def f(boxes, scores):
    order = scores.argsort(descending=True)
    best = order[0]
    return (boxes - boxes[best]).abs().sum(-1) + boxes[:, scores.argmax()]

print(f(torch.rand(4, 4), torch.rand(4)))

@torch.compile(backend="eager")
def walk(x, t):
    for _ in range(3):
        x = x + x[t]
        t = (t + 1) % 4
    return x

print(walk(torch.rand(4, 4), torch.tensor(2)))
