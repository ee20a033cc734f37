import math, torch

@torch.compile(backend="eager")
def objective(net, x):
    loss = net(x).square().mean()
    return loss * 2, loss

torch.manual_seed(0)
net = torch.nn.Linear(3, 1)
for i in range(3):
    y, loss = objective(net, torch.ones(2, 3) * i)
    if math.isnan(loss.item()):
        raise FloatingPointError("diverged")
    print("%.4f" % y)
