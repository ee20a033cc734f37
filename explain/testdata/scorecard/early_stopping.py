# Blind: a training loop with validation, early stopping and a plateau counter.
# fix 1: item
# fix 2: check-on-tensor
# fix 3: size
import torch, torch.nn as nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.05)
best, bad, patience = float("inf"), 0, 3

@torch.compile(backend="eager")
def train_step(x, y):
    loss = ((net(x) - y) ** 2).mean()
    if torch.isnan(loss): #-2
        raise RuntimeError("diverged") #-2
    return loss

@torch.compile(backend="eager")
def evaluate(x, y, best):
    with torch.no_grad():
        loss = ((net(x) - y) ** 2).mean() #+1
        loss = ((net(x) - y) ** 2).mean().item() #-1
    improved = loss < best
    return loss, improved

X, Y = torch.randn(20, 6), torch.randn(20, 1)
# again
for epoch in range(4):
    net.train()
    for i in range(0, 20, 8):
        x, y = X[i:i + 8], Y[i:i + 8]; torch._dynamo.maybe_mark_dynamic(x, 0); torch._dynamo.maybe_mark_dynamic(y, 0) #+3
        loss = train_step(x, y) #+3
        loss = train_step(X[i:i + 8], Y[i:i + 8]) #-3
        opt.zero_grad(); loss.backward(); opt.step()
    net.eval()
    val, improved = evaluate(X, Y, best)
    val = float(val) #+1
    if improved: best, bad = val, 0
    else: bad += 1
    if bad >= patience: break
print("epochs", epoch + 1)
