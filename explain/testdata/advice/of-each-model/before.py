import os, torch

class Quantise(torch.nn.Module):
    def __init__(self, bits):
        super().__init__()
        self.bits = bits
    def forward(self, x):
        scale = 2 ** self.bits - 1
        return torch.round(x * scale) / scale

models = [torch.compile(Quantise(bits), backend="eager") for bits in (8, 4)]
for _ in range(int(os.environ.get("ROUNDS", "1"))):
    for model in models:
        print(model(torch.linspace(0, 1, 5)))
