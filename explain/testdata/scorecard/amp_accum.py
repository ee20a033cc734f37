# Blind, second set: gradient accumulation with a gradient scaler, clipping and EMA of the weights.
# fix 1: skipped-method
# fix 2: branch-on-tensor
# fix 3: size
import os, copy, torch, torch.nn as nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 2))
ema = copy.deepcopy(net).requires_grad_(False)
opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
scaler = torch.amp.GradScaler("cpu", enabled=True)

@torch.compile(backend="eager")
def micro(x, y, accum):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = nn.functional.cross_entropy(net(x), y) / accum
    return loss #+1
    return scaler.scale(loss) #-1

@torch.compile(backend="eager")
def update(decay):
    with torch.no_grad():
        for a, b in zip(ema.parameters(), net.parameters()):
            a.lerp_(b, 1 - decay)

@torch.compile(backend="eager")
def clip(max_norm):
    total = torch.stack([p.grad.norm() for p in net.parameters() if p.grad is not None]).norm()
    coef = max_norm / (total + 1e-6)
    coef = torch.where(coef < 1, coef, 1) #+2
    for p in net.parameters(): #+2
        p.grad.mul_(coef) #+2
    if coef < 1: #-2
        for p in net.parameters(): #-2
            p.grad.mul_(coef) #-2
    return total

# again
for step in range(4):
    for k in range(2):
        n = 4 if step < 3 else 3
        x, y = torch.ones(n, 8), torch.zeros(n, dtype=torch.long) #+3
        torch._dynamo.maybe_mark_dynamic(x, 0); torch._dynamo.maybe_mark_dynamic(y, 0) #+3
        micro(x, y, 2).backward() #+3
        scaler.scale(micro(torch.ones(n, 8), torch.zeros(n, dtype=torch.long), 2)).backward() #+1
        micro(torch.ones(n, 8), torch.zeros(n, dtype=torch.long), 2).backward() #-3 #-1
    scaler.unscale_(opt)
    clip(1.0)
    scaler.step(opt); scaler.update(); opt.zero_grad()
    update(min(0.99, (1 + step) / (10 + step)))
print("%.3f" % sum(p.sum() for p in ema.parameters()))
