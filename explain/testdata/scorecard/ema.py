# Exponential moving average of weights with a warmup counter. Blind.
import torch, torch.nn as nn
torch.manual_seed(0)

class EMA:
    def __init__(self, model, decay=0.9):
        self.shadow = {k: v.detach().clone() for k, v in model.named_parameters()}
        self.decay, self.updates = decay, 0
    @torch.compile(backend="eager")
    def update(self, model):
        self.updates += 1
        d = min(self.decay, (1 + self.updates) / (10 + self.updates))
        with torch.no_grad():
            for k, v in model.named_parameters():
                self.shadow[k].mul_(d).add_(v, alpha=1 - d)

net = nn.Linear(3, 2)
ema = EMA(net)
# again
for _ in range(6):
    with torch.no_grad(): net.weight.add_(0.1)
    ema.update(net)
print("%.4f" % ema.shadow["weight"].sum())
