import os, torch

@torch.compile(backend="eager")
def evaluate(x, best):
    with torch.no_grad():
        loss = (x * 2).mean().item()
    improved = loss < best
    return loss, improved

best = float("inf")
for _ in range(int(os.environ.get("ROUNDS", "1"))):
    for i in range(4):
        loss, improved = evaluate(torch.ones(3) / (i + 1), best)
        if improved: best = loss
print(best)
