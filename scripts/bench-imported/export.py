"""Exports models of torchvision and transformers: python export.py FOLDER NAME...

Writes NAME.pt2 and NAME.pt, a list of arguments and result, and prints a line for each that could not be exported.
"""

import sys
import warnings

import torch
from zoo import MODELS, fill

warnings.filterwarnings("ignore")


def made(name):
    """The model with its weights, in evaluation, and its input."""
    build, inputs = MODELS[name]
    torch.manual_seed(0)
    model = build().eval()
    fill(model)
    return model, inputs()


@torch.no_grad()
def write(folder, name):
    model, x = made(name)
    torch.export.save(torch.export.export(model, (x,)), f"{folder}/{name}.pt2")
    torch.save([x, model(x)], f"{folder}/{name}.pt")


if __name__ == "__main__":
    for name in sys.argv[2:]:
        try:
            write(sys.argv[1], name)
        except Exception as e:
            print(f"{name}: PyTorch does not export it: {type(e).__name__}: {str(e).splitlines()[0][:200]}", flush=True)
