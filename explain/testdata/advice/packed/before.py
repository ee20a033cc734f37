import torch, torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

torch.manual_seed(0)
rnn, head = nn.GRU(4, 8, batch_first=True), nn.Linear(8, 2)

@torch.compile(backend="eager")
def f(x, lengths):
    p = pack_padded_sequence(x.tanh(), lengths, batch_first=True)
    out, _ = rnn(p)
    y, _ = pad_packed_sequence(out, batch_first=True)
    return head(y).relu()

with torch.no_grad():
    for _ in range(2): print("%.4f" % f(torch.ones(2, 5, 4), torch.tensor([5, 3])).sum())
