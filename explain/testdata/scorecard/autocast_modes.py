# Autocast, training and evaluation, gradients on and off, inference mode.
# fix 1: dispatch-keys
import os, torch, torch.nn as nn
torch.manual_seed(0)

class Net(nn.Module):
    def __init__(s):
        super().__init__(); s.l = nn.Linear(4, 4); s.d = nn.Dropout(0.0)
    def forward(s, x): return s.d(s.l(x))

m = Net(); f = torch.compile(m, backend="eager")
x = torch.ones(2, 4)
for _ in range(int(os.environ.get("ROUNDS", "1"))):
    m.train(); f(x).sum().backward()
    m.eval()
    with torch.no_grad(): print(f(x).shape)
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16): print(f(x).dtype)
    with torch.inference_mode(): print(f(x).shape) #-1
    with torch.no_grad(): print(f(x).shape) #+1
