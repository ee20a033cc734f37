import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin, self.calls = torch.nn.Linear(3, 1), 0

    def forward(self, x):
        return self.lin(x).relu()

torch.manual_seed(0)
net = torch.compile(Net(), backend="eager")
for i in range(8):
    net._orig_mod.calls += 1
    print("%.4f" % net(torch.ones(2, 3)).sum())
with torch.no_grad():
    for i in range(2):
        net._orig_mod.calls += 1
        print("%.4f" % net(torch.ones(2, 3)).sum())
