# Operators without shape rules, and one that is.
# fix 1: register-fake-lib
import torch
lib = torch.library.Library("card", "DEF")
lib.define("triple(Tensor x) -> Tensor")
lib.impl("triple", lambda x: x * 3, "CPU")
torch.library.register_fake("card::triple", lambda x: torch.empty_like(x)) #+1

@torch.compile(backend="eager")
def f(x): return torch.ops.card.triple(x.sin()).cos()
# again
print(f(torch.ones(3)))
