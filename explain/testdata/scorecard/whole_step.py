# Forward, backward and step in one compiled function.
# fix 1: backward
# fix 2: zero-grad
import torch
torch.manual_seed(0)
m = torch.nn.Linear(3, 1)
opt = torch.optim.SGD(m.parameters(), lr=0.1)

@torch.compile(backend="eager")
def step(x):
    opt.zero_grad() #-2
# again
    loss = m(x).pow(2).mean()
    loss.backward() #-1
    opt.step() #-1
    return loss

for _ in range(2):
    opt.zero_grad() #+2
    l = step(torch.ones(2, 3))
    l.backward() #+1
    opt.step() #+1
    print("%.4f" % l)
