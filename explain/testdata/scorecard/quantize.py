# Fake quantisation with a scale from the data, per tensor.
# fix 1: item
# fix 1: after-break
# fix 2: branch-on-tensor
import torch, torch.nn as nn
torch.manual_seed(0)

class FakeQuant(nn.Module):
    def __init__(s):
        super().__init__(); s.register_buffer("peak", torch.zeros(()))
    def forward(s, x):
        top = x.abs().max()
        if top > s.peak: #-2
            s.peak.copy_(top) #-2
        s.peak.copy_(torch.where(top > s.peak, top, s.peak)) #+2
        scale = s.peak.item() / 127 #-1
        scale = s.peak / 127 #+1
        return (x / scale).round().clamp(-128, 127) * scale

f = torch.compile(FakeQuant(), backend="eager")
# again
print(f(torch.tensor([0.5, -2.0, 1.0])), f(torch.tensor([0.5, -4.0, 1.0])))
