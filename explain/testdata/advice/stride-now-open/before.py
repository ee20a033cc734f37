import os, torch

class Layer:
    def __init__(self, keys):
        self.keys = keys

class Cache:
    def __init__(self, keys):
        self.layers = [Layer(keys)]

@torch.compile(backend="eager")
def total(q, cache):
    return (q * cache.layers[0].keys).sum()

for _ in range(int(os.environ.get("ROUNDS", "1"))):
    for width in (3, 5, 7, 9):
        print(total(torch.ones(2, 3), Cache(torch.ones(2, width)[:, :3])))
