import torch
torch.manual_seed(0)
m = torch.nn.LSTM(3, 4)

@torch.compile(backend="eager")
def f(x):
    return m(x)[0].sum()

torch._dynamo.config.allow_rnn = True
print(f(torch.ones(2, 1, 3)).detach())
