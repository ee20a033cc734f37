import math, torch, torch.nn.functional as F

class S: p = 0.1

@torch.compile(backend="eager")
def f(x, s):
    return F.dropout(x * 2, s.p) + 1

s = S()

for p in (0.1, 0.2, 0.3, 0.4, 0.5):
    s.p = p
    print(f(torch.ones(3), s).shape)

@torch.compile(backend="eager")
def gain(x, db):
    return x * math.pow(10.0, db / 20) + 1

for db in (-3.0, -2.0, -1.0, 1.0, 2.0):
    print(gain(torch.ones(3), db))
