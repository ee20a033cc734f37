import copy
import importlib
import math
import operator
import os
import sys
from math import inf, nan

import torch
import torch._dynamo.config
import torch._inductor.config
import torch.fx._pytree as fx_pytree
import torch.utils._pytree as pytree
from torch import device
from torch._dynamo.testing import rand_strided
from torch._dynamo.utils import clone_input, same

NoneType = type(None)
_operator = operator
torch._inductor.config.fallback_random = True  # the random numbers of eager execution
