# Blind: metrics computed with NumPy on the model's outputs.
# fix 1: number-of-array
# fix 2: size
# fix 1: called-within
import numpy as np, torch
torch.manual_seed(0)

class Metrics:
    def __init__(self): self.correct = 0; self.seen = 0
    def update(self, pred, y):
        p = pred.argmax(-1).numpy()
        self.correct += int((p == y.numpy()).sum())
        self.seen += len(p)

mt = Metrics()
w = torch.randn(6, 3)

@torch.compile(backend="eager")
def step(x, y):
    logits = x @ w
    mt.update(logits, y) #-1
    return logits

@torch.compile(backend="eager")
def percentiles(x):
    return np.percentile(x.numpy(), [25, 75])

# again
for n in (4, 5, 6):
    x, y = torch.randn(n, 6), torch.randint(0, 3, (n,))
    torch._dynamo.maybe_mark_dynamic(x, 0); torch._dynamo.maybe_mark_dynamic(y, 0) #+2
    mt.update(step(x, y), y) #+1
    step(x, y) #-1
print(mt.seen, percentiles(torch.arange(8.)))
