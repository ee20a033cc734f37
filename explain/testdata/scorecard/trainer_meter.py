# A BERT trainer with a meter, a global step and a logger.
# fix 1: item-kept
# fix 2: logger
# fix 3: size
# fix 1: after-break
# fix 4: number-global
import os
import torch, logging, torch._dynamo
from dataclasses import dataclass
from transformers import BertConfig, BertForSequenceClassification
log = logging.getLogger("train")
logging.basicConfig(level=logging.INFO)
torch.manual_seed(0)

class Meter:
    def __init__(self): self.n = 0; self.total = 0.0
    def update(self, v): self.n += 1; self.total += v
    @property
    def avg(self): return self.total / max(self.n, 1)

cfg = BertConfig(vocab_size=100, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64, max_position_embeddings=64, num_labels=3, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
model = BertForSequenceClassification(cfg)
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
meter = Meter()
step_no = 0

@torch.compile(backend="eager")
def train_step(batch, step_no): #+4
def train_step(batch): #-4
    global step_no #-4
    out = model(**batch)
    loss = out.loss
    meter.update(loss.item()) #-1
    if step_no % 2 == 0: #-2
        log.info("step %d loss %.3f", step_no, meter.avg) #-2
    step_no += 1 #-4
    return loss

# again
for n in (12, 17, 23, 31):
    batch = dict(input_ids=torch.randint(0, 100, (4, n)), attention_mask=torch.ones(4, n, dtype=torch.long), labels=torch.randint(0, 3, (4,)))
    if step_no % 2 == 0: log.info("step %d loss %.3f", step_no, meter.avg) #+2
    opt.zero_grad() #+2
    opt.zero_grad() #-2
    torch._dynamo.maybe_mark_dynamic(batch['input_ids'], 1); torch._dynamo.maybe_mark_dynamic(batch['attention_mask'], 1) #+3
    loss = train_step(batch) #+3
    loss = train_step(batch, step_no); step_no += 1 #+4
    loss = train_step(batch) #-3 #-4
    meter.update(loss.item()) #+1
    loss.backward() #+1
    loss.backward() #-1
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
print("done", meter.avg)
