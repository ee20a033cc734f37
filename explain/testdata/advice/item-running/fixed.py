import torch
torch.manual_seed(0)

class Observer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.low, self.mean = torch.tensor(0.0), torch.tensor(0.0)
        self.high = torch.tensor(0.0)
        self.total = torch.tensor(0.0)

    def forward(self, x):
        self.low = torch.minimum(self.low, x.min().detach())
        self.high = torch.maximum(self.high, x.max().detach())
        self.mean = 0.9 * self.mean + 0.1 * x.mean().detach()
        self.total += x.sum().detach()
        return (x - self.mean) / torch.clamp(self.high - self.low, min=0.001)

observer = Observer()
f = torch.compile(observer, backend="eager")
for i in range(4):
    print(f(torch.randn(5) * (i + 1)))
print("%.4f %.4f" % (observer.low.item(), observer.total.item()))
