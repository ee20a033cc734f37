import torch

class M(torch.nn.Module):
    def __init__(s):
        super().__init__(); s.n = 2
    def forward(s, x):
        return x * 2

m = M()
f = torch.compile(m, backend="eager")
for _ in range(6):
    f(torch.ones(3))
    m.n += 1
print(m.n)

class Scaled(torch.nn.Module):
    def __init__(s):
        super().__init__(); s.level = 2
    def forward(s, x, level):
        y = x + 1
        y = y * level
        return y

scaled = Scaled()
g = torch.compile(scaled, backend="eager")
for i in range(6):
    scaled.level = 2 + i
    print(g(torch.ones(3), scaled.level))
