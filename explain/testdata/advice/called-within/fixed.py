import torch, torch.nn as nn
torch.manual_seed(0)
stats = []

def collect(mod, args, out):
    stats.append(out.mean())

m = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
m[0].register_forward_hook(collect)
m[2].register_forward_hook(collect)
f = torch.compile(m, backend="eager")
with torch.no_grad():
    print(f(torch.ones(2, 4)), ["%.4f" % s for s in stats])
