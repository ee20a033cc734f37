# Prints, logging, warnings and timing in the step.
# fix 1: print
# fix 2: clock
# fix 3: statement-call
# fix 4: format
import time, warnings, torch
warnings.simplefilter("ignore")
names = []

@torch.compile(backend="eager")
def step(x):
    t0 = time.time() #-2
    y = x.sin()
    print("norm", y.norm()) #-1
    z = y.cos()
    warnings.warn("slow path") #-3
    w = z * 2
    step.took = time.time() - t0 #-2
    return w

t0 = time.time() #+2
# again
w = step(torch.ones(3))
step.took = time.time() - t0 #+2
warnings.warn("slow path") #+3
print("norm", torch.ones(3).sin().norm()) #+1
print(w)
