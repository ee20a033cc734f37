"""Fresh cases for `make oracle ORACLE=DIR`: calls of many operators on drawn
shapes, dtypes and strides, with what PyTorch makes of them.

usage: draw-oracle-cases.py DIR [SEED] [own|database|complex|ties|wrong]

own: calls written below. database: samples of PyTorch's own operator database,
some in other layouts, at the edges of their type or in place. complex: its
samples in complex64. ties: its samples rounded to halves, which have equal numbers.
wrong: its calls that must be refused.

Needs torch and safetensors. A case is written with its arguments, the strides
of its tensors, its results and, where it is differentiable, the gradients for
drawn cotangents.
"""

import json
import os
import random
import sys

import torch
import torch.nn.functional as F
from safetensors.torch import save_file

import draw_from_opinfo

FLOATS = [torch.float32, torch.float32, torch.float32, torch.float64]
HALVES = [torch.bfloat16, torch.float16]
INTS = [torch.int64, torch.int32, torch.int16, torch.uint8, torch.int8]
SHAPES = [(), (1,), (7,), (0,), (3, 4), (1, 5), (2, 1, 6), (3, 0, 2), (4, 3, 5), (2, 3, 1, 4)]


class Draws:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        torch.manual_seed(seed)
        self.tensors, self.cases = {}, []

    def tensor(self, shape, dtype=torch.float32, low=-3.0, high=3.0):
        """A tensor of a shape, at times with the strides of a transposed or sliced one."""
        if dtype == torch.bool:
            t = torch.rand(shape) < 0.5
        elif dtype.is_floating_point:
            t = (torch.rand(shape, dtype=torch.float64) * (high - low) + low).to(dtype)
        else:
            t = torch.randint(int(max(low, 0 if dtype == torch.uint8 else low)), int(high) + 1, shape).to(dtype)
        if t.dim() >= 2 and self.rng.random() < 0.3:
            t = t.transpose(0, -1).contiguous().transpose(0, -1)
        return t

    def shape(self, least=0, most=4, empty=True):
        fit = [s for s in SHAPES if least <= len(s) <= most and (empty or 0 not in s)]
        return self.rng.choice(fit)

    def drop(self):
        """Takes the last case back."""
        name = self.cases.pop()["case"]
        for key in [k for k in self.tensors if k.startswith(name + ".")]:
            del self.tensors[key]

    def add(self, op, call, args, kwargs=None, grad=True, exact=False):
        """Adds a case. exact: its tensors lie in memory with the strides that are
        written, gaps and all; else a tensor with gaps is copied densely first."""
        kwargs = kwargs or {}
        name = f"d{len(self.cases):04d}"
        found = []

        def walk(v):
            if isinstance(v, torch.Tensor):
                found.append(v)
            elif isinstance(v, (list, tuple)):
                [walk(u) for u in v]
            elif isinstance(v, dict):
                [walk(u) for u in v.values()]

        walk([list(args), kwargs])
        dense = lambda t: t.detach() if exact or not (t.is_floating_point() or t.is_complex()) else t.detach().clone(memory_format=torch.preserve_format)
        wants = lambda t: grad and (t.is_floating_point() or t.is_complex())
        leaves = [dense(t).requires_grad_(wants(t)) for t in found]
        it = iter(leaves)
        swap = lambda v: next(it) if isinstance(v, torch.Tensor) else type(v)(swap(u) for u in v) if isinstance(v, (list, tuple)) else v
        live = [swap(a) for a in args]
        livekw = {k: swap(v) for k, v in kwargs.items()}
        case = {"case": name, "op": op, "strides": [list(t.stride()) for t in found]}
        if exact:
            case["exact"] = True
        if not grad:
            case["nograd"] = True
        numbers = iter(range(len(found)))

        def text(v):
            if isinstance(v, torch.Tensor):
                key = f"{name}.in{next(numbers)}"
                self.tensors[key] = v.detach().contiguous().resolve_conj().resolve_neg().clone()
                return {"tensor": key}
            if isinstance(v, torch.dtype):
                return {"dtype": str(v)[6:]}
            if isinstance(v, float) and (v != v or abs(v) == float("inf")):
                return {"float": str(v)}
            if isinstance(v, complex):
                return {"complex": [v.real, v.imag]}
            if isinstance(v, slice):
                return {"slice": [v.start, v.stop, v.step]}
            if v is Ellipsis:
                return {"ellipsis": True}
            if isinstance(v, (list, tuple)):
                return [text(u) for u in v]
            return v

        case["args"] = [text(a) for a in args]
        case["kwargs"] = {k: text(v) for k, v in kwargs.items()}
        try:
            out = call(*live, **livekw)
        except Exception as e:  # a refusal is a case too
            case["error"] = f"{type(e).__name__}: {str(e).splitlines()[0]}"
            self.cases.append(case)
            return
        outs = list(out) if isinstance(out, (list, tuple)) else [out]
        case["outs"], diff, cots = [], [], []
        for i, o in enumerate(outs):
            if not isinstance(o, torch.Tensor):
                case["outs"].append(text(o))
                continue
            key = f"{name}.out{i}"
            self.tensors[key] = o.detach().contiguous().resolve_conj().resolve_neg().clone()
            case["outs"].append({"tensor": key, "dtype": str(o.dtype)[6:], "shape": list(o.shape), "stride": list(o.stride())})
            if o.requires_grad:
                wide = torch.complex128 if o.dtype.is_complex else torch.float64
                cot = torch.randn(o.shape, dtype=wide).to(o.dtype)
                self.tensors[f"{name}.cot{i}"] = cot
                diff.append(o)
                cots.append(cot)
        if diff:
            wanted = [t for t in leaves if t.requires_grad]
            try:
                grads = iter(torch.autograd.grad(diff, wanted, cots, allow_unused=True))
            except RuntimeError:  # marked as differentiable, but it is not
                grads, wanted = iter([]), []
            if not wanted:
                self.cases.append(case)
                return
            case["grads"] = []
            for i, t in enumerate(leaves):
                g = next(grads) if t.requires_grad else None
                if g is not None:
                    self.tensors[f"{name}.grad{i}"] = g.detach().contiguous().resolve_conj().resolve_neg().clone()
                case["grads"].append(f"{name}.grad{i}" if g is not None else None)
        self.cases.append(case)


UNARY = {
    "abs": (-3, 3), "neg": (-3, 3), "exp": (-3, 3), "exp2": (-3, 3), "expm1": (-2, 2), "log": (0.1, 5), "log2": (0.1, 5), "log10": (0.1, 5), "log1p": (-0.8, 5),
    "sqrt": (0.1, 5), "rsqrt": (0.1, 5), "square": (-3, 3), "reciprocal": (0.3, 4), "sin": (-6, 6), "cos": (-6, 6), "tan": (-1.2, 1.2), "asin": (-0.9, 0.9),
    "acos": (-0.9, 0.9), "atan": (-5, 5), "sinh": (-3, 3), "cosh": (-3, 3), "asinh": (-4, 4), "acosh": (1.1, 5), "atanh": (-0.9, 0.9), "tanh": (-3, 3),
    "sigmoid": (-5, 5), "erf": (-2, 2), "erfc": (-2, 2), "erfinv": (-0.9, 0.9), "lgamma": (0.3, 5), "digamma": (0.5, 5), "sign": (-3, 3), "floor": (-3, 3),
    "ceil": (-3, 3), "round": (-3, 3), "trunc": (-3, 3), "frac": (-3, 3), "sinc": (-3, 3), "i0": (-4, 4), "deg2rad": (-90, 90), "rad2deg": (-3, 3), "nan_to_num": (-3, 3),
    "logit": (0.1, 0.9), "isnan": (-3, 3), "isfinite": (-3, 3), "logical_not": (-1, 1), "signbit": (-3, 3), "positive": (-3, 3), "relu": (-3, 3), "selu": (-3, 3), "celu": (-3, 3),
}
BINARY = [
    "add", "sub", "mul", "div", "maximum", "minimum", "fmax", "fmin", "atan2", "hypot", "copysign", "logaddexp", "logaddexp2", "pow", "lt", "le", "gt", "ge", "eq", "ne",
    "logical_and", "logical_or", "logical_xor", "fmod", "remainder", "floor_divide", "xlogy", "heaviside", "true_divide", "float_power", "nextafter",
]
REDUCE = ["sum", "mean", "prod", "amax", "amin", "var", "std", "logsumexp", "any", "all", "nansum", "count_nonzero", "argmax", "argmin"]
ACTIVATIONS = ["gelu", "silu", "mish", "elu", "leaky_relu", "softplus", "hardtanh", "hardswish", "hardsigmoid", "logsigmoid", "softsign", "tanhshrink", "softshrink", "hardshrink", "relu6"]


def pointwise(d):
    for name, (low, high) in UNARY.items():
        for dtype in [d.rng.choice(FLOATS), d.rng.choice(FLOATS + INTS + HALVES), torch.bool]:
            d.add(name, getattr(torch, name), [d.tensor(d.shape(), dtype, low, high)])
    for name in BINARY:
        f = getattr(torch, name)
        for _ in range(4):
            s = d.shape(1, 3)
            other = s[d.rng.randint(0, len(s) - 1):] if s else ()
            pair = [d.tensor(s, d.rng.choice(FLOATS + INTS), 1, 4), d.tensor(other, d.rng.choice(FLOATS + INTS), 1, 4)]
            d.add(name, f, pair, grad=name != "nextafter")
    for name in ACTIVATIONS:
        f = getattr(F, name)
        for _ in range(2):
            d.add(name, f, [d.tensor(d.shape(), d.rng.choice(FLOATS))])
    for _ in range(4):
        s = d.shape(1, 3)
        x, y, m = d.tensor(s), d.tensor(s), d.tensor(s, torch.bool)
        d.add("where", torch.where, [m, x, y])
        d.add("lerp", torch.lerp, [x, y, d.rng.random()])
        d.add("addcmul", torch.addcmul, [x, y, x], {"value": 0.7})
        d.add("addcdiv", torch.addcdiv, [x, y, d.tensor(s, low=1)], {"value": -1.3})
        d.add("clamp", torch.clamp, [x, -1.0, 1.5])
        d.add("masked_fill", torch.masked_fill, [x, m, 2.5])


def reductions(d):
    for name in REDUCE:
        f = getattr(torch, name)
        for _ in range(4):
            s = d.shape(1, 4, empty=False)
            dim = d.rng.randint(-len(s), len(s) - 1)
            kw = {} if name == "count_nonzero" else {"keepdim": d.rng.random() < 0.5}
            d.add(name, f, [d.tensor(s, d.rng.choice(FLOATS)), dim], kw)
    for name in ["cumsum", "cumprod", "logcumsumexp", "cummax", "cummin", "softmax", "log_softmax", "sort", "argsort", "flip", "unbind"]:
        for _ in range(3):
            s = d.shape(1, 3, empty=False)
            dim = d.rng.randint(-len(s), len(s) - 1)
            d.add(name, getattr(torch, name), [d.tensor(s, d.rng.choice(FLOATS)), [dim] if name == "flip" else dim])
    for name in ["median", "nanmedian", "mode", "max", "min"]:
        for _ in range(2):
            s = d.shape(1, 3, empty=False)
            d.add(name, getattr(torch, name), [d.tensor(s), d.rng.randint(0, len(s) - 1)])
    x = d.tensor((4, 6))
    d.add("topk", torch.topk, [x, 3, 1])
    d.add("kthvalue", torch.kthvalue, [x, 2, 1])
    d.add("quantile", torch.quantile, [x, 0.3], {"dim": 1})
    d.add("quantile", torch.quantile, [x, torch.tensor([0.1, 0.6])], {"dim": 0, "keepdim": True})
    d.add("diff", torch.diff, [x])
    d.add("cov", torch.cov, [x])
    d.add("histc", torch.histc, [x.detach()], {"bins": 5}, grad=False)
    for p in [0.5, 1, 2, 3, float("inf"), float("-inf")]:
        d.add("norm", torch.norm, [d.tensor((3, 5)), p], {"dim": 1})


def products(d):
    t = d.tensor
    for dtype in [torch.float32, torch.float64, torch.int64]:
        d.add("matmul", torch.matmul, [t((3, 4), dtype), t((4, 5), dtype)])
        d.add("matmul", torch.matmul, [t((2, 3, 4), dtype), t((4,), dtype)])
        d.add("bmm", torch.bmm, [t((2, 3, 4), dtype), t((2, 4, 2), dtype)])
        d.add("mv", torch.mv, [t((3, 4), dtype), t((4,), dtype)])
        d.add("dot", torch.dot, [t((4,), dtype), t((4,), dtype)])
        d.add("outer", torch.outer, [t((4,), dtype), t((3,), dtype)])
        d.add("addmm", torch.addmm, [t((5,), dtype), t((3, 4), dtype), t((4, 5), dtype)], {"beta": 2, "alpha": 3})
    d.add("linear", F.linear, [t((2, 3, 4)), t((5, 4)), t((5,))])
    d.add("einsum", torch.einsum, ["bij,bkj->ik", t((2, 3, 4)), t((2, 5, 4))])
    d.add("kron", torch.kron, [t((2, 3)), t((3, 2))])
    d.add("cdist", torch.cdist, [t((2, 4, 3)), t((2, 5, 3))])
    d.add("pdist", F.pdist, [t((5, 3))])
    a = t((4, 4), torch.float64)
    spd = a @ a.mT + 4 * torch.eye(4, dtype=torch.float64)
    well = a + 6 * torch.eye(4, dtype=torch.float64)
    for name, args in {"inv": [well], "det": [well], "slogdet": [well], "solve": [well, t((4, 2), torch.float64)], "cholesky": [spd], "pinv": [t((5, 3), torch.float64)], "eigvalsh": [spd],
                       "svdvals": [t((4, 3), torch.float64)], "matrix_norm": [a], "matrix_power": [well, -2], "matrix_exp": [a / 4], "vector_norm": [a], "norm": [a], "cond": [well]}.items():
        d.add("linalg." + name, getattr(torch.linalg, name), args)
    d.add("linalg.solve_triangular", torch.linalg.solve_triangular, [well.triu(), t((4, 3), torch.float64)], {"upper": True})
    d.add("linalg.multi_dot", torch.linalg.multi_dot, [[t((3, 4), torch.float64), t((4, 2), torch.float64), t((2, 5), torch.float64)]])
    d.add("linalg.lstsq", torch.linalg.lstsq, [t((5, 3), torch.float64), t((5, 2), torch.float64)], {"driver": "gelsd"}, grad=False)


def shapes(d):
    t = d.tensor
    x = t((3, 4, 5))
    for op, call, args in [
        ("permute", torch.permute, [x, [2, 0, 1]]), ("transpose", torch.transpose, [x, -1, 0]), ("reshape", torch.reshape, [x, [6, -1]]), ("flatten", torch.flatten, [x, 1]),
        ("unsqueeze", torch.unsqueeze, [x, -2]), ("squeeze", torch.squeeze, [t((3, 1, 2)), 1]), ("select", torch.select, [x, 1, -2]), ("narrow", torch.narrow, [x, 2, 1, 3]),
        ("diagonal", torch.diagonal, [x, 1, 0, 2]), ("diag_embed", torch.diag_embed, [x]), ("tril", torch.tril, [x, 1]), ("triu", torch.triu, [x, -1]), ("roll", torch.roll, [x, 2, 1]),
        ("rot90", torch.rot90, [x, 1, [0, 2]]), ("tile", torch.tile, [t((2, 3)), [2, 2]]), ("movedim", torch.movedim, [x, 0, 2]), ("repeat_interleave", torch.repeat_interleave, [x, 2, 1]),
        ("cat", torch.cat, [[x, t((2, 4, 5))], 0]), ("stack", torch.stack, [[x, x], -1]), ("split", torch.split, [x, 2, 1]), ("chunk", torch.chunk, [x, 3, 2]), ("hstack", torch.hstack, [[t((3,)), t((2,))]]),
        ("block_diag", torch.block_diag, [t((2, 3)), t((1, 2))]), ("cartesian_prod", torch.cartesian_prod, [t((2,)), t((3,))]), ("combinations", torch.combinations, [t((4,)), 3]),
        ("meshgrid", lambda *a: torch.meshgrid(*a, indexing="ij"), [t((2,)), t((3,))]), ("trapezoid", torch.trapezoid, [x]), ("unfold_dim", lambda v, *a: v.unfold(*a), [x, 2, 3, 2]),
        ("gradient", lambda v: torch.gradient(v), [t((5, 4))]), ("vander", torch.vander, [t((4,)), 3]), ("tensor_split", torch.tensor_split, [x, 3, 2]),
    ]:
        d.add(op, call, args)
    idx = torch.tensor([2, 0, 2])
    y, src = t((4, 5)), t((3, 5))
    wide = torch.randint(0, 4, (3, 5))
    for op, call, args in [
        ("index_select", torch.index_select, [y, 0, idx]), ("index_add", torch.index_add, [y, 0, idx, src]), ("index_copy", torch.index_copy, [y, 0, torch.tensor([3, 0, 1]), src]),
        ("index_fill", torch.index_fill, [y, 1, idx, 1.5]), ("gather", torch.gather, [y, 0, wide]), ("scatter", torch.scatter, [y, 0, torch.randperm(4)[:3, None].expand(3, 5).contiguous(), src]),
        ("scatter_add", torch.scatter_add, [y, 0, wide, src]), ("scatter_reduce", torch.scatter_reduce, [y, 0, wide, src, "mean"]), ("index_reduce", torch.index_reduce, [y, 0, idx, src, "amax"]),
        ("take", torch.take, [y, torch.tensor([[3, 7], [0, 19]])]), ("put", torch.Tensor.put, [y, torch.tensor([3, 7]), t((2,)), True]), ("masked_select", torch.masked_select, [y, t((4, 5), torch.bool)]),
        ("take_along_dim", torch.take_along_dim, [y, torch.randint(0, 5, (4, 2)), 1]), ("masked_scatter", torch.masked_scatter, [y, t((4, 5), torch.bool), t((4, 5))]),
        ("bucketize", torch.bucketize, [y, torch.tensor([-1.0, 0.0, 1.0])]), ("searchsorted", torch.searchsorted, [torch.tensor([-1.0, 0.0, 1.0]), y]), ("nonzero", torch.nonzero, [t((3, 4), torch.bool)]),
    ]:
        d.add(op, call, args)


def networks(d):
    t = d.tensor
    for dtype in [torch.float32, torch.float64]:
        x, x1 = t((2, 4, 7, 6), dtype), t((2, 4, 9), dtype)
        for op, call, args, kw in [
            ("conv1d", F.conv1d, [x1, t((6, 2, 3), dtype), t((6,), dtype)], {"stride": 2, "padding": 1, "groups": 2}),
            ("conv2d", F.conv2d, [x, t((5, 4, 3, 2), dtype), t((5,), dtype)], {"padding": [1, 0], "dilation": [2, 1]}),
            ("conv_transpose2d", F.conv_transpose2d, [x, t((4, 3, 3, 3), dtype), None], {"stride": 2, "output_padding": 1}),
            ("max_pool2d", F.max_pool2d, [x, 3], {"stride": 2, "padding": 1}), ("avg_pool2d", F.avg_pool2d, [x, 2], {"ceil_mode": True, "count_include_pad": False}),
            ("adaptive_avg_pool2d", F.adaptive_avg_pool2d, [x, [3, 4]], {}), ("adaptive_max_pool2d", F.adaptive_max_pool2d, [x, [3, 2]], {}),
            ("layer_norm", F.layer_norm, [x, [6], t((6,), dtype), t((6,), dtype)], {}), ("group_norm", F.group_norm, [x, 2, t((4,), dtype), t((4,), dtype)], {}),
            ("rms_norm", F.rms_norm, [x, [6], t((6,), dtype)], {}), ("instance_norm", F.instance_norm, [x], {}), ("normalize", F.normalize, [x], {"p": 2.0, "dim": 1}),
            ("pad", F.pad, [x, [1, 2, 0, 1]], {"mode": "reflect"}), ("pad", F.pad, [x, [1, -1]], {"value": 2.0}), ("interpolate", F.interpolate, [x], {"size": [5, 9], "mode": "bilinear", "align_corners": False}),
            ("interpolate", F.interpolate, [x], {"scale_factor": 1.5, "mode": "nearest"}), ("grid_sample", F.grid_sample, [x, t((2, 3, 4, 2), dtype, -1.2, 1.2)], {"align_corners": True}),
            ("pixel_shuffle", F.pixel_shuffle, [x, 2], {}), ("glu", F.glu, [x, 1], {}), ("prelu", F.prelu, [x, t((4,), dtype)], {}), ("local_response_norm", F.local_response_norm, [x, 3], {}),
            ("scaled_dot_product_attention", F.scaled_dot_product_attention, [t((2, 2, 4, 5), dtype), t((2, 2, 6, 5), dtype), t((2, 2, 6, 5), dtype)], {}),
        ]:
            d.add(op, call, args, kw)
        a, b, c = t((4, 5), dtype), t((4, 5), dtype), t((4, 5), dtype)
        p, cls = torch.rand(4, 5, dtype=torch.float64).to(dtype) * 0.8 + 0.1, torch.tensor([1, 0, 4, 2])
        for how in ["mean", "sum", "none"]:
            for op, args in {
                "mse_loss": [a, b], "l1_loss": [a, b], "smooth_l1_loss": [a, b], "huber_loss": [a, b], "kl_div": [a, p], "binary_cross_entropy": [p, p.flip(0)], "binary_cross_entropy_with_logits": [a, p],
                "cross_entropy": [a, cls], "nll_loss": [F.log_softmax(a, 1), cls], "multi_margin_loss": [a, cls], "multilabel_margin_loss": [a, torch.tensor([[0, 2, -1, 1, 1]] * 4)], "poisson_nll_loss": [a, p],
                "gaussian_nll_loss": [a, b, p], "hinge_embedding_loss": [a, torch.where(b > 0, 1.0, -1.0).to(dtype)], "soft_margin_loss": [a, torch.where(b > 0, 1.0, -1.0).to(dtype)],
                "triplet_margin_loss": [a, b, c], "cosine_embedding_loss": [a, b, torch.tensor([1, -1, 1, -1])], "margin_ranking_loss": [a, b, torch.where(c > 0, 1.0, -1.0).to(dtype)],
            }.items():
                grad = [u.detach() for u in args]
                d.add(op, getattr(F, op), grad, {"reduction": how})
    d.add("embedding", F.embedding, [torch.randint(0, 6, (2, 3)), t((6, 4))])
    d.add("one_hot", F.one_hot, [torch.randint(0, 6, (2, 3)), 7])


def main():
    out, seed = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1
    what = sys.argv[3] if len(sys.argv) > 3 else "own"
    d = Draws(seed)
    if what == "own":
        for family in (pointwise, reductions, products, shapes, networks):
            family(d)
    elif what in ("database", "complex", "ties", "wrong"):
        draw_from_opinfo.draw(d, what)
    else:
        sys.exit(__doc__)
    os.makedirs(out, exist_ok=True)
    save_file(d.tensors, os.path.join(out, "ops.safetensors"), metadata={"torch": torch.__version__})
    with open(os.path.join(out, "ops.json"), "w") as f:
        json.dump({"torch": torch.__version__, "cases": d.cases}, f)
    refused = sum("error" in c for c in d.cases)
    print(len(d.cases), "cases", len({c["op"] for c in d.cases}), "operators", refused, "refusals")


if __name__ == "__main__":
    main()
