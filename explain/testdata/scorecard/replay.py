# Blind, second set: Q-learning with a replay buffer.
# fix 1: item-kept
# fix 2: size
# fix 1: after-break
import os, random, collections, torch, torch.nn as nn
torch.manual_seed(0); random.seed(0)

Transition = collections.namedtuple("Transition", "s a r s2 done")

class Replay:
    def __init__(self, cap):
        self.cap, self.pos, self.data = cap, 0, []
    def push(self, t):
        if len(self.data) < self.cap:
            self.data.append(t)
        else:
            self.data[self.pos] = t
        self.pos = (self.pos + 1) % self.cap
    def sample(self, n):
        return Transition(*[torch.stack(z) for z in zip(*self.data[:n])])

q, target = nn.Linear(4, 2), nn.Linear(4, 2)
target.load_state_dict(q.state_dict())
opt = torch.optim.Adam(q.parameters(), lr=1e-2)
buf = Replay(6)

class Agent:
    def __init__(self): self.eps = 1.0; self.steps = 0
    @torch.compile(backend="eager")
    def act(self, s):
        self.steps += 1
        self.eps = max(0.1, self.eps * 0.9)
        return q(s).argmax(-1)

@torch.compile(backend="eager")
def td_loss(batch, gamma):
    with torch.no_grad():
        best = target(batch.s2).max(1).values
        best[batch.done] = 0.0
    want = batch.r + gamma * best
    got = q(batch.s).gather(1, batch.a.unsqueeze(1)).squeeze(1)
    err = nn.functional.smooth_l1_loss(got, want, reduction="none")
    buf.priority = err.detach().abs().max() #+1
    buf.priority = err.detach().abs().max().item() #-1
    return err.mean()

# again
agent = Agent()
s = torch.ones(4)
for i in range(5):
    a = agent.act(s)
    s2 = s * 0.9
    buf.push(Transition(s, a, torch.tensor(1.0), s2, torch.tensor(i == 4)))
    s = s2
    if i >= 1:
        batch = buf.sample(i + 1) #+2
        for z in batch: torch._dynamo.maybe_mark_dynamic(z, 0) #+2
        loss = td_loss(batch, 0.99) #+2
        loss = td_loss(buf.sample(i + 1), 0.99) #-2
        opt.zero_grad(); loss.backward(); opt.step()
print("%.3f" % agent.eps, agent.steps, "%.3f" % loss)
