import tempfile

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

with tempfile.NamedTemporaryFile() as store:
    dist.init_process_group("gloo", init_method=f"file://{store.name}", rank=0, world_size=1)
    torch.manual_seed(0)
    model = torch.nn.Sequential(*[torch.nn.Linear(64, 64) for _ in range(3)])
    step = torch.compile(DDP(model, bucket_cap_mb=1))
    loss = step(torch.randn(4, 64)).sum()
    loss.backward()
    print(f"{loss.item():.4f}")
    dist.destroy_process_group()
