import torch

@torch.compile(backend="eager")
def f(logits):
    nxt = logits.argmax()
    if nxt.item() == 2:
        return nxt * 0
    return nxt + 1

print(f(torch.tensor([0.0, 1.0, 5.0])), f(torch.tensor([0.0, 9.0, 5.0])))
