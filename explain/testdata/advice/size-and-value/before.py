import os, torch

@torch.compile(backend="eager")
def f(x, layout):
    return x.permute([layout.index(c) for c in "bhc"]) @ torch.ones(6, 2)

for _ in range(int(os.environ.get("ROUNDS", "1"))):
    print(f(torch.ones(2, 6, 3), "bch").shape, f(torch.ones(2, 3, 6), "bhc").shape)

class Scale(torch.nn.Module):
    def __init__(self):
        super().__init__(); self.factor = 0.5
    def forward(self, x):
        return x * self.factor

scale = Scale()
g = torch.compile(scale, backend="eager")
for _ in range(int(os.environ.get("ROUNDS", "1"))):
    for n in (8, 12, 16):
        scale.factor = n / 3
        print(g(torch.ones(n)).sum())
