import torch

@torch.compile(backend="eager")
def f(batch):
    return (batch["ids"] * batch["mask"]).sum()

for n in (8, 12, 16):
    batch = {"ids": torch.ones(2, n), "mask": torch.ones(2, n)}
    print(f(batch))
