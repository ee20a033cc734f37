# A VAE with a KL weight that anneals, a history and a buffer of losses.
# fix 1: list-grows
import os, torch, torch.nn as nn
torch.manual_seed(0)

class VAE(nn.Module):
    def __init__(s):
        super().__init__(); s.e = nn.Linear(16, 8); s.d = nn.Linear(4, 16); s.history = []
    def forward(s, x, kl_weight):
        mu, lv = s.e(x).chunk(2, -1)
        z = mu + (lv / 2).exp()
        kl = -0.5 * (1 + lv - mu ** 2 - lv.exp()).mean()
        s.history.append(kl.detach()) #-1
        return s.d(z), kl * kl_weight, kl.detach() #+1
        return s.d(z), kl * kl_weight

m = VAE(); f = torch.compile(m, backend="eager")
# again
for step in range(6):
    y, kl = f(torch.ones(4, 16), min(1.0, step / 10)) #-1
    y, kl, h = f(torch.ones(4, 16), min(1.0, step / 10)) #+1
    m.history.append(h) #+1
    print("%.4f %.4f %d" % (y.mean(), kl, len(m.history)))
