"""Writes nested.pt, legacy.pt, conj.pt and neg.pt into this folder, or holds a
file against nested.pt.

    python nested.py
    python nested.py FILE
"""

import os
import sys

import torch
from torch import nn

HERE = os.path.dirname(os.path.abspath(__file__))


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(5, 3)
        self.head = nn.Linear(3, 5, bias=False)
        self.head.weight = self.embed.weight
        self.norm = nn.BatchNorm1d(3)

    def forward(self, x):
        return self.head(self.norm(self.embed(x)))


def checkpoint():
    torch.manual_seed(0)
    m = Tied()
    o = torch.optim.AdamW([{"params": [m.embed.weight]}, {"params": m.norm.parameters(), "lr": 0.1}], amsgrad=True)
    s = torch.optim.lr_scheduler.StepLR(o, 2)
    for _ in range(3):
        o.zero_grad()
        m(torch.arange(5)).square().sum().backward()
        o.step()
        s.step()
    w = torch.arange(12.0).reshape(3, 4)
    return {
        "model": m.state_dict(),
        "optimizer": o.state_dict(),
        "scheduler": {k: v for k, v in s.state_dict().items() if not callable(v)},
        "half": {"f16": w.half(), "bf16": w.bfloat16()[1:], "deep": {"deeper": [{"deepest": (w.T, [w[1], 2.5, None])}]}},
        "expanded": torch.ones(1).expand(4),
        "flags": (True, False, 1 << 40, -3, "text", torch.float16, torch.Size([2, 3])),
        7: {0.5: "half", "": "empty"},
    }


def alike(a, b, at="file"):
    assert isinstance(b, type(a)) or isinstance(a, (tuple, list)) and isinstance(b, (tuple, list)) or isinstance(a, dict) and isinstance(b, dict), (at, type(a), type(b))
    if torch.is_tensor(a):
        assert a.dtype == b.dtype and a.shape == b.shape and a.stride() == b.stride() and torch.equal(a, b), (at, a, b)
    elif isinstance(a, dict):
        assert list(a) == list(b), (at, list(a), list(b))
        for k in a:
            alike(a[k], b[k], f"{at}.{k}")
    elif isinstance(a, (list, tuple)):
        assert len(a) == len(b), (at, a, b)
        for i, (x, y) in enumerate(zip(a, b)):
            alike(x, y, f"{at}.{i}")
    else:
        assert a == b, (at, a, b)


def check(path):
    # What another release or machine computes may differ in the last place.
    want, got = (torch.load(p, weights_only=True) for p in (os.path.join(HERE, "nested.pt"), path))
    alike(want, got)
    model = got["model"]
    assert model["embed.weight"].data_ptr() == model["head.weight"].data_ptr(), "tied weights came apart"
    m = Tied()
    m.load_state_dict(model)
    o = torch.optim.AdamW([{"params": [m.embed.weight]}, {"params": m.norm.parameters(), "lr": 0.1}], amsgrad=True)
    o.load_state_dict(got["optimizer"])
    print("alike")


if __name__ == "__main__" and len(sys.argv) > 1:
    check(sys.argv[1])
elif __name__ == "__main__":
    torch.save(checkpoint(), os.path.join(HERE, "nested.pt"))
    z = torch.tensor([1 + 2j, 3 - 1j])
    torch.save({"w": torch.ones(2)}, os.path.join(HERE, "legacy.pt"), _use_new_zipfile_serialization=False)
    torch.save(z.conj(), os.path.join(HERE, "conj.pt"))
    torch.save(z.conj().imag, os.path.join(HERE, "neg.pt"))
