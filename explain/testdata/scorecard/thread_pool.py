# One compiled function called by four threads.
# fix 1: branch-on-tensor
# fix 1: after-break
# fix 2: raced
import os
import torch, threading
from concurrent.futures import ThreadPoolExecutor
torch.manual_seed(0)
def work(x, n):
    y = (x * n).sin()
    y = torch.where(y.mean() > 0, y + 1, y) #+1
    if y.mean() > 0: y = y + 1 #-1
    return y.sum()
f = torch.compile(work, backend="eager")
f(torch.ones(8), 0); f(torch.ones(9), 1); f(torch.ones(10), 2); f(torch.ones(10), 3); f(-torch.ones(10), 3) #+2
def job(i): return f(torch.arange(8. + i), i).item()
for _ in range(int(os.environ.get('ROUNDS', '1'))):
 with ThreadPoolExecutor(4) as ex: print(list(ex.map(job, range(8))))
