# Blind, second set: a diffusion sampler with a schedule, guidance and clipping.
# fix 1: branch-on-tensor
import os, torch, torch.nn as nn
torch.manual_seed(0)

class Denoiser(nn.Module):
    def __init__(self, d=8):
        super().__init__()
        self.t = nn.Embedding(50, d)
        self.net = nn.Sequential(nn.Linear(d, 16), nn.SiLU(), nn.Linear(16, d))
    def forward(self, x, t):
        return self.net(x + self.t(t))

class Scheduler:
    def __init__(self, steps):
        self.alphas = torch.linspace(0.99, 0.1, 50)
        self.timesteps = list(range(49, 0, -(50 // steps)))
    def step(self, eps, t, x, eta=0.0):
        a = self.alphas[t]
        prev = t - 50 // len(self.timesteps)
        ap = self.alphas[prev] if prev >= 0 else torch.tensor(1.0)
        x0 = (x - (1 - a).sqrt() * eps) / a.sqrt()
        if eta > 0:
            x0 = x0 + eta * torch.ones_like(x0)
        return ap.sqrt() * x0 + (1 - ap).sqrt() * eps

net, sched = Denoiser(), Scheduler(5)

@torch.compile(backend="eager")
def sample_step(x, t, guidance, eta=0.0):
    tt = torch.full((x.shape[0],), t, dtype=torch.long)
    eps = net(x, tt)
    if guidance != 1.0:
        eps = eps * guidance
    x = sched.step(eps, t, x, eta)
    s = torch.quantile(x.abs(), 0.9)
    x = torch.where(s > 1.0, x.clamp(-s, s) / s, x) #+1
    if s > 1.0: #-1
        x = x.clamp(-s, s) / s #-1
    return x

# again
with torch.no_grad():
    x = torch.ones(2, 8)
    for t in sched.timesteps:
        x = sample_step(x, t, 1.5)
    x = sample_step(x, 3, 1.0, eta=0.1)
print("%.4f" % x.sum())
