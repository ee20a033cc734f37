"""Python around the tensors: dataclasses, generators, contexts, logging, match."""
import collections
import contextlib
import copy
import dataclasses
import enum
import functools
import logging
import random
import re
from typing import NamedTuple

import torch

log = logging.getLogger("model")


@dataclasses.dataclass
class Out:
    hidden: torch.Tensor
    score: float = 0.0


class Pair(NamedTuple):
    a: torch.Tensor
    b: torch.Tensor


class Mode(enum.Enum):
    FAST = 1
    SLOW = 2


@torch.compile
def dataclass_out(x):
    return Out(x.sin(), 0.5)


@torch.compile
def generates(x):
    def parts():
        for i in range(3):
            yield x * i
    return sum(parts())


@contextlib.contextmanager
def scaled(x, k):
    yield x * k


@torch.compile
def contexts(x):
    with scaled(x, 2) as y:
        z = y + 1
    with torch.no_grad():
        z = z * 2
    return z


@contextlib.contextmanager
def timed():
    import time
    t = time.perf_counter()
    yield
    log.info("took %s", time.perf_counter() - t)


@torch.compile
def in_context(x):
    with timed():                              # break under a context
        y = x.sin()
    return y


@torch.compile
def logs(x):
    log.info("shape %s", x.shape)              # logging
    log.warning("value %s", x.sum())
    return x + 1


@torch.compile
def formats(x):
    name = f"sum {x.sum()}"                    # f-string of a tensor
    return x + len(name) * 0


@torch.compile
def matches(x, mode):
    match mode:
        case Mode.FAST:
            return x * 2
        case Mode.SLOW:
            return x * 3


@torch.compile
def cached(x, n):
    return x * fib(n)


@functools.lru_cache
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


@torch.compile
def stdlib(x, text):
    c = collections.Counter(text)
    m = re.match(r"(\d+)", text)
    y = x + len(c)
    r = random.random()
    z = copy.deepcopy(y)
    if m:
        z = z + int(m.group(1))
    return z * r


@torch.compile
def star(*xs, **kw):
    d = collections.OrderedDict(kw)
    d.update(k=1)
    return Pair(torch.stack(xs).sum(0), xs[0] + len(d))


@torch.compile
def recursive(x, n):
    if n == 0:
        return x
    return recursive(x + 1, n - 1)


@torch.compile
def raises(x):
    try:
        if x.dim() > 1:
            raise ValueError("flat only")
        return x + 1
    except ValueError as e:
        return x - len(str(e))
    finally:
        log.debug("end")


def attempt(f, *args, **kw):
    try:
        f(*args, **kw)
    except Exception as e:
        print(f.__name__, type(e).__name__, e)


def main():
    torch.manual_seed(0)
    x = torch.randn(4)
    for f in (dataclass_out, generates, contexts, in_context, logs, formats):
        attempt(f, x)
    attempt(matches, x, Mode.FAST)
    attempt(matches, x, Mode.SLOW)
    attempt(cached, x, 10)
    attempt(stdlib, x, "12 monkeys")
    attempt(star, x, x, q=2)
    attempt(star, x, q=2, r=3)
    attempt(recursive, x, 3)
    attempt(raises, x)
    attempt(raises, x[None])
    print("done")


main()
