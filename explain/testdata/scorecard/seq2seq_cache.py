# A decoder with a key-value cache that is concatenated, and greedy decoding with eos.
# fix 1: item-branch
import os, torch, torch.nn as nn
torch.manual_seed(0)

class Decoder(nn.Module):
    def __init__(s):
        super().__init__(); s.emb = nn.Embedding(10, 8); s.k = nn.Linear(8, 8); s.out = nn.Linear(8, 10)
    def forward(s, tok, cache):
        h = s.emb(tok)
        k = torch.cat([cache, s.k(h)], 1) if cache is not None else s.k(h)
        att = (h @ k.transpose(1, 2)).softmax(-1) @ k
        return s.out(att[:, -1]), k

dec = Decoder()

@torch.compile(backend="eager")
def step(tok, cache, done):
    logits, cache = dec(tok, cache)
    nxt = logits.argmax(-1, keepdim=True)
    if nxt.item() == 2: done = done | True #-1
    done = torch.where(nxt == 2, torch.ones_like(done), done) #+1
    return nxt, cache, done

with torch.no_grad():
    for r in range(int(os.environ.get("ROUNDS", "1"))):
        tok, cache, done = torch.tensor([[1]]), None, torch.zeros(1, 1, dtype=torch.bool)
        for _ in range(6): tok, cache, done = step(tok, cache, done)
        if r == 0: print(tok, cache.shape, done)
