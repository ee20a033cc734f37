import os, torch
m = torch.nn.Sequential(torch.nn.Dropout(0.0))
class M(torch.nn.Module):
    def __init__(s):
        super().__init__(); s.d = torch.nn.Dropout(0.0)
    def forward(s, x): return s.d(x)
m = M()
f = torch.compile(m, backend="eager")

for _ in range(int(os.environ.get("ROUNDS", "1"))):
    for i in range(4):
        m.train(i % 2 == 0)
        print(f(torch.ones(3)))
