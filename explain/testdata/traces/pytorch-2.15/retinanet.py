# detection: RetinaNet with a small backbone, eager postprocess with dynamic shapes
import torch, torchvision, time
from torchvision.models.detection import RetinaNet
from torchvision.models.detection.anchor_utils import AnchorGenerator
torch.manual_seed(0)
b = torchvision.models.mobilenet_v2(weights=None).features[:7]
b.out_channels = 32
m = RetinaNet(b, num_classes=5, anchor_generator=AnchorGenerator(((32, 64),), ((1.0,),)), min_size=96, max_size=128).eval()
c = torch.compile(m, backend="aot_eager")
with torch.no_grad():
    for s in ((96, 96), (96, 96), (120, 100)):
        out = c([torch.rand(3, *s)])
        print(len(out), out[0]["boxes"].shape)
