# A DataLoader whose last batch is smaller, targets and weights beside it.
# fix 1: size
import os, torch, torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
data = TensorDataset(torch.arange(80.0).reshape(20, 4) / 80, torch.arange(20) % 3)
m = nn.Linear(4, 3)

@torch.compile(backend="eager")
def loss_of(x, y, weight):
    return (nn.functional.cross_entropy(m(x), y, reduction="none") * weight).mean()

for epoch in range(2 * int(os.environ.get("ROUNDS", "1"))):
    for i, (x, y) in enumerate(DataLoader(data, batch_size=8)):
        w = torch.ones(len(x))
        if epoch == 0 and i == 0: #+1
            for t in (x, y, w): torch._dynamo.maybe_mark_dynamic(t, 0) #+1
        print("%.4f" % loss_of(x, y, w))
