# Tokenizer-like string work before an embedding. Blind.
import torch, torch.nn as nn, re
torch.manual_seed(0)
vocab = {"<unk>": 0, "a": 1, "cat": 2, "sat": 3, "mat": 4}
emb = nn.Embedding(5, 6)

@torch.compile(backend="eager")
def encode(text):
    words = re.findall(r"\w+", text.lower())
    ids = torch.tensor([vocab.get(w, 0) for w in words])
    return emb(ids).mean(0)

@torch.compile(backend="eager")
def describe(v):
    s = f"norm {v.norm():.2f}"
    return v * 2, s

# again
with torch.no_grad():
    for t in ("A cat sat", "The mat", "a cat on a mat"):
        v, s = describe(encode(t))
        print(v.shape, len(s) > 0)
