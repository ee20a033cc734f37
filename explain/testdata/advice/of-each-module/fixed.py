import torch

class Block(torch.nn.Module):
    def __init__(self, index):
        super().__init__()
        self.index = index
    def forward(self, x, scales):
        return x * scales[self.index]

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = torch.nn.ModuleList(Block(i) for i in range(3))
    def forward(self, x, scales):
        for block in self.blocks:
            x = block(x, scales)
        return x

net = torch.compile(Net(), backend="eager")
print(net(torch.ones(3), [torch.ones(3) * i for i in (2, 3, 4)]))
