# A step of a diffusion model: a small UNet, a scheduler with a table, classifier-free guidance.
import math
import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, c_in, c_out, t_dim):
        super().__init__()
        self.norm = nn.GroupNorm(4, c_in)
        self.conv = nn.Conv2d(c_in, c_out, 3, padding=1)
        self.time = nn.Linear(t_dim, c_out)
        self.skip = nn.Conv2d(c_in, c_out, 1) if c_in != c_out else nn.Identity()

    def forward(self, x, t):
        h = self.conv(F.silu(self.norm(x)))
        return self.skip(x) + h + self.time(t)[:, :, None, None]


class UNet(nn.Module):
    def __init__(self, c=8):
        super().__init__()
        self.down = nn.ModuleList([Block(4, c, 16), Block(c, c, 16)])
        self.mid = Block(c, c, 16)
        self.up = nn.ModuleList([Block(2 * c, c, 16), Block(2 * c, 4, 16)])
        self.calls = 0

    def embed(self, t):
        freq = torch.exp(-math.log(10000) * torch.arange(8) / 8)
        a = t[:, None].float() * freq[None]
        return torch.cat([a.sin(), a.cos()], -1)

    def forward(self, x, t):
        self.calls += 1
        e = self.embed(t)
        skips = []
        for b in self.down:
            x = b(x, e)
            skips.append(x)
            x = F.avg_pool2d(x, 2)
        x = self.mid(x, e)
        for b in self.up:
            x = F.interpolate(x, scale_factor=2.0, mode="nearest")
            x = b(torch.cat([x, skips.pop()], 1), e)
        return x


class Scheduler:
    def __init__(self, n):
        self.alphas = torch.cumprod(1 - torch.linspace(1e-4, 0.02, n), 0)
        self.step_index = 0

    def step(self, eps, t, x):
        a = self.alphas[t]
        prev = self.alphas[t - 1] if t > 0 else torch.tensor(1.0)
        x0 = (x - (1 - a).sqrt() * eps) / a.sqrt()
        self.step_index += 1
        if x0.abs().max() > 1:
            x0 = x0.clamp(-1, 1)
        return prev.sqrt() * x0 + (1 - prev).sqrt() * eps


net = UNet()
sched = Scheduler(1000)


@torch.compile
def denoise(x, t, guidance):
    both = net(torch.cat([x, x]), torch.tensor([t, t]))
    a, b = both.chunk(2)
    return sched.step(a + guidance * (b - a), t, x)


with torch.no_grad():
    for size in (16, 32):
        x = torch.randn(1, 4, size, size)
        for t in range(999, 0, -200):
            x = denoise(x, t, 7.5)
        print(size, x.abs().mean().item())
