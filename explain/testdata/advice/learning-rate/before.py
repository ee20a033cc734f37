import torch
torch.manual_seed(0)
m = torch.nn.Linear(3, 1)
opt = torch.optim.AdamW(m.parameters(), lr=0.1)
m.weight.grad = torch.ones_like(m.weight); m.bias.grad = torch.ones_like(m.bias)

@torch.compile(backend="eager")
def step():
    opt.step()

for i in range(4):
    step()
    opt.param_groups[0]["lr"] = 0.1 / (i + 2)
print(m.weight)
