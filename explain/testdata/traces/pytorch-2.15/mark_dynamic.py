# dynamic=True; a size made a constant by the code; mark_dynamic that is then specialised
import torch
@torch.compile(dynamic=True, backend="aot_eager")
def f(x):
    return x.view(x.shape[0] * x.shape[1]).sin()
@torch.compile(backend="aot_eager")
def g(x):
    if x.shape[0] == 6:
        return x * 2
    return x + 1
@torch.compile(backend="aot_eager")
def h(x, w):
    return x + w
for n in (3, 4, 5): f(torch.randn(n, 2))
x = torch.randn(6, 2); torch._dynamo.mark_dynamic(x, 0); 
try: print(g(x).shape)
except Exception as e: print(type(e).__name__)
g(torch.randn(7, 2))
y = torch.randn(5, 2); torch._dynamo.mark_dynamic(y, 0)
try: print(h(y, torch.randn(5, 2)).shape)
except Exception as e: print(type(e).__name__)
