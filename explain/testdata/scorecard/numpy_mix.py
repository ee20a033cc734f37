# NumPy within and around a compiled function.
# fix 1: numpy-function
# fix 2: drawn-by-numpy
import numpy as np, torch
np.random.seed(0)

@torch.compile(backend="eager")
def smooth(a):
    k = np.ones(3) / 3
    return np.convolve(a, k) + 1 #-1
    return a #+1

@torch.compile(backend="eager")
def jitter(x): #-2
    return x * np.random.randint(1, 4) #-2
def jitter(x, k): #+2
    return x * k #+2

# again
print(smooth(np.arange(4.0))) #-1
print(np.convolve(smooth(np.arange(4.0)), np.ones(3) / 3) + 1) #+1
print(jitter(torch.ones(2))) #-2
print(jitter(torch.ones(2), torch.tensor(np.random.randint(1, 4)))) #+2
