import torch

@torch.compile(backend="eager")
def loss(batch):
    y = batch["pos"].sin()
    return y.sum() + batch["hist"].cos().sum()

for n in (8, 12, 16):
    batch = {"pos": torch.ones(4), "hist": torch.ones(n)}
    torch._dynamo.maybe_mark_dynamic(batch["hist"], 0)
    print(loss(batch))
