# A sweep that compiles anew for each setting.
# fix 1: compile-in-loop
import torch

class Backend:
    def __call__(self, gm, inputs): return gm.forward

def f(x): return x.sin()
g = torch.compile(f, backend=Backend()) #+1
# again
for i in range(4):
    g = torch.compile(f, backend=Backend()) #-1
    print(g(torch.ones(2)))
