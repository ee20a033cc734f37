import torch
torch.manual_seed(0)
m = torch.nn.LSTM(3, 4)

@torch.compile(backend="eager")
def f(x):
    return m(x)[0].sum()

print(f(torch.ones(2, 1, 3)).detach())
