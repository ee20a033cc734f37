import torch

class Grid:
    def __init__(self):
        self.cache = {}

    def points(self, n):
        if n not in self.cache:
            self.cache[n] = torch.arange(n) * 2.0
        return self.cache[n]

grid = Grid()

@torch.compile(backend="eager")
def f(x, points):
    return x + points

for n in (3, 5, 3, 5):
    print(f(torch.ones(n), grid.points(n)))
