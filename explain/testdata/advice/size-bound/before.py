import os, torch
torch.manual_seed(0)
conv = torch.nn.Conv2d(1, 4, 3, padding=1)

@torch.compile(backend="eager")
def features(x):
    return conv(x).relu().mean((2, 3))

for _ in range(int(os.environ.get("ROUNDS", "1"))):
    for n in (20, 24, 10, 12, 18):
        print(features(torch.ones(n, 1, 8, 8)).shape)
