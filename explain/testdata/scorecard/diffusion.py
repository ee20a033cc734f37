# A sampling loop with guidance and a schedule, called with several resolutions.
# fix 1: size-every-call
import os, torch
torch.manual_seed(0)

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.Conv2d(8, 3, 3, padding=1)
    def forward(self, x, t):
        return self.b(torch.relu(self.a(x) + t / 1000))

net = Net()

@torch.compile(backend="eager")
def denoise(x, t, guidance, cond):
    eps = net(x, t)
    if guidance > 1.0:
        eps = eps + guidance * (net(cond, t) - eps)
    return x - 0.01 * eps

with torch.no_grad():
    for r in range(int(os.environ.get("ROUNDS", "1"))):
        for size in (8, 16):
            for guidance in (1.5, 3.0, 0.5):
                x, cond = torch.ones(1, 3, size, size), torch.zeros(1, 3, size, size)
                for t in (500, 400, 300):
                    for d in (2, 3): #+1
                        torch._dynamo.maybe_mark_dynamic(x, d) #+1
                        torch._dynamo.maybe_mark_dynamic(cond, d) #+1
                    x = denoise(x, t, guidance, cond)
                if r == 0: print("%.4f" % x.mean())
