import torch

class Meter:
    def __init__(self): self.totals = {}

    @torch.compile(backend="eager")
    def measure(self, x, total):
        y = x * 2
        return y + 1, total + y.sum()

meter = Meter()
for name in ("a", "b", "a", "c", "b"):
    y, meter.totals[name] = meter.measure(torch.ones(3), meter.totals.get(name, torch.tensor(0.0)))
    print(y)
print(meter.totals)
