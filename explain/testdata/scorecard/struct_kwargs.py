# Keyword arguments, dataclasses, named tuples and a config object.
# fix 1: print
# fix 2: library-call
import os
import torch, json
from dataclasses import dataclass, field
from typing import NamedTuple, Optional
from collections import OrderedDict, defaultdict
torch.manual_seed(0)
@dataclass
class Out:
    y: torch.Tensor
    aux: Optional[torch.Tensor] = None
    meta: dict = field(default_factory=dict)
class Pair(NamedTuple):
    a: torch.Tensor
    b: torch.Tensor
class Config:
    def __init__(self, **kw): self.__dict__.update(kw)
    def __getattr__(self, k): return None

def block(x, **kwargs):
    c = Config(**kwargs)
    if c.verbose: print("cfg", json.dumps(kwargs)) #-1 #-2
    y = x * (c.scale or 1.0)
    p = Pair(y.sin(), y.cos())
    d = defaultdict(list)
    for n in ("a", "b"): d[n].append(getattr(p, n))
    return Out(y=sum(sum(v) for v in d.values()), aux=p.a if c.aux else None, meta={"k": len(d)})
f = torch.compile(block, backend="eager")
x = torch.randn(4)
for _ in range(int(os.environ.get('ROUNDS', '1'))):
  print(f(x, scale=2.0).meta)
  print(f(x, scale=2.0, aux=True).meta)
  print("cfg", json.dumps(dict(scale=3.0, verbose=True))) #+1 #+2
  print(f(x, scale=3.0, verbose=True).meta) #+1 #+2
  print(f(x, scale=3.0, verbose=True).meta) #-1 #-2
  print(f(x, aux=False).meta)
