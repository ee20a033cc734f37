import torch

net = torch.nn.Linear(8, 8)


@torch.compile
def step(x):
    loss = net(x).square().mean()
    loss.backward()
    return loss


step(torch.ones(4, 8))
