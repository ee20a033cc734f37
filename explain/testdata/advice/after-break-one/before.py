import os, torch

@torch.compile(backend="eager")
def step(mask, ids):
    y = mask.sin()
    torch._dynamo.graph_break()
    return y.sum() + ids.cos().sum()

for _ in range(int(os.environ.get("ROUNDS", "1"))):
    for n in (8, 1, 8):
        print(step(torch.ones(4), torch.ones(2, n)))
