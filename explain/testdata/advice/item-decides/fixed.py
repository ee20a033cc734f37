import torch

@torch.compile(backend="eager")
def f(scores):
    return scores.sigmoid()

def nms(scores, far):
    picked = []
    for i in scores.argsort(descending=True):
        if all(far[int(i)][j] for j in picked):
            picked.append(int(i))
    return scores[picked]

print(nms(f(torch.tensor([0.1, 0.9, 0.5])), [[False, True, True], [True, False, False], [True, False, False]]))

def solve(x):
    while True:
        x = x / 2
        err = x.abs().max().item()
        if err < 0.5:
            break
    return x

print(solve(torch.tensor([3.0, 4.0])))
