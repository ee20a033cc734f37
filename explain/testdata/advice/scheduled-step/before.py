import os, torch
ROUNDS = int(os.environ.get("ROUNDS", "1"))
torch.manual_seed(0)
m = torch.nn.Linear(3, 1)
opt = torch.optim.SGD(m.parameters(), lr=torch.tensor(0.1))
sched = torch.optim.lr_scheduler.StepLR(opt, 1)
for p in m.parameters(): p.grad = torch.ones_like(p)

@torch.compile(backend="eager")
def step():
    opt.step()

for _ in range(4 * ROUNDS):
    step()
    sched.step()
print(m.weight)
