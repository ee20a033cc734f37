import torch, torch.nn as nn
torch.manual_seed(0)
features, stats = {}, {}

def hook_for(name):
    def hook(module, args, out):
        features[name] = out
        stats[name] = out.std()
    return hook

m = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4))
for name, child in m.named_children():
    child.register_forward_hook(hook_for(name))
f = torch.compile(m, backend="eager")
with torch.no_grad():
    print(f(torch.ones(2, 4)), list(features), {k: "%.4f" % s for k, s in stats.items()})
