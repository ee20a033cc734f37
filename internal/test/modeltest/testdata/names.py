"""Writes names.json: the public names of torch.nn, torch.optim and torch.utils.data.

    python names.py names.json
"""

import inspect
import json
import sys

import torch
import torch.nn.utils.parametrizations
import torch.nn.utils.prune
from torch import nn
from torch.nn.utils import parametrize
from torch.utils import data

INTERNAL = {"assert_int_or_pair", "boolean_dispatch", "type_before_parametrizations", "transfer_parametrizations_and_params", "has_torch_function", "has_torch_function_unary", "has_torch_function_variadic"}


def names(module, classes=True, functions=True):
    out = []
    for name, v in vars(module).items():
        home = getattr(v, "__module__", None) or module.__name__
        if name.startswith("_") or name in INTERNAL or not home.startswith("torch") or home == "torch.overrides":
            continue
        if inspect.isclass(v) and classes or functions and not inspect.isclass(v) and callable(v):
            out.append(name)
    return sorted(out)


def own(module, **k):
    return [n for n in names(module, **k) if getattr(vars(module)[n], "__module__", "").startswith(module.__name__)]


TABLE = {
    "nn": names(nn, functions=False),
    "functional": names(nn.functional, classes=False),
    "init": [n for n in names(nn.init, classes=False) if n.endswith("_") or n == "calculate_gain"],
    "optim": names(torch.optim, functions=False),
    "lr_scheduler": own(torch.optim.lr_scheduler, functions=False),
    "utils": names(nn.utils, classes=False),
    "rnn": [n for n in own(nn.utils.rnn) if n not in ("PackedSequence_", "bind", "invert_permutation")],
    "parametrizations": own(nn.utils.parametrizations, classes=False),
    "parametrize": own(parametrize),
    "prune": own(nn.utils.prune),
    "data": names(data),
}

if __name__ == "__main__":
    with open(sys.argv[1], "w") as f:
        json.dump({"torch": torch.__version__.split("+")[0], "names": TABLE}, f, indent=0)
        f.write("\n")
    print({k: len(v) for k, v in TABLE.items()})
