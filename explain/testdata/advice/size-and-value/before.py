import os, torch

@torch.compile(backend="eager")
def f(x, layout):
    return x.permute([layout.index(c) for c in "bhc"]) @ torch.ones(6, 2)

for _ in range(int(os.environ.get("ROUNDS", "1"))):
    print(f(torch.ones(2, 6, 3), "bch").shape, f(torch.ones(2, 3, 6), "bhc").shape)
