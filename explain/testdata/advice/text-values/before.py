import torch

vocabulary = {"<unk>": 0, "anna": 1, "met": 2, "peter": 3}
table = torch.arange(8.0).reshape(4, 2)

@torch.compile(backend="eager")
def embed(text):
    ids = torch.tensor([vocabulary.get(w, 0) for w in text.split()])
    return table[ids].mean(0)

for text in ("anna met peter", "peter met anna", "peter peter met", "met bob anna", "anna and peter"):
    print(embed(text))
