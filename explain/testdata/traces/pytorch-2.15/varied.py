# What people bring: lists of tensors, dataclasses, a python random, dict outputs, in-place on views, closures, data-dependent slicing, logging, tqdm, einops-like, numpy.
import dataclasses, logging, random, time, collections, functools, warnings
import numpy as np
import torch
log = logging.getLogger("app")


@dataclasses.dataclass
class Out:
    loss: torch.Tensor
    logits: torch.Tensor


@torch.compile
def masked(x, lengths):
    out = []
    for i in range(x.size(0)):
        out.append(x[i, :lengths[i]].mean())
    return torch.stack(out)


@torch.compile
def topk_loop(x):
    best = None
    for row in x:
        v, i = row.max(0)
        if best is None or v > best:
            best = v
    return best


@torch.compile
def pad(xs):
    n = max(len(x) for x in xs)
    return torch.stack([torch.nn.functional.pad(x, (0, n - len(x))) for x in xs])


@torch.compile
def to_np(x):
    a = x.detach().cpu().numpy()
    return torch.from_numpy(np.cumsum(a, 0)) + 1


@torch.compile
def out(x, y):
    l = ((x - y) ** 2).mean()
    log.info("loss %s", l)
    return Out(l, x)


@functools.lru_cache
def table(n):
    return torch.arange(n)


@torch.compile
def cached(x):
    return x + table(x.size(0))


@torch.compile
def uniq(x):
    return torch.unique(x).float().mean()


@torch.compile
def nanfix(x):
    if torch.isnan(x).any():
        warnings.warn("nan")
        x = torch.nan_to_num(x)
    return x * 2


@torch.compile
def choose(x, mode):
    match mode:
        case "a":
            return x.sin()
        case "b":
            return x.cos()
    return x


@torch.compile
def early(x):
    for i in range(10):
        x = x * 1.1
        if x.norm() > 5:
            break
    return x


Point = collections.namedtuple("Point", "a b")


@torch.compile
def dd(d):
    return {k: v * 2 for k, v in d.items() if v is not None}


@torch.compile
def seeded(x):
    g = torch.Generator().manual_seed(3)
    return x + torch.rand(x.shape, generator=g)


@torch.compile
def tl(x):
    return x[x > 0].tolist()


@torch.compile
def asg(x):
    x[x < 0] = 0
    return x.sum()


def run(name, f, *args):
    try:
        f(*args)
    except Exception as e:
        print(name, type(e).__name__, str(e).splitlines()[0])


x = torch.randn(4, 6)
run("masked", masked, x, torch.tensor([1, 2, 3, 4]))
run("topk", topk_loop, x)
for n in (2, 3, 4):
    run("pad", pad, [torch.randn(i + n) for i in range(3)])
run("np", to_np, x)
run("out", out, x, x + 1)
for n in (3, 4, 5):
    run("cached", cached, torch.randn(n))
run("uniq", uniq, x)
run("nan", nanfix, x)
for m in "ab":
    run("choose", choose, x, m)
run("early", early, torch.ones(3))
run("dd", dd, {"a": x, "b": None})
run("dd", dd, {"a": x, "b": x})
run("dd", dd, {"a": x, "c": x})
run("seeded", seeded, x)
run("tl", tl, x)
run("asg", asg, x.clone())
