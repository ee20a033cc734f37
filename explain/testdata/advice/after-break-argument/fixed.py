import torch

@torch.compile(backend="eager")
def loss(batch):
    y = batch["pos"].sin()
    return y.sum() + batch["hist"].cos().sum()

@torch.compile(backend="eager")
def encode(
    frames, lens,
    scale=2.0,
):
    total = lens.sum() * scale
    return frames.mean(0) / total

for n in (8, 12, 16):
    batch = {"pos": torch.ones(4), "hist": torch.ones(n)}
    torch._dynamo.maybe_mark_dynamic(batch["hist"], 0)
    print(loss(batch))
    frames = torch.ones(n, 3)
    torch._dynamo.maybe_mark_dynamic(frames, 0)
    print(encode(frames, torch.ones(4)))
