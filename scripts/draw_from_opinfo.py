"""Draws from PyTorch's own operator database, for draw-oracle-cases.py.

A draw picks samples of every operator and dtype and, at times, changes them:
other layouts (transposed, sliced, expanded), numbers at the edge of their type,
the in-place form. The wrong calls that the database knows are drawn as
refusals.
"""

import itertools
import sys
import warnings

import torch
from torch.testing._internal.common_methods_invocations import op_db

# Sparse and random operators, and decompositions whose signs are free, have no
# one answer; the rest speaks of memory that nobody wrote, or of Python.
LEFT_OUT = (
    "sparse.", "fft.", "torch.ops.", "_ref", "jiterator", "stft", "istft", "empty", "new_empty", "linalg.svd", "svd", "linalg.eig", "eig", "linalg.qr", "qr", "geqrf", "lu", "linalg.lu",
    "ormqr", "pca_lowrank", "svd_lowrank", "linalg.householder", "to_sparse", "uniform", "normal", "bernoulli", "multinomial", "cauchy", "exponential", "log_normal", "geometric", "rand",
    "triangular_solve", "nn.functional.dropout", "nn.functional.alpha_dropout", "nn.functional.feature_alpha", "nn.functional.rrelu", "nn.functional.fractional", "cdouble", "chalf",
    "linalg.ldl", "cholesky_inverse", "hash_tensor", "rsub_", "resolve_", "equal_", "allclose_", "__rpow", "quant", "tensorinv_", "byte_", "char_",
)
QUOTA = {torch.float32: 4, torch.float64: 2, torch.int64: 2, torch.bool: 1, torch.bfloat16: 1, torch.float16: 1, torch.int32: 1, torch.uint8: 1}
COMPLEX = {torch.complex64: 3}
LARGEST = 5000  # elements of a tensor
NOT_HELD = (torch.complex128, torch.complex32, torch.uint16, torch.uint32, torch.uint64)


def plain(v):
    """Whether the format of the cases can hold an argument."""
    if isinstance(v, torch.Tensor):
        return v.layout == torch.strided and v.device.type == "cpu" and v.numel() <= LARGEST and v.dtype not in NOT_HELD
    if isinstance(v, (list, tuple)):
        return all(plain(u) for u in v)
    return v is None or v is Ellipsis or isinstance(v, (bool, int, float, complex, str, torch.dtype, slice))


def same(a, b):
    if isinstance(a, torch.Tensor):
        if not isinstance(b, torch.Tensor) or a.shape != b.shape or a.dtype != b.dtype:
            return False
        return torch.equal(torch.nan_to_num(a.detach()), torch.nan_to_num(b.detach()))
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b))
    return a == b


def each(f, v):
    """The argument with f done to its tensors."""
    if isinstance(v, torch.Tensor):
        return f(v)
    if isinstance(v, (list, tuple)):
        return type(v)([each(f, u) for u in v]) if type(v) in (list, tuple) else v
    return v


def relaid(rng, t):
    """The same numbers in another layout."""
    if t.dim() == 0 or t.numel() == 0:
        return t
    how = rng.choice(["transposed", "sliced", "offset"])
    if how == "transposed" and t.dim() >= 2:
        return t.transpose(0, -1).contiguous().transpose(0, -1)
    wide = torch.zeros([n * 2 for n in t.shape] if how == "sliced" else [n + 1 for n in t.shape], dtype=t.dtype)
    at = tuple(slice(0, None, 2) if how == "sliced" else slice(1, None) for _ in t.shape)
    wide[at] = t
    return wide[at]


def edge(rng, t):
    """Numbers of which some are not finite, signed zeros or the extremes of their type."""
    if t.numel() == 0 or t.dtype == torch.bool or t.dtype.is_complex:
        return t
    t = t.detach().clone()
    if t.dtype.is_floating_point:
        most = torch.finfo(t.dtype).max
        numbers = [float("nan"), float("inf"), float("-inf"), -0.0, 0.0, most, -most, torch.finfo(t.dtype).tiny]
    else:
        # the least number divided by -1 kills the process that asks
        numbers = [torch.iinfo(t.dtype).max, torch.iinfo(t.dtype).min + 1, 0]
    flat = t.view(-1) if t.is_contiguous() else t.reshape(-1)
    for _ in range(max(1, flat.numel() // 4)):
        flat[rng.randrange(flat.numel())] = rng.choice(numbers)
    return flat.view(t.shape)


def tied(t):
    """The numbers rounded to halves: many equal ones, and many at 0, 1 and other ends
    of a function's pieces."""
    return (t * 2).round() / 2 if t.dtype.is_floating_point else t


# Operators whose samples may hold any number at all.
EDGES = "unary binary reduction".split()


def any_number(op):
    kind = type(op).__name__.lower()
    return any(k in kind for k in EDGES) and "polynomial" not in op.name and not op.name.startswith(("linalg", "masked"))


def samples(op, dtype, rng, many):
    make = op.reference_inputs if rng.random() < 0.3 else op.sample_inputs
    try:
        found = list(itertools.islice(make("cpu", dtype), 400))
    except Exception:  # a database for other devices or without samples of this type
        return []
    rng.shuffle(found)
    return [s for s in found if plain([s.input, *s.args]) and plain(list(s.kwargs.values()))][:many]


def drawn(d, op, name, dtype, s, what):
    """Adds one sample, changed as the draw will have it."""
    args, kwargs, call, how = [s.input, *s.args], dict(s.kwargs), op.op, d.rng.random()
    grad, exact = True, False
    if what == "ties":
        args, kwargs = [each(tied, a) for a in args], {k: each(tied, v) for k, v in kwargs.items()}
    elif how < 0.2 and not op.name.startswith("as_strided"):  # which sees the gaps
        args, exact = [each(lambda t: relaid(d.rng, t), a) for a in args], True
        kwargs = {k: each(lambda t: relaid(d.rng, t), v) for k, v in kwargs.items()}
    elif how < 0.35 and any_number(op):
        # gradients at numbers without neighbourhood are nobody's promise
        args, grad = [each(lambda t: edge(d.rng, t) if t.dtype == dtype else t, a) for a in args], False
    elif how < 0.45 and op.inplace_variant is not None and isinstance(s.input, torch.Tensor) and not name.endswith("_"):
        f = op.inplace_variant
        call, name = (lambda x, *a, **k: f(x.clone(memory_format=torch.preserve_format), *a, **k)), name + "_"
    try:
        torch.manual_seed(1)
        one = call(*args, **kwargs)
        torch.manual_seed(2)
        two = call(*args, **kwargs)
    except Exception:
        return
    flat = one if isinstance(one, (list, tuple)) else [one]
    if not all(plain(o) for o in flat) or not same(one, two):
        return
    before = len(d.cases)
    try:
        d.add(name, call, args, kwargs, grad=grad, exact=exact)
    except Exception as e:
        print("left out:", name, dtype, repr(e), file=sys.stderr)
        if len(d.cases) > before:
            d.drop()
        return
    case = d.cases[-1]
    if "error" in case:
        d.drop()
        return
    case["dtype"] = str(dtype)[6:]
    if op.variant_test_name:
        case["variant"] = op.variant_test_name


def wrong(d, op, name, many):
    """Adds calls that PyTorch refuses."""
    if op.error_inputs_func is None:
        return
    try:
        found = list(op.error_inputs("cpu"))
    except Exception:
        return
    d.rng.shuffle(found)
    for e in found[:many]:
        s = e.sample_input
        args = [s.input, *s.args]
        if not plain(args) or not plain(list(s.kwargs.values())):
            continue
        d.add(name, op.op, args, dict(s.kwargs))
        if "error" not in d.cases[-1]:
            d.drop()
        elif op.variant_test_name:
            d.cases[-1]["variant"] = op.variant_test_name


def draw(d, what):
    """Draws samples ("database"), complex ones ("complex"), some with equal numbers
    ("ties") or refusals ("wrong")."""
    warnings.filterwarnings("ignore")
    for op in op_db:
        if op.name.startswith(LEFT_OUT):
            continue
        name = op.name.replace("nn.functional.", "")
        if what == "wrong":
            wrong(d, op, name, 6)
            continue
        for dtype, many in (COMPLEX if what == "complex" else QUOTA).items():
            if dtype in op.dtypes:
                for s in samples(op, dtype, d.rng, many):
                    drawn(d, op, name, dtype, s, what)
