# Blind, second set: text classification with variable lengths, a padding mask, early exit and a label map.
# fix 1: branch-on-tensor
# fix 2: break-in-loop
# fix 3: size
# fix 3: size-every-call
import os, torch, torch.nn as nn
torch.manual_seed(0)
LABELS = {"neg": 0, "pos": 1}

class Encoder(nn.Module):
    def __init__(self, d=16, layers=2):
        super().__init__()
        self.emb = nn.Embedding(40, d, padding_idx=0)
        self.layers = nn.ModuleList(nn.TransformerEncoderLayer(d, 2, 32, 0.0, batch_first=True) for _ in range(layers))
        self.exits = nn.ModuleList(nn.Linear(d, 2) for _ in range(layers))
        self.exited = [0] * layers
    def forward(self, ids, label=None):
        mask = ids == 0
        x = self.emb(ids)
        done, best = torch.tensor(False), None #+1 #+2
        for i, (l, e) in enumerate(zip(self.layers, self.exits)): #+1 #+2
            x = l(x, src_key_padding_mask=mask) #+1 #+2
            logits = e(x.masked_fill(mask[..., None], 0).sum(1) / (~mask).sum(1, keepdim=True)) #+1 #+2
            best = logits if best is None else torch.where(done, best, logits) #+1 #+2
            done = done | (logits.softmax(-1).max() > 0.99) #+1 #+2
        logits = best #+1 #+2
        for i, (l, e) in enumerate(zip(self.layers, self.exits)): #-1 #-2
            x = l(x, src_key_padding_mask=mask) #-1 #-2
            logits = e(x.masked_fill(mask[..., None], 0).sum(1) / (~mask).sum(1, keepdim=True)) #-1 #-2
            conf = logits.softmax(-1).max() #-1 #-2
            if conf > 0.99 and not self.training: #-1 #-2
                self.exited[i] += 1 #-1 #-2
                break #-1 #-2
        if label is not None:
            return nn.functional.cross_entropy(logits, torch.tensor([LABELS[l] for l in label]))
        return logits

net = Encoder(); f = torch.compile(net, backend="eager")
# again
for n, labels in ((5, ["neg", "pos"]), (7, ["pos", "pos"]), (6, None)):
    ids = torch.randint(1, 40, (2, n)); ids[1, 3:] = 0
    torch._dynamo.maybe_mark_dynamic(ids, 1) #+3
    f(ids, labels)
net.eval()
with torch.no_grad(): f(ids)
print(net.exited)
