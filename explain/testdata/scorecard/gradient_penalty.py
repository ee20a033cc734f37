# A critic with a gradient penalty, whose gradient is differentiated again.
# fix 1: double-backward
import os, torch, torch.nn as nn
torch.manual_seed(0)

class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
    def forward(self, x):
        return self.net(x).squeeze(-1)

critic = Critic()
opt = torch.optim.Adam(critic.parameters(), lr=1e-3)
score = torch.compile(critic, backend="aot_eager")

def penalty(real, fake):
    mix = torch.lerp(real, fake, torch.rand(real.shape[0], 1)).requires_grad_()
    (g,) = torch.autograd.grad(score(mix).sum(), mix, create_graph=True) #-1
    (g,) = torch.autograd.grad(critic(mix).sum(), mix, create_graph=True) #+1
    return (g.norm(2, dim=1) - 1).pow(2).mean()

for _ in range(2 * int(os.environ.get('ROUNDS', '1'))):
    real, fake = torch.randn(6, 4) + 1, torch.randn(6, 4)
    loss = score(fake).mean() - score(real).mean() + 10 * penalty(real, fake)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(f"{loss.item():.4f}")
