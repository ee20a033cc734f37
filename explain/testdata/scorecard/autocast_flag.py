# Autocast by a flag, training and evaluation, and a compiled step whose learning rate changes.
# fix 1: learning-rate
import torch, torch.nn as nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2))
opt = torch.optim.AdamW(net.parameters(), lr=torch.tensor(1e-3)) #+1
opt = torch.optim.AdamW(net.parameters(), lr=1e-3) #-1
@torch.compile(backend="aot_eager")
def loss_fn(x, y, amp):
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=amp):
        return nn.functional.cross_entropy(net(x), y)
# again
for i in range(4):
    net.train(i % 2 == 0)
    x, y = torch.randn(8, 8), torch.randint(0, 2, (8,))
    if net.training:
        l = loss_fn(x, y, i < 2); l.backward(); opt.step(); opt.zero_grad()
    else:
        with torch.no_grad(): l = loss_fn(x, y, False)
print(round(l.item(), 3))
step = torch.compile(opt.step, backend="aot_eager")
for p in net.parameters(): p.grad = torch.ones_like(p)
step(); opt.param_groups[0]["lr"].fill_(5e-4); step(); opt.param_groups[0]["lr"].fill_(2e-4); step() #+1
step(); opt.param_groups[0]["lr"] = 5e-4; step(); opt.param_groups[0]["lr"] = 2e-4; step() #-1
