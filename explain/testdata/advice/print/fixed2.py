import torch

@torch.compile(backend="eager")
def f(x):
    y = x * 2
    print("sum", y.sum())
    return y + 1

torch._dynamo.config.reorderable_logging_functions.add(print)
y = f(torch.ones(3))
print("out", y)
