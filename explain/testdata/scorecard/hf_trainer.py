# A trainer loop: a model with a config, a batch as a dict, a meter, logging, clipping.
# fix 1: item-kept
# fix 2: logger
# fix 3: size
# fix 1: after-break
import logging, os, torch
import torch.nn as nn
log = logging.getLogger("train")
torch.manual_seed(0)

class Meter:
    def __init__(self): self.total = 0.0
    def update(self, v): self.total = self.total + v

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb, self.head = nn.Embedding(50, 8), nn.Linear(8, 3)
    def forward(self, input_ids, attention_mask, labels):
        h = self.emb(input_ids) * attention_mask[..., None]
        logits = self.head(h.sum(1) / attention_mask.sum(1, keepdim=True))
        return nn.functional.cross_entropy(logits, labels)

model, meter = Model(), Meter()
opt = torch.optim.SGD(model.parameters(), lr=0.1)

@torch.compile(backend="eager")
def train_step(batch):
    loss = model(**batch)
    meter.update(loss.item()) #-1
    meter.update(loss.detach()) #+1
    log.info("loss computed") #-2
    return loss

for i in range(4 * int(os.environ.get("ROUNDS", "1"))):
    n = 6 + 2 * (i % 4)
    batch = dict(input_ids=torch.arange(4 * n).reshape(4, n) % 50, attention_mask=torch.ones(4, n), labels=torch.tensor([0, 1, 2, 0]))
    if i == 0: #+3
        torch._dynamo.maybe_mark_dynamic(batch["input_ids"], 1) #+3
        torch._dynamo.maybe_mark_dynamic(batch["attention_mask"], 1) #+3
    opt.zero_grad()
    loss = train_step(batch)
    log.info("loss computed") #+2
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
print("%.3f" % float(meter.total))
