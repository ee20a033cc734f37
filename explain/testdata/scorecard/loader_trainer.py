# A trainer with a loader, a counter and a check for nan.
# fix 1: check-on-tensor
# fix 1: after-break
# fix 2: module-counter
# fix 3: size-every-call
import torch, torch.nn as nn, time
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
torch._dynamo.config.allow_unspec_int_on_nn_module = True #+2
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Linear(10, 16); self.drop = nn.Dropout(0.1); self.out = nn.Linear(16, 2); self.calls = 0
    def forward(self, x):
        self.calls += 1
        h = self.drop(self.emb(x).relu())
        if torch.isnan(h).any(): #-1
            raise ValueError("nan") #-1
        return self.out(h)
net = Net(); model = torch.compile(net, backend="aot_eager")
opt = torch.optim.SGD(net.parameters(), lr=0.1)
dl = DataLoader(TensorDataset(torch.randn(50, 10), torch.randint(0, 2, (50,))), batch_size=16)
# again
for epoch in range(2):
    t0 = time.time()
    for x, y in dl:
        torch._dynamo.maybe_mark_dynamic(x, 0) #+3
        loss = nn.functional.cross_entropy(model(x), y) #+3
        loss = nn.functional.cross_entropy(model(x), y) #-3
        opt.zero_grad(); loss.backward(); opt.step()
print(net.calls, round(loss.item(), 4))
