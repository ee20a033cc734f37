# Dataclasses, named tuples, ordered dicts and optional outputs.
import os, torch
from collections import OrderedDict, namedtuple
from dataclasses import dataclass
from typing import Optional

@dataclass
class Out:
    y: torch.Tensor
    aux: Optional[torch.Tensor] = None

Pair = namedtuple("Pair", "a b")

@torch.compile(backend="eager")
def block(x, scale=None, **extra):
    y = x * (scale or 1.0)
    p = Pair(y.sin(), y.cos())
    d = OrderedDict(a=p.a, b=p.b)
    if "aux" in extra: return Out(sum(d.values()), p.a)
    return Out(sum(d.values()))

x = torch.ones(3)
for _ in range(int(os.environ.get("ROUNDS", "1"))):
    for kw in ({}, {"scale": 2.0}, {"scale": 3.0}, {"scale": 2.0, "aux": True}):
        o = block(x, **kw)
        print(o.y, o.aux is None)
