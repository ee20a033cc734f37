import torch

class M(torch.nn.Module):
    def __init__(s):
        super().__init__(); s.n = 2
    def forward(s, x):
        s.n += 1
        return x * 2

torch._dynamo.config.allow_unspec_int_on_nn_module = True
m = M()
f = torch.compile(m, backend="eager")
for _ in range(6):
    f(torch.ones(3))
print(m.n)

class Scaled(torch.nn.Module):
    def __init__(s):
        super().__init__(); s.level = 2
    def forward(s, x):
        y = x + 1
        y = y * s.level
        return y

scaled = Scaled()
g = torch.compile(scaled, backend="eager")
for i in range(6):
    scaled.level = 2 + i
    print(g(torch.ones(3)))
