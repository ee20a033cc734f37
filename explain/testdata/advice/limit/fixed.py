import torch, torch.nn as nn
torch.manual_seed(0)

class Block(nn.Module):
    def __init__(self, name):
        super().__init__(); self.l = nn.Linear(4, 4); self.name = name
    def forward(self, x):
        return self.l(x) * len(self.name)

class Net(nn.Module):
    def __init__(self):
        super().__init__(); self.blocks = nn.ModuleList(Block("n" * i) for i in range(12))
    def forward(self, x):
        for b in self.blocks: x = b(x).tanh()
        return x

net = Net()
net.compile(backend="eager")
with torch.no_grad(): print("%.4f" % net(torch.ones(2, 4)).sum())

class Scale(nn.Module):
    def __init__(self):
        super().__init__(); self.mode = "m"
    def forward(self, x, factor):
        return x * factor

scale = Scale()
scale.compile(backend="eager")
for i in range(12):
    scale.mode = "m" * i
    print(scale(torch.ones(3), torch.tensor(len(scale.mode))))
