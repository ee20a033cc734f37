import torch

@torch.compile(backend="eager")
def f(batch):
    return (batch["ids"] * batch["mask"]).sum()

for n in (8, 12, 16):
    batch = {"ids": torch.ones(2, n), "mask": torch.ones(2, n)}
    if n == 8:
        torch._dynamo.maybe_mark_dynamic(batch["ids"], 1)
        torch._dynamo.maybe_mark_dynamic(batch["mask"], 1)
    print(f(batch))
