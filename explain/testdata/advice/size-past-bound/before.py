import os, torch
torch.manual_seed(0)
conv = torch.nn.Conv1d(2, 3, 3)

@torch.compile(backend="eager")
def f(x):
    return conv(x).relu()

for _ in range(int(os.environ.get("ROUNDS", "1"))):
    for n in (20, 7, 24, 5):
        print("%.3f" % f(torch.ones(n, 2, 9)).sum().item())
