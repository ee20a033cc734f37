# The program of growing_list_cuda.log: breaks of three kinds, and a global list
# that grows with every call until the recompile limit.
import torch
import torch.nn as nn

m = nn.Linear(64, 64).to("cuda")
calls = []
# In the log its lines are 19 to 30 of a longer file:
#   def helper(x):
#       if x.sum()>0: return x.relu()
#       return x.sin()
#   @torch.compile
#   def f(x,k):
#       y=m(x); calls.append(1); print("in f"); y=helper(y); s=y.mean().item()
#       return y*s*k
#   for k in range(12): f(torch.randn(8+k%3,64,device="cuda"),k)
