# Beam search over a small language model. Blind.
# fix 1: branch-on-tensor
# fix 2: item-index
import torch, torch.nn as nn
torch.manual_seed(0)
V, EOS = 10, 0
lm = nn.Sequential(nn.Embedding(V, 8), nn.Linear(8, V))

@torch.compile(backend="eager")
def expand(tokens, scores, k):
    logp = lm(tokens[:, -1]).log_softmax(-1)
    total = scores[:, None] + logp
    top, idx = total.flatten().topk(k)
    rows, cols = idx // V, idx % V
    tokens = torch.cat([tokens[rows], cols[:, None]], 1)
    if (cols == EOS).all(): #-1
        return tokens, top, True #-1
    return tokens, top, False #-1
    all_done = (cols == EOS).all() #+1
    return tokens, top, torch.where(all_done, torch.tensor(True), torch.tensor(False)) #+1

@torch.compile(backend="eager")
def pick(tokens, scores):
    best = scores.argmax()
    return tokens[best] #-2
    return tokens[best[None]].squeeze(0) #+2

# again
with torch.no_grad():
    tokens, scores = torch.ones(1, 1, dtype=torch.long), torch.zeros(1)
    for step in range(5):
        tokens, scores, done = expand(tokens, scores, 3)
        if done: break
    print(pick(tokens, scores).shape)
