"""Writes the .pt2 files beside it, and what PyTorch computes of each: python make.py (PyTorch 2.15).

NAME.pt2 is what torch.export.save wrote; NAME.pt holds a list of calls, each a list of its positional
arguments, its keyword arguments and the flat results, in the order in which they were made.
"""

import pathlib
import sysconfig
import warnings
import zipfile

import torch
from torch._higher_order_ops import scan, while_loop
from torch._higher_order_ops.map import map
from torch.export import Dim, export
from torch.utils import _pytree as pytree

warnings.filterwarnings("ignore")
here = pathlib.Path(__file__).parent
F = torch.nn.functional


class LinearRelu(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 3)

    def forward(self, x):
        return torch.relu(self.linear(x))


class ConvNorm(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 4, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(4)

    def forward(self, x):
        return F.max_pool2d(torch.relu_(self.norm(self.conv(x))), 2)


class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = torch.nn.Linear(8, 24)
        self.out = torch.nn.Linear(8, 8)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, 2, 4).permute(2, 0, 3, 1, 4).unbind(0)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(b, t, c)), b * t


class Counter(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(3))
        self.register_buffer("calls", torch.tensor(0))

    def forward(self, x):
        self.seen.mul_(0.5).add_(x.sum(0))
        self.calls += 1
        return x + self.seen, self.calls.clone()


class Tied(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(10, 6)
        self.head = torch.nn.Linear(6, 10, bias=False)
        self.head.weight = self.embed.weight
        whole = torch.arange(12.0).reshape(2, 6)
        self.register_buffer("row", whole[1])
        self.register_buffer("whole", whole)

    def forward(self, ids):
        return self.head(self.embed(ids) + self.row) - self.whole.mean()


class Trees(torch.nn.Module):
    def forward(self, pair, items, *, scale, unused=None):
        a, b = pair
        total = a * torch.tensor([1.0, 2.0, 3.0]) + items["b"] * 2
        return {"sum": total * scale, "parts": [b[0], (items["a"], 7)]}


class Halves(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, x):
        return F.gelu(self.linear(x)).softmax(-1)


class Recurrent(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = torch.nn.LSTM(3, 4, 2, bidirectional=True, batch_first=True, proj_size=2, dropout=0.5)
        self.gru = torch.nn.GRU(4, 5, bias=False)
        self.tanh = torch.nn.RNN(5, 3, 2, bidirectional=True)
        self.relu = torch.nn.RNN(6, 4, nonlinearity="relu", batch_first=True)

    def forward(self, x, h):
        y, (hn, cn) = self.lstm(x)
        y, g = self.gru(y, h)
        y, t = self.tanh(y)
        return *self.relu(y), hn, cn, g, t


class Bags(torch.nn.Module):
    """Operators that are several of ours."""

    def __init__(self):
        super().__init__()
        self.sums = torch.nn.EmbeddingBag(10, 4, mode="sum", padding_idx=3)
        self.means = torch.nn.EmbeddingBag(10, 4, mode="mean", include_last_offset=True)
        self.most = torch.nn.EmbeddingBag(10, 4, mode="max")
        self.v = torch.nn.Parameter(torch.randn(4, 4, 3))
        self.g = torch.nn.Parameter(torch.rand(4, 1, 1))
        self.last = torch.nn.Parameter(torch.rand(1, 1, 3))
        self.one = torch.nn.Parameter(torch.rand(()))

    def forward(self, ids, offsets, weights):
        bags = [self.sums(ids, offsets, weights), self.means(ids, offsets), self.most(ids, offsets)]
        v = torch._weight_norm(self.v, self.g, 0), torch._weight_norm(self.v, self.last, 2), torch._weight_norm(self.v, self.one, -1)
        return bags, v, ids.type_as(weights)


class Missing(torch.nn.Module):
    """An operator that the compiler lacks, twice, and one that it lacks once."""

    def forward(self, x):
        y = F.fractional_max_pool2d(x, 2, output_size=4) + F.fractional_max_pool2d(x + 1, 2, output_size=4)
        return torch.linalg.ldl_factor(y)[0]


class Choice(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: self.linear(x).sin(), lambda x: x.cos() * 2, (x,))


class Loop(torch.nn.Module):
    def forward(self, x):
        start = torch.zeros((), dtype=torch.int64)
        return while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * 2 + x), (start, x))


class Scan(torch.nn.Module):
    def forward(self, x):
        return scan(lambda c, y: (c + y, c * y), torch.zeros(4), x)


class Map(torch.nn.Module):
    def forward(self, x, w):
        return map(lambda y, w: y @ w + 1, x, w)


def save(ep, path):
    """torch.export.save without the folders of the machine that it runs on."""
    torch.export.save(ep, path)
    with zipfile.ZipFile(path) as z:
        files = [(i.filename, z.read(i)) for i in z.infolist()]
    with zipfile.ZipFile(path, "w") as z:
        for name, data in files:
            if name.endswith("model.json"):
                for folder, plain in ((str(here), "/home/user"), (sysconfig.get_paths()["purelib"], "/usr/lib/python3/site-packages")):
                    data = data.replace(folder.encode(), plain.encode())
            z.writestr(zipfile.ZipInfo(name), data)


def flat(x):
    return [t.clone() if isinstance(t, torch.Tensor) else t for t in pytree.tree_leaves(x)]


def write(name, model, calls, decompose=False, **export_options):
    args, kwargs = calls[0]
    ep = export(model, args, kwargs, **export_options)
    if decompose:
        ep = ep.run_decompositions()
    save(ep, here / f"{name}.pt2")
    run = ep.module()
    done = []
    with torch.no_grad():
        for args, kwargs in calls:
            done.append([list(args), dict(kwargs), flat(run(*args, **kwargs))])
    torch.save(done, here / f"{name}.pt")


def main():
    torch.manual_seed(0)
    batch = Dim("batch", min=1, max=64)
    write("linear_relu", LinearRelu(), [((torch.randn(n, 4),), {}) for n in (2, 5, 1, 64)], dynamic_shapes=({0: batch},))
    write("conv_norm", ConvNorm(), [((torch.randn(2, 3, 8, 8),), {}) for _ in range(3)])
    write("conv_norm_eval", ConvNorm().eval(), [((torch.randn(2, 3, 8, 8),), {})])
    write("conv_norm_core", ConvNorm().eval(), [((torch.randn(2, 3, 8, 8),), {})], decompose=True)
    write(
        "attention", Attention(), [((torch.randn(b, t, 8),), {}) for b, t in ((2, 5), (3, 7), (1, 2), (2, 5))],
        dynamic_shapes=({0: batch, 1: Dim("time", min=2, max=32)},),
    )
    write("counter", Counter(), [((torch.randn(2, 3),), {}) for _ in range(3)])
    write("counter_core", Counter(), [((torch.randn(2, 3),), {}) for _ in range(3)], decompose=True)
    write("tied", Tied(), [((torch.randint(10, (2, 3)),), {}) for _ in range(2)])
    pair = (torch.randn(3), [torch.randn(2)])
    items = {"b": torch.randn(3), "a": torch.randn(1)}
    write("trees", Trees(), [((pair, items), {"scale": torch.randn(3)})])
    write("bfloat16", Halves().to(torch.bfloat16), [((torch.randn(3, 4).to(torch.bfloat16),), {})])
    write("recurrent", Recurrent().eval(), [((torch.randn(2, 4, 3), torch.randn(1, 4, 5)), {}) for _ in range(2)])
    ids = torch.tensor([1, 3, 9, 0, 3, 2, 7])
    write("bags", Bags(), [((ids, torch.tensor([0, 3, 7]), torch.rand(7)), {})])
    calls = [((torch.randn(n, 4) + shift,), {}) for n, shift in ((3, 2), (5, -2))]
    write("cond", Choice(), calls, dynamic_shapes=({0: batch},))
    write("while", Loop(), [((torch.randn(3, 4),), {}) for _ in range(2)])
    write("scan", Scan(), [((torch.randn(3, 4),), {}) for _ in range(2)])
    write("map", Map(), [((torch.randn(3, 4), torch.randn(4, 4)), {}) for _ in range(2)])
    save(export(Missing(), (torch.randn(2, 3, 8, 8),)), here / "missing.pt2")


if __name__ == "__main__":
    main()
