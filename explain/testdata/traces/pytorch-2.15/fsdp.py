import torch
import torch.distributed as dist
import torch.nn as nn
from torch.distributed.fsdp import fully_shard

dist.init_process_group("gloo")
torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(32, 64)
        self.b = nn.Linear(64, 8)

    def forward(self, x):
        return self.b(self.a(x).relu())


net = Net()
fully_shard(net.a)
fully_shard(net)
model = torch.compile(net)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for n in (4, 4):
    loss = model(torch.randn(n, 32)).square().mean()
    loss.backward()
    opt.step()
print("rank", dist.get_rank(), "done", flush=True)
dist.destroy_process_group()
