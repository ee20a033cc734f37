# Enums, dataclasses, decorators, generators and keywords.
import torch, enum, dataclasses, contextlib, functools
torch.manual_seed(0)
class Mode(enum.Enum): A = 1; B = 2
@dataclasses.dataclass
class Cfg: scale: float = 1.0; mode: Mode = Mode.A; tags: tuple = ()
@contextlib.contextmanager
def scope(n):
    yield n
def deco(fn):
    @functools.wraps(fn)
    def w(*a, **k): return fn(*a, **k) * 1
    return w
@torch.compile(backend="eager")
@deco
def f(x, cfg):
    with scope("a"):
        y = x.sin() if cfg.mode is Mode.A else x.cos()
    return y * cfg.scale + len(cfg.tags)
import os
for _ in range(int(os.environ.get('ROUNDS', '1'))):
  for c in (Cfg(), Cfg(2.0), Cfg(3.0), Cfg(mode=Mode.B), Cfg(tags=("x",))): f(torch.ones(3), c)
def gen(x):
    for i in range(3): yield x + i
@torch.compile(backend="eager")
def g(x): return sum(gen(x))
g(torch.ones(2))
@torch.compile(backend="eager")
def k(x, **kw):
    if "mask" in kw: x = x * kw["mask"]
    return x + kw.get("bias", 0)
for _ in range(int(os.environ.get('ROUNDS', '1'))): k(torch.ones(2)); k(torch.ones(2), bias=1); k(torch.ones(2), bias=2); k(torch.ones(2), mask=torch.ones(2))
@torch.compile(backend="eager")
def h(x, fn): return fn(x)
for fn in (torch.sin, torch.cos, lambda v: v + 1): h(torch.ones(2), fn)
print(hash(Mode.A) != 0)
