# Configuration dataclasses that steer a model. Blind.
import torch, torch.nn as nn
from dataclasses import dataclass, field, replace
torch.manual_seed(0)

@dataclass
class Config:
    act: str = "relu"
    scale: float = 1.0
    layers: int = 2
    residual: bool = True
    extra: dict = field(default_factory=dict)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.ls = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))
    def forward(self, x, cfg):
        for l in list(self.ls)[:cfg.layers]:
            h = getattr(torch, cfg.act)(l(x))
            x = x + h if cfg.residual else h
        if "temp" in cfg.extra:
            x = x / cfg.extra["temp"]
        return x * cfg.scale

f = torch.compile(Net(), backend="eager")
base = Config()
# again
with torch.no_grad():
    for c in (base, replace(base, act="tanh"), replace(base, scale=0.5), replace(base, scale=0.25), replace(base, layers=3), replace(base, residual=False), replace(base, extra={"temp": 2.0})):
        print("%.3f" % f(torch.ones(2, 4), c).sum())
