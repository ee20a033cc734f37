import torch
correct = 0

@torch.compile(backend="eager")
def f(x, y):
    return x * 2

y = torch.zeros(4, dtype=torch.long)
logits = f(torch.ones(4, 3), y)
correct += int((logits.argmax(-1).numpy() == y.numpy()).sum())
print(correct)
