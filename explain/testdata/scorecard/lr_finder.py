# A learning-rate range test. Blind.
# fix 1: backward
# fix 2: zero-grad
# fix 3: learning-rate
import torch, torch.nn as nn, math
torch.manual_seed(0)
net = nn.Linear(4, 1)
opt = torch.optim.Adam(net.parameters(), lr=1e-4) #-3
opt = torch.optim.Adam(net.parameters(), lr=torch.tensor(1e-4)) #+3
state = {k: v.clone() for k, v in net.state_dict().items()}
losses, lrs = [], []

@torch.compile(backend="eager")
def step(x, y):
    loss = ((net(x) - y) ** 2).mean()
    loss.backward() #-1
    opt.step() #-1
    opt.zero_grad() #-2 #-1
    return loss

@torch.compile(backend="eager")
def smooth(avg, loss, beta, i):
    avg = beta * avg + (1 - beta) * loss
    return avg, avg / (1 - beta ** (i + 1))

x, y, avg = torch.randn(8, 4), torch.randn(8, 1), torch.zeros(())
# again
for i in range(5):
    for g in opt.param_groups: g["lr"] *= 1.5 #-3
    for g in opt.param_groups: g["lr"].fill_(g["lr"] * 1.5) #+3
    loss = step(x, y).detach() #-1
    loss = step(x, y) #+1
    loss.backward(); opt.step(); opt.zero_grad(); loss = loss.detach() #+1
    opt.zero_grad() #+2
    avg, s = smooth(avg, loss, 0.9, i)
    losses.append(float(s)); lrs.append(opt.param_groups[0]["lr"])
net.load_state_dict(state)
print(len(losses), "%.5f" % lrs[-1])
