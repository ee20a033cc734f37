import torch, torch.nn as nn
ms=[torch.compile(nn.Linear(8,8+i),backend="eager") for i in range(11)]
for m in ms:
    m(torch.randn(3,8))
f=torch.compile(nn.functional.gelu,backend="eager"); f(torch.randn(3))
