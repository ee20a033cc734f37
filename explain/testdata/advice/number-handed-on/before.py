import torch

@torch.compile(backend="aot_eager")
def step(pos, vel, t, dt):
    vel = vel - dt * pos
    pos = pos + dt * vel
    return pos, vel, t + dt

pos, vel, t = torch.ones(3), torch.zeros(3), 0.0
for dt in (0.5, 0.25, 0.125, 0.375, 0.75):
    pos, vel, t = step(pos, vel, t, dt)
print(pos, vel, t)
