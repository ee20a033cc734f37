# Blind: a text classifier with packed sequences.
# fix 1: packed
# fix 2: size
# fix 1: after-break
import torch, torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
torch.manual_seed(0)

class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(30, 8)
        self.rnn = nn.GRU(8, 12, batch_first=True)
        self.out = nn.Linear(12, 4)
    def forward(self, ids, lengths):
        x = self.emb(ids)
        return x #+1
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False) #-1
        h, last = self.rnn(packed) #-1
        h, _ = pad_packed_sequence(h, batch_first=True) #-1
        return self.out(h), last[0] #-1

net = Tagger(); m = torch.compile(net, backend="eager") #+1
m = torch.compile(Tagger(), backend="eager") #-1
# again
with torch.no_grad():
    for ls in ([5, 3], [6, 2]):
        ids = torch.randint(0, 30, (2, max(ls)))
        torch._dynamo.maybe_mark_dynamic(ids, 1) #+2
        h, last = net.rnn(pack_padded_sequence(m(ids, None), torch.tensor(ls), batch_first=True, enforce_sorted=False)) #+1
        y, last = net.out(pad_packed_sequence(h, batch_first=True)[0]), last[0] #+1
        y, last = m(ids, torch.tensor(ls)) #-1
        print(y.shape, last.shape)
