# Blind, second set: a detector with dataclass inputs, a list of images and post-processing by score.
# fix 1: mask-select
# fix 2: break-in-loop
# fix 1: no-entry
import os, dataclasses, torch, torch.nn as nn
from typing import Optional
torch.manual_seed(0)

@dataclasses.dataclass
class Sample:
    image: torch.Tensor
    boxes: Optional[torch.Tensor] = None
    label: str = "train"
    weight: float = 1.0

class Detector(nn.Module):
    def __init__(self):
        super().__init__(); self.conv = nn.Conv2d(3, 4, 3, padding=1); self.head = nn.Linear(4, 5)
    def features(self, image):
        return self.conv(image[None]).mean((2, 3))
    def forward(self, samples, thresh=0.1):
        out = []
        for s in samples:
            p = self.head(self.features(s.image))[0]
            if s.label == "train":
                loss = p.sum() * s.weight
                if s.boxes is not None:
                    loss = loss + (s.boxes - p[:4]).abs().sum()
                out.append(loss)
            else:
                scores = p.sigmoid()
                keep = scores > thresh
                out.append(torch.where(keep, scores, 0)) #+1 #+2
                out.append(scores[keep]) #-1 #-2
        return out

net = Detector(); f = torch.compile(net, backend="eager")
# again
with torch.no_grad():
    a = Sample(torch.ones(3, 8, 8), torch.zeros(2, 4))
    b = Sample(torch.ones(3, 10, 8), None, "train", 0.5)
    c = Sample(torch.ones(3, 8, 8), label="eval")
    for batch in ([a], [a, a], [b], [c]):
        print(["%.3f" % t.sum() for t in f(batch)])
