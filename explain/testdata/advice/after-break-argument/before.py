import torch

@torch.compile(backend="eager")
def loss(batch):
    y = batch["pos"].sin()
    torch._dynamo.graph_break()
    return y.sum() + batch["hist"].cos().sum()

@torch.compile(backend="eager")
def encode(
    frames, lens,
    scale=2.0,
):
    total = lens.sum() * scale
    torch._dynamo.graph_break()
    return frames.mean(0) / total

for n in (8, 12, 16):
    batch = {"pos": torch.ones(4), "hist": torch.ones(n)}
    print(loss(batch))
    print(encode(torch.ones(n, 3), torch.ones(4)))
