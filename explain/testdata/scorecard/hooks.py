# Forward hooks that collect statistics and print.
# fix 1: print
# fix 2: item-kept
# fix 3: library-frame
import torch, torch.nn as nn
torch.manual_seed(0)
stats = {}

def collect(mod, args, out):
    stats["mean"] = out.mean().item() #-2 #-3
    stats["mean"] = out.mean() #+2 #+3

def show(mod, args, out):
    print("shape", tuple(out.shape)) #-1 #-3
    pass #+1 #+3

m = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
m[0].register_forward_hook(collect)
m[2].register_forward_hook(show)
f = torch.compile(m, backend="eager")
# again
with torch.no_grad():
    y = f(torch.ones(2, 4))
    print("shape", tuple(y.shape)) #+1 #+3
    print(y, "%.4f" % float(stats["mean"]))
