import torch
torch.manual_seed(0)
m = torch.nn.Linear(3, 1)

@torch.compile(backend="eager")
def step(x):
    loss = m(x).pow(2).mean()
    loss.backward()
    return loss

loss = step(torch.ones(2, 3))
print(loss.detach(), m.weight.grad)
