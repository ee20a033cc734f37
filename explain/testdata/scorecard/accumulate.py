# Gradient accumulation with a context that switches synchronisation off. Blind.
# fix 1: size-every-call
import contextlib, torch, torch.nn as nn
torch.manual_seed(0)

class Wrapped(nn.Module):
    def __init__(self, m): super().__init__(); self.m, self.sync = m, True
    @contextlib.contextmanager
    def no_sync(self):
        old, self.sync = self.sync, False
        try: yield
        finally: self.sync = old
    def forward(self, x):
        y = self.m(x)
        return y if self.sync else y * 1.0

net = Wrapped(nn.Linear(4, 2))
f = torch.compile(net, backend="aot_eager")
opt = torch.optim.SGD(net.parameters(), lr=0.1)

@torch.compile(backend="aot_eager")
def scaled(loss, n):
    return loss / n

# again
for step in range(2):
    for micro in range(3):
        last = micro == 2
        with contextlib.nullcontext() if last else net.no_sync():
            x = torch.ones(2 + micro, 4)
            torch._dynamo.maybe_mark_dynamic(x, 0) #+1
            loss = scaled(f(x).pow(2).mean(), 3)
            loss.backward()
    opt.step(); opt.zero_grad()
print("%.4f" % loss)
