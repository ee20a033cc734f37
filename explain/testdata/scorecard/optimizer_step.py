# An optimizer's step as one graph.
import os
import torch, torch._dynamo as D, torch._dynamo.testing as T
m=torch.nn.Linear(4,4); opt=torch.optim.AdamW(m.parameters())
for p in m.parameters(): p.grad=torch.ones_like(p)
c=T.CompileCounter()
@torch.compile(backend=c)
def step(): opt.step()
# again
step(); step(); print("frames",c.frame_count,"ops",c.op_count)
