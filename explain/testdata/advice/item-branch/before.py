import math, torch

@torch.compile(backend="eager")
def f(logits):
    nxt = logits.argmax()
    if nxt.item() == 2:
        return nxt * 0
    return nxt + 1

@torch.compile(backend="eager")
def finite(loss):
    loss = loss * 2
    if not math.isfinite(loss):
        loss = torch.zeros(())
    return loss + 1

print(f(torch.tensor([0.0, 1.0, 5.0])), f(torch.tensor([0.0, 9.0, 5.0])))
print(finite(torch.tensor(3.0)), finite(torch.tensor(torch.inf)))
