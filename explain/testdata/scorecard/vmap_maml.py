# Blind, second set: meta-learning by torch.func: inner steps by grad, tasks by vmap.
# fix 3: item-index
# fix 1: print
# fix 1: after-break
# fix 2: size-every-call
import os, torch, torch.nn as nn
from torch.func import functional_call, grad, vmap, stack_module_state
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
params = {k: v.detach() for k, v in net.named_parameters()}

def loss_fn(p, x, y):
    return ((functional_call(net, p, (x,)) - y) ** 2).mean()

def adapt(p, x, y, lr, steps):
    for _ in range(steps):
        g = grad(loss_fn)(p, x, y)
        p = {k: v - lr * g[k] for k, v in p.items()}
    return p

@torch.compile(backend="eager")
def meta(p, x, y, lr, steps):
    def task(x, y):
        return loss_fn(adapt(p, x, y, lr, steps), x, y)
    losses = vmap(task)(x, y)
    worst = losses.argmax()
    print("worst task", tuple(losses.shape)) #-1
    chosen = x[worst[None]].squeeze(0) #+3
    chosen = x[worst] #-3
    return losses.mean(), chosen, losses.shape #+1
    return losses.mean(), chosen #-1

# again
for tasks, lr, steps in ((3, 0.1, 1), (4, 0.1, 1), (4, 0.05, 2)):
    x, y = torch.ones(tasks, 5, 2), torch.zeros(tasks, 5, 1); torch._dynamo.maybe_mark_dynamic(x, 0); torch._dynamo.maybe_mark_dynamic(y, 0) #+2
    l, w = meta(params, x, y, lr, steps) #+2
    l, w, shape = meta(params, torch.ones(tasks, 5, 2), torch.zeros(tasks, 5, 1), lr, steps); print('worst task', tuple(shape)) #+1
    l, w = meta(params, torch.ones(tasks, 5, 2), torch.zeros(tasks, 5, 1), lr, steps) #-2 #-1
    print("%.4f" % l, tuple(w.shape))
