# Locks and timers as context managers.
# fix 1: context-manager
# fix 2: clock
import threading, time, torch
lock = threading.Lock()

class Timer:
    def __enter__(self): self.t = time.perf_counter(); return self
    def __exit__(self, *exc): self.took = time.perf_counter() - self.t; return False

@torch.compile(backend="eager")
def locked(x):
    with lock: y = x * 2 #-1
    y = x * 2 #+1
    return y + 1

@torch.compile(backend="eager")
def timed(x):
    with Timer() as t: #-2
        y = x * 2 #-2
    y = x * 2 #+2
    return y + 1

# again
with lock: print(locked(torch.ones(2))) #+1
print(locked(torch.ones(2))) #-1
with Timer(): print(timed(torch.ones(2))) #+2
print(timed(torch.ones(2))) #-2
