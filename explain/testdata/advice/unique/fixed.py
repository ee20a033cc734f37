import torch

@torch.compile(backend="eager")
def f(x):
    return torch.unique(x) * 2

torch._dynamo.config.capture_dynamic_output_shape_ops = True
print(f(torch.tensor([1, 2, 2])))
