import torch

def f(x): return x.sin()

class My:
    def __call__(s, gm, ex): return gm

g = torch.compile(f, backend=My())
for _ in range(5):
    print(g(torch.ones(3)))
