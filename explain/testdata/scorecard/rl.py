# A policy with an episode buffer, exploration by random, and returns.
# fix 1: branch-on-random
# fix 2: item
import os, random, torch, torch.nn as nn
torch.manual_seed(0); random.seed(0)
policy = nn.Linear(4, 2)

@torch.compile(backend="eager")
def act(obs, eps): #-1
    if random.random() < eps: #-1
        a = torch.zeros((), dtype=torch.long) #-1
    else: #-1
        a = policy(obs).argmax() #-1
def act(obs, explore): #+1
    a = torch.where(explore, torch.zeros((), dtype=torch.long), policy(obs).argmax()) #+1
    return a

@torch.compile(backend="eager")
def returns(rewards, gamma):
    g = 0.0
    for r in reversed(rewards): g = r + gamma * g
    baseline = g.mean().item() #-2
    baseline = g.mean() #+2
    return g - baseline

# again
with torch.no_grad():
    for i in range(4):
        print(act(torch.ones(4), 0.5).item()) #-1
        print(act(torch.ones(4), torch.tensor(random.random() < 0.5)).item()) #+1
    print(returns([torch.ones(3) * i for i in range(3)], 0.9))
