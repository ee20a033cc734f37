# Modes as strings, flags, enums and callables.
import enum, os, torch
class Mode(enum.Enum):
    FAST = 1
    EXACT = 2

@torch.compile(backend="eager")
def f(x, mode, norm, act, p):
    if mode is Mode.FAST: x = x * 2
    if norm == "l2": x = x / x.norm()
    x = torch.nn.functional.dropout(act(x), p, training=False)
    return x + 1

for _ in range(int(os.environ.get("ROUNDS", "1"))):
    for mode, norm, act, p in ((Mode.FAST, "l2", torch.relu, 0.1), (Mode.EXACT, "l2", torch.relu, 0.1), (Mode.FAST, None, torch.tanh, 0.1), (Mode.FAST, "l2", torch.relu, 0.3)):
        print(f(torch.ones(2), mode, norm, act, p))
