import torch

@torch.compile(backend="eager")
def f(logits):
    nxt = logits.argmax()
    return torch.where(nxt == 2, nxt * 0, nxt + 1)

@torch.compile(backend="eager")
def finite(loss):
    loss = loss * 2
    loss = torch.where(torch.isfinite(loss), loss, torch.zeros(()))
    return loss + 1

print(f(torch.tensor([0.0, 1.0, 5.0])), f(torch.tensor([0.0, 9.0, 5.0])))
print(finite(torch.tensor(3.0)), finite(torch.tensor(torch.inf)))
