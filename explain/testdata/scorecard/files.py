# Reading a file, writing a checkpoint and asking the environment in the step.
# fix 1: open
# fix 2: statement-call
# fix 3: call-without-arguments
import io, os, torch
buf = io.BytesIO()

@torch.compile(backend="eager")
def save(x):
    y = x * 2
    torch.save(y, buf) #-2
    return y + 1

@torch.compile(backend="eager")
def tag(x):
    return x + (os.getpid() > 0) #-3
    return x + 1 #+3

@torch.compile(backend="eager")
def note(x):
    y = x * 2
    with open(os.devnull, "w") as f: #-1
        f.write("step") #-1
    return y

y = save(torch.ones(2))
torch.save(y - 1, buf) #+2
# again
print(y, tag(torch.ones(2)), note(torch.ones(2)))
