import os, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29611")
dist.init_process_group("gloo", rank=0, world_size=1)
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Linear(8, 8))
f = DDP(torch.compile(model, backend="aot_eager"))
f(torch.ones(4, 8)).sum().backward()
print(model[0].weight.grad.sum())
dist.destroy_process_group()
