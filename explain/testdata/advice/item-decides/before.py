import torch

@torch.compile(backend="eager")
def nms(scores, far):
    scores = scores.sigmoid()
    picked = []
    for i in scores.argsort(descending=True):
        if all(far[int(i)][j] for j in picked):
            picked.append(int(i))
    return scores[picked]

print(nms(torch.tensor([0.1, 0.9, 0.5]), [[False, True, True], [True, False, False], [True, False, False]]))

@torch.compile(backend="eager")
def solve(x):
    while True:
        x = x / 2
        err = x.abs().max().item()
        if err < 0.5:
            break
    return x

print(solve(torch.tensor([3.0, 4.0])))
