# An inference server: two models, requests of varying batch, some on a list of images. Blind.
# fix 1: size-every-call
# fix 2: module-counter
import torch, torch.nn as nn, time
torch.manual_seed(0)

class Encoder(nn.Module):
    def __init__(self): super().__init__(); self.c = nn.Conv2d(1, 2, 3, padding=1); self.served = 0
    def forward(self, imgs):
        self.served += 1 #-2
        x = torch.stack([self.c(i) for i in imgs]) if isinstance(imgs, list) else self.c(imgs)
        return x.mean((-1, -2))

class Ranker(nn.Module):
    def __init__(self): super().__init__(); self.l = nn.Linear(2, 1)
    def forward(self, f, top=None):
        s = self.l(f).squeeze(-1)
        if top is not None:
            s = s.topk(min(top, s.shape[0])).values
        return s.softmax(0)

enc, rank = torch.compile(Encoder(), backend="eager"), torch.compile(Ranker(), backend="eager")
lat = []
# again
with torch.inference_mode():
    for n, top in ((2, None), (3, 2), (5, 2), (4, 3), (1, None)):
        t = time.time()
        x = torch.ones(n, 1, 8, 8)
        torch._dynamo.maybe_mark_dynamic(x, 0) #+1
        enc.served += 1 #+2
        f = enc(x)
        torch._dynamo.maybe_mark_dynamic(f, 0) #+1
        p = rank(f, top)
        lat.append(time.time() - t)
        print(n, p.shape)
    print(enc([torch.ones(1, 8, 8) for _ in range(2)]).shape)
