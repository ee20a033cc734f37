import torch

def f(x): return x.sin()

class My:
    def __call__(s, gm, ex): return gm

for _ in range(5):
    g = torch.compile(f, backend=My())
    print(g(torch.ones(3)))
