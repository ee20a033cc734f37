# A VAE with a step-dependent weight, a list that grows and length bucketing.
# fix 1: size
# fix 2: list-grows
import os
"""an LR-scheduled VAE with a step-dependent KL weight, list buffers and length bucketing"""
import torch, torch.nn as nn
torch.manual_seed(0)
class VAE(nn.Module):
    def __init__(s):
        super().__init__(); s.e = nn.Linear(16, 8); s.d = nn.Linear(4, 16); s.history = []
    def forward(s, x, kl_weight, step):
        mu, lv = s.e(x).chunk(2, -1)
        z = mu + torch.randn_like(mu) * (lv / 2).exp()
        kl = -0.5 * (1 + lv - mu ** 2 - lv.exp()).mean()
        s.history.append(kl.detach()) #-2
        if step % 3 == 0 and step > 0:
            kl = kl * 0.9
        return s.d(z), kl * kl_weight + len(s.history) * 0 #-2
        return s.d(z), kl * kl_weight #+2
m = VAE(); f = torch.compile(m, backend="eager")
# again
for step in range(12):
    n = 4 + (step % 4) * 2
    x = torch.randn(n, 16); torch._dynamo.maybe_mark_dynamic(x, 0) #+1
    f(x, min(1.0, step / 10), step) #+1
    f(torch.randn(n, 16), min(1.0, step / 10), step) #-1
