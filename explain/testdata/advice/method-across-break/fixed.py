import torch

@torch.compile(backend="eager")
def observe(x, low):
    y = x * 2
    low.fill_(0.5 * y.min())
    return y + 1

low = torch.zeros(())
print(observe(torch.ones(3), low), low)
