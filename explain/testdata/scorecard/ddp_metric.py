# Training under DistributedDataParallel with small buckets, and a metric that prints on a rank.
# fix 1: small-buckets
# fix 2: wrapped-model
# fix 3: print
import tempfile, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
with tempfile.NamedTemporaryFile() as store:
    dist.init_process_group("gloo", init_method=f"file://{store.name}", rank=0, world_size=1)
    rank = dist.get_rank()
    torch.manual_seed(0)
    m = torch.nn.Sequential(*[torch.nn.Linear(32, 32) for _ in range(4)])
    d = torch.compile(DDP(m, bucket_cap_mb=0.5), backend="eager") #-1 #-2
    d = torch.compile(DDP(m, bucket_cap_mb=1), backend="eager") #+1
    d = DDP(torch.compile(m, backend="eager"), bucket_cap_mb=0.5) #+2
    for i in range(2):
        loss = d(torch.randn(4, 32)).sum()
        loss.backward()

    @torch.compile(backend="eager")
    def metric(x):
        s = x.sum()
        if rank == 0: print("rank", s.shape) #-3
        return s / 2
    y = metric(torch.ones(3))
    if rank == 0: print("rank", torch.Size([])) #+3
    print(y)
    dist.destroy_process_group()
