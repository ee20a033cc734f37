import torch
torch.manual_seed(0)

@torch.compile(backend="eager")
def f(boxes, scores):
    order = scores.argsort(descending=True)
    best = order[0]
    return (boxes - boxes[best[None]].squeeze(0)).abs().sum(-1) + boxes[:, scores.argmax()[None]].squeeze(1)

print(f(torch.rand(4, 4), torch.rand(4)))
