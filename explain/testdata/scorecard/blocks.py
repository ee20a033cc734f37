# Regional compilation of blocks of several widths, and a shared activation.
import os, torch, torch.nn as nn
torch.manual_seed(0)

class Block(nn.Module):
    def __init__(s, d, act):
        super().__init__(); s.l1, s.act = nn.Linear(d, d), act
    def forward(s, x): return x + s.act(s.l1(x))

blocks = [Block(8, torch.relu), Block(8, torch.tanh), Block(16, torch.relu)]
for b in blocks: b.compile(backend="eager")
with torch.no_grad():
    for _ in range(int(os.environ.get("ROUNDS", "1"))):
        for b in blocks: print("%.3f" % b(torch.ones(2, b.l1.in_features)).sum())
