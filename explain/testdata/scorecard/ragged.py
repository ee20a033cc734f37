# A list of tensors of several lengths, padded within.
# fix 1: size-every-call
import os, torch

@torch.compile(backend="eager")
def pad(xs):
    n = max(x.shape[0] for x in xs)
    return torch.stack([torch.nn.functional.pad(x, (0, n - x.shape[0])) for x in xs])

for _ in range(int(os.environ.get("ROUNDS", "1"))):
    for lens in ((2, 3), (4, 3), (2, 5, 3)):
        xs = [torch.ones(l) for l in lens]
        torch._dynamo.maybe_mark_dynamic(xs[0], 0) #+1
        print(pad(xs).shape)
