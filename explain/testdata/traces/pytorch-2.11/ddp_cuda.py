import os, torch, torch.nn as nn, torch.nn.functional as F, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
dist.init_process_group("nccl"); r=dist.get_rank(); torch.cuda.set_device(r); dev=f"cuda:{r}"
torch.manual_seed(0)
class Net(nn.Module):
    def __init__(s):
        super().__init__(); s.emb=nn.Embedding(1000,128); s.rnn=nn.Sequential(nn.Linear(128,256),nn.ReLU(),nn.Linear(256,128)); s.out=nn.Linear(128,1000)
    def forward(s,x,rank):
        h=s.rnn(s.emb(x))
        if rank==1: print("rank 1 looks", h.shape)
        return s.out(h)
m=DDP(Net().to(dev),device_ids=[r]); c=torch.compile(m); o=torch.optim.AdamW(m.parameters())
for i,b in enumerate((8,8,8+4*r,8)):
    x=torch.randint(0,1000,(b,32),device=dev); l=F.cross_entropy(c(x,r).view(-1,1000),x.view(-1)); l.backward(); o.step(); o.zero_grad()
    print(r,i,l.item(),flush=True)
@torch.compile
def reduce(x): y=x*2; dist.all_reduce(y); return y.sum()
reduce(torch.ones(8,device=dev)); dist.destroy_process_group()
