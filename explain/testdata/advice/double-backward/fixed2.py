import torch

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))


def critic(x):
    return net(x).sum()


compiled = torch.compile(critic, backend="eager")

x = torch.randn(3, 4, requires_grad=True)
(g,) = torch.autograd.grad(compiled(x), x, create_graph=True)
penalty = (g.norm(2, dim=1) - 1).pow(2).mean()
penalty.backward()
print(f"{penalty.item():.4f} {net[0].weight.grad.abs().sum().item():.4f}")
