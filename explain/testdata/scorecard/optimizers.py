# A compiled optimizer step with a schedule that changes the learning rate.
# fix 1: learning-rate
import os, torch
torch.manual_seed(0)
m = torch.nn.Linear(3, 1)
opt = torch.optim.AdamW(m.parameters(), lr=0.1) #-1
opt = torch.optim.AdamW(m.parameters(), lr=torch.tensor(0.1)) #+1
for p in m.parameters(): p.grad = torch.ones_like(p)

@torch.compile(backend="eager")
def step(): opt.step()

# again
for i in range(4):
    step()
    lr = 0.1 / (i + 2)
    for g in opt.param_groups: g["lr"] = lr #-1
    for g in opt.param_groups: g["lr"].fill_(lr) #+1
print(m.weight)
