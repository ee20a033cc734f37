# Failures with fullgraph=True, and marks that the code refuses.
# fix 1: constraint
# fix 2: open
# fix 3: branch-failed
import os
import torch, warnings, torch._dynamo as D
x=torch.randn(4)
def t(name,f,*a,**k):
    D.reset()
    try: torch.compile(f,fullgraph=True,backend="eager",**k)(*a); pass
    except Exception as e: pass
def n(x,fh): fh.write("hi"); return x+1 #-2
def n(x,fh): return x+1 #+2
t("open passed in", n, x, open("./x.txt","w"))
def mdf(x): return x.sin()*2
# mark_dynamic with dynamic=False
D.reset(); cnt=D.testing.CompileCounter()
import torch._dynamo.testing as T
cnt=T.CompileCounter(); g=torch.compile(mdf,backend=cnt,dynamic=False)
for k in range(2,8):
    v=torch.randn(k); D.mark_dynamic(v,0)
    try: g(v)
    except Exception as e: print("ERR md",str(e)[:100]); break
print("mark_dynamic with dynamic=False, frames", cnt.frame_count)
D.reset(); cnt=T.CompileCounter(); g=torch.compile(mdf,backend=cnt,dynamic=False)
v=torch.randn(2); D.mark_dynamic(v,0); g(v)
for k in range(3,8): g(torch.randn(k))
print("marked first call only, frames", cnt.frame_count)
# regional mark_dynamic dim1
D.reset()
import torch.nn as nn
class Block(nn.Module):
    def __init__(s, d): super().__init__(); s.l1 = nn.Linear(d, 2 * d)
    def forward(s, x): return s.l1(x)
b1,b2=Block(16),Block(32); b1.compile(backend="eager"); b2.compile(backend="eager")
v=torch.randn(2,16); D.mark_dynamic(v,1) #-1
v=torch.randn(2,16); D.maybe_mark_dynamic(v,1) #+1
try: b1(v); pass
except Exception as e: pass
# llama eos
D.reset(); D.config.capture_scalar_outputs=True
def dec(l, st):
    nxt=l.argmax(-1,keepdim=True)
    if nxt.item()==2: st["eos"]=True #-3
    st["eos"] = nxt == 2 #+3
    return nxt
t("eos capture_scalar", dec, torch.randn(1,10), {})
def ent(l, st):
    st["e"]=l.mean().item(); return l*2
# again
t("ent capture_scalar", ent, torch.randn(1,10), {})
D.config.capture_scalar_outputs=False
