import logging, torch
log = logging.getLogger("t")

@torch.compile(backend="eager")
def f(x):
    y = x * 2
    log.info("step")
    return y + 1

y = f(torch.ones(3))
print(y)
