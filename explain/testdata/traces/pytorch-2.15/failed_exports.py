"""Exports, of which all but the first and the last fail."""
import torch
from torch.export import Dim, export

torch.manual_seed(0)


class Linear(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.l = torch.nn.Linear(4, 4)

    def forward(self, x):
        if x.shape[0] > 4:
            return self.l(x)
        return self.l(x) * 2


class Branch(torch.nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x + 1
        return x


def attempt(name, *args, **kwargs):
    try:
        export(*args, **kwargs)
        print(name, "ok")
    except Exception as e:
        print(name, type(e).__name__)


attempt("sizes", Linear(), (torch.randn(8, 4),))
attempt("range", Linear(), (torch.randn(8, 4),), dynamic_shapes={"x": {0: Dim("b", min=1, max=64)}})
attempt("branch", Branch(), (torch.randn(3),))
attempt("strict branch", Branch(), (torch.randn(3),), strict=True)
attempt("sizes again", Linear(), (torch.randn(8, 4),))
