# Blind, second set: CLIP-like training with a learned temperature, a gather over ranks and a queue of negatives.
# fix 1: check-on-tensor
# fix 2: item
# fix 3: module-counter
import os, torch, torch.nn as nn, torch.nn.functional as F
import torch.distributed as dist
torch.manual_seed(0)

def gather(x):
    if dist.is_available() and dist.is_initialized():
        out = [torch.empty_like(x) for _ in range(dist.get_world_size())]
        dist.all_gather(out, x)
        return torch.cat(out)
    return x

class Clip(nn.Module):
    def __init__(self, d=8, queue=16):
        super().__init__()
        self.image, self.text = nn.Linear(12, d), nn.Linear(6, d)
        self.scale = nn.Parameter(torch.tensor(2.0))
        self.register_buffer("queue", F.normalize(torch.ones(queue, d), dim=1))
        self.ptr = 0
    def forward(self, image, text):
        i = F.normalize(self.image(image), dim=-1)
        t = F.normalize(self.text(text), dim=-1)
        i, t = gather(i), gather(t)
        n = i.shape[0]
        with torch.no_grad():
            self.queue[self.ptr:self.ptr + n] = t
            self.ptr = (self.ptr + n) % self.queue.shape[0]
        logits = self.scale.exp().clamp(max=100) * i @ torch.cat([t, self.queue]).T
        label = torch.arange(n)
        loss = F.cross_entropy(logits, label)
        acc = (logits.argmax(1) == label).float().mean()
        if not torch.isfinite(loss): #-1
            raise ValueError("loss is not finite") #-1
        return loss, {"acc": acc, "temp": self.scale} #+2
        return loss, {"acc": acc.item(), "temp": float(self.scale)} #-2

torch._dynamo.config.allow_unspec_int_on_nn_module = True #+3
m = Clip(); f = torch.compile(m, backend="eager")
# again
for step in range(4):
    loss, info = f(torch.ones(4, 12), torch.ones(4, 6))
    if not torch.isfinite(loss): raise ValueError('loss is not finite') #+1
    loss.backward() #+1
    loss.backward() #-1
print("%.4f" % loss, sorted(info))
