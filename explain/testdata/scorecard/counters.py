# Global counters and modules that count their calls.
# fix 1: module-counter
import os, torch
STEP = 0

class Net(torch.nn.Module):
    def __init__(s):
        super().__init__(); s.calls = 0
    def forward(s, x):
        s.calls += 1 #-1
        return x.sin()

@torch.compile(backend="eager")
def warm(x):
    if STEP > 2: return x * 0.5
    return x * STEP

m = Net(); f = torch.compile(m, backend="eager")
# again
for STEP in range(6):
    f(torch.ones(2))
    m.calls += 1 #+1
    print(warm(torch.ones(2)))
print(m.calls)
