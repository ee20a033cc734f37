import logging, time, os, warnings
import torch

log = logging.getLogger("app")
ran = torch.randn


class Timer:
    def __enter__(self):
        self.t = time.perf_counter()
        return self

    def __exit__(self, *a):
        return False


def clipped(x):
    y = x * 2
    if y.sum() > 0:
        y = y.clamp(max=1)
    return y + 1


def scaled(x):
    s = x.abs().max().item()
    return x / (s + 1)


def shown(x):
    x = x.sin()
    print("mean", x.shape)
    return x.cos()


def picked(x):
    i = x.nonzero()
    return x[i].sum()


def timed(x):
    t = time.time()
    y = x.exp()
    return y, time.time() - t


def logged(x):
    x = x + 1
    log.info("shape %s", x.shape)
    return x * 3


def looped(x):
    for i in range(3):
        x = x + i
        print("round", i)
    return x


def guarded(x):
    try:
        y = x.sqrt()
        torch._dynamo.graph_break()
        y = y + 1
    except ValueError:
        y = x
    return y


def within(x):
    with Timer():
        y = x.tanh()
        torch._dynamo.graph_break()
        y = y * 2
    return y


@torch._dynamo.disable
def third(x):
    return x + 3


def calls_third(x):
    return third(x.sin()).cos()


def listed(x):
    return x.sum(0).tolist()[0] + x


def helper(x):
    print("helper")
    return x + 1


def nested(x):
    return helper(x * 2).sum()


def warned(x):
    warnings.warn("old")
    return x - 1


def numpy_out(x):
    import numpy as np
    a = np.asarray(x.detach().numpy())
    return torch.from_numpy(a * 2) + x


def opened(x):
    with open(os.devnull) as f:
        f.read()
    return x.neg()


def wrong(x):
    return x @ torch.ones(5, 5)


for f in (clipped, scaled, shown, picked, timed, logged, looped, guarded, within, calls_third, listed, nested, warned, numpy_out, opened, wrong):
    torch._dynamo.reset()
    torch.manual_seed(0)
    try:
        torch.compile(f)(ran(4, 4) + 2)
        print(f.__name__, "ok", flush=True)
    except Exception as e:
        print(f.__name__, "raised", type(e).__name__, str(e)[:200], flush=True)
