import torch
torch.manual_seed(0)
m = torch.nn.Linear(3, 1)
opt = torch.optim.SGD(m.parameters(), lr=0.1)

@torch.compile(backend="eager")
def loss_of(x):
    opt.zero_grad()
    return m(x).pow(2).mean()

for _ in range(2):
    loss = loss_of(torch.ones(2, 3))
    loss.backward()
    opt.step()
    print(loss.detach())
