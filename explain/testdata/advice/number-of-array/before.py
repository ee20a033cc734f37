import torch
correct = 0

@torch.compile(backend="eager")
def f(x, y):
    global correct
    logits = x * 2
    correct += int((logits.argmax(-1).numpy() == y.numpy()).sum())
    return logits

f(torch.ones(4, 3), torch.zeros(4, dtype=torch.long))
print(correct)
