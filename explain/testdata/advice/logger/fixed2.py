import logging, torch
log = logging.getLogger("t")

@torch.compile(backend="eager")
def f(x):
    y = x * 2
    log.info("step")
    return y + 1

torch._dynamo.config.ignore_logging_functions.add(log.info)
y = f(torch.ones(3))
print(y)
