import torch

@torch.compile(backend="aot_eager")
def step(pos, vel, dt):
    vel = vel - dt * pos
    pos = pos + dt * vel
    return pos, vel

pos, vel, t = torch.ones(3), torch.zeros(3), 0.0
for dt in (0.5, 0.25, 0.125, 0.375, 0.75):
    pos, vel = step(pos, vel, dt)
    t = t + dt
print(pos, vel, t)
