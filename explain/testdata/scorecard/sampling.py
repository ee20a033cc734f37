# Sampling with a temperature and top-k.
# fix 1: size
import torch, torch.nn as nn
torch.manual_seed(0)
class Tiny(nn.Module):
    def __init__(self):
        super().__init__(); self.e = nn.Embedding(50, 16); self.l = nn.Linear(16, 50)
    def forward(self, ids, temperature=1.0, top_k=None):
        h = self.e(ids).cumsum(1)
        logits = self.l(h)[:, -1] / temperature
        if top_k is not None:
            v, _ = logits.topk(top_k)
            logits[logits < v[:, [-1]]] = -float("inf")
        return logits
m = Tiny().eval(); f = torch.compile(m, backend="eager")
ids = torch.randint(0, 50, (1, 4))
# again
with torch.no_grad():
    for i in range(6):
        torch._dynamo.maybe_mark_dynamic(ids, 1) #+1
        lg = f(ids, temperature=0.5 + 0.1 * i, top_k=5 if i > 2 else None)
        nxt = lg.argmax(-1, keepdim=True)
        ids = torch.cat([ids, nxt], 1)
print(ids.tolist())
