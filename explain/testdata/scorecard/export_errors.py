# Exports of what cannot be exported.
# fix 1: branch-on-tensor
import os
import torch
from torch.export import export, Dim
torch.manual_seed(0)
class M(torch.nn.Module):
    def __init__(s): super().__init__(); s.l = torch.nn.Linear(4, 4)
    def forward(s, x):
        if x.shape[0] > 4: return s.l(x)
        return s.l(x) * 2
class D(torch.nn.Module):
    def forward(s, x):
        return torch.where(x.sum() > 0, x + 1, x) #+1
        if x.sum() > 0: return x + 1 #-1
        return x #-1
class N(torch.nn.Module):
    def forward(s, x):
        n = x.sum().int().item()
        return torch.zeros(n) 
class C(torch.nn.Module):
    def forward(s, x, y): return x + y
def t(n, f):
    print("==", n)
    try: f()
    except Exception: pass
# again
t("ok", lambda: export(M(), (torch.randn(8, 4),)))
t("constraint", lambda: export(M(), (torch.randn(8, 4),), dynamic_shapes={"x": {0: Dim("b", min=1, max=64)}}))
t("branch", lambda: export(D(), (torch.randn(3),)))
t("branch_strict", lambda: export(D(), (torch.randn(3),), strict=True))
t("unbacked", lambda: export(N(), (torch.ones(3),)))
t("equal", lambda: export(C(), (torch.randn(4), torch.randn(4)), dynamic_shapes={"x": {0: Dim("a")}, "y": {0: Dim("b")}}))
ep = export(M(), (torch.randn(8, 4),))

