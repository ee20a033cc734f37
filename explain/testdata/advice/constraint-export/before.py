import torch
from torch.export import Dim, export

class M(torch.nn.Module):
    def forward(s, x): return x.view(4, 2) + torch.ones(4, 1)

ep = export(M(), (torch.ones(4, 2),), dynamic_shapes={"x": {0: Dim("batch")}}, strict=True)
print(ep.module()(torch.ones(4, 2)))
