# torch.export with a dynamic batch, then AOTInductor
import torch, os, tempfile
from torch.export import export, Dim
class M(torch.nn.Module):
    def __init__(s):
        super().__init__(); s.l = torch.nn.Linear(8, 4)
    def forward(s, x):
        return torch.relu(s.l(x)).softmax(-1)
m = M().eval()
ep = export(m, (torch.randn(3, 8),), dynamic_shapes={"x": {0: Dim("b", min=2, max=64)}})
d = tempfile.mkdtemp()
p = torch._inductor.aoti_compile_and_package(ep, package_path=os.path.join(d, "m.pt2"))
r = torch._inductor.aoti_load_package(p)
print(r(torch.randn(5, 8)).shape)
class Bad(torch.nn.Module):
    def forward(s, x):
        if x.sum() > 0:
            return x + 1
        return x - 1
try:
    export(Bad(), (torch.randn(3),), strict=True)
except Exception as e:
    print("strict failed:", type(e).__name__)
try:
    export(Bad(), (torch.randn(3),))
except Exception as e:
    print("failed:", type(e).__name__)
