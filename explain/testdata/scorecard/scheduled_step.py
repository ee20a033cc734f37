# A whole step with a schedule in one compiled function.
# fix 1: zero-grad
# fix 2: backward
# fix 3: skipped-method
# fix 4: learning-rate
import torch, torch.nn as nn
torch.manual_seed(0)
m = nn.Linear(8, 1); lr = 1e-2
lr = torch.tensor(1e-2) #+4
opt = torch.optim.Adam(m.parameters(), lr=lr); sched = torch.optim.lr_scheduler.StepLR(opt, 2)
def step( #+2
@torch.compile(backend="aot_eager") #-2
def step( #-2
x, y, weight):
    opt.zero_grad() #-1
    loss = loss_of(x, y, weight) #+2
    loss = ((m(x) - y) ** 2).mean() * weight #-2
    loss.backward()
    torch.nn.utils.clip_grad_norm_(m.parameters(), 1.0)
    opt.step()
    sched.step() #-3
    return loss
# again
@torch.compile(backend='aot_eager') #+2
def loss_of(x, y, weight): return ((m(x) - y) ** 2).mean() * weight #+2
losses = [] #+2
losses = [] #-2
for i in range(6):
    opt.zero_grad() #+1
    l = step(torch.randn(8, 8), torch.randn(8, 1), 1.0 / (i + 1)); losses.append(l.item())
    sched.step() #+3
print([round(v, 3) for v in losses])
