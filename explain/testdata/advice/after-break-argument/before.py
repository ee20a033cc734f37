import torch

@torch.compile(backend="eager")
def loss(batch):
    y = batch["pos"].sin()
    torch._dynamo.graph_break()
    return y.sum() + batch["hist"].cos().sum()

for n in (8, 12, 16):
    batch = {"pos": torch.ones(4), "hist": torch.ones(n)}
    print(loss(batch))
