import torch

def attend(x, mask):
    keep = mask * 2
    torch._dynamo.graph_break()
    return (x * keep.sum()).sum()

@torch.compile(backend="eager")
def f(a, b, mask):
    return attend(a, mask) + attend(b, mask)

print(f(torch.ones(3), torch.ones(5), torch.ones(4)))
