import torch

class Meter:
    def __init__(self): self.totals = {}

    @torch.compile(backend="eager")
    def measure(self, x, name):
        y = x * 2
        self.totals[name] = self.totals.get(name, 0.0) + y.sum()
        return y + 1

meter = Meter()
for name in ("a", "b", "a", "c", "b"):
    print(meter.measure(torch.ones(3), name))
print(meter.totals)
