import torch

@torch.compile(backend="eager")
def pick(logits, k):
    logits = logits / 2
    if k > 0:
        logits = logits + k
    return logits.argmax(-1)

def last(n):
    return torch.arange(2.0 * n * 4).view(2, n, 4)[:, -1]

for n, k in ((5, 0), (1, 0), (7, 2), (1, 3), (1, 2)):
    print(pick(last(n), k))
