"""Prints the arguments of PyTorch's operators, one operator a line, for torch/export/signatures.txt:

    aten.add.Tensor(self, other, *, alpha) 1
    nn.functional.silu(input, inplace) any

The number is that of the results; "list" where the arguments decide it, "any" where the code of a function does. Overloads that write into an argument
named out are left out, since graphs do not have them, and so are those without tensors.

    python scripts/aten-schemas.py > torch/export/signatures.txt
"""

import inspect

import torch
import torch._inductor.inductor_prims  # registers what only Inductor's graphs have
import torch._prims  # registers prims


def line(schema):
    parts, keyword = [], False
    for a in schema.arguments:
        if a.is_out:
            return None
        if a.kwarg_only and not keyword:
            keyword = True
            parts.append("*")
        parts.append(a.name)
    results = str(len(schema.returns))
    if any(str(r.type).startswith("List[") for r in schema.returns):
        results = "list"
    if not any("Tensor" in str(a.type) for a in [*schema.arguments, *schema.returns]):
        return None
    overload = schema.overload_name or "default"
    return f"{schema.name.replace('::', '.')}.{overload}({', '.join(parts)}) {results}"


def functional(name):
    """A function of torch.nn.functional that is written in Python."""
    f = getattr(torch.nn.functional, name)
    if name.startswith("_") or not inspect.isfunction(f):
        return None
    parts, keyword = [], False
    for a in inspect.signature(f).parameters.values():
        if a.kind in (a.VAR_POSITIONAL, a.VAR_KEYWORD):
            return None
        if a.kind == a.KEYWORD_ONLY and not keyword:
            keyword = True
            parts.append("*")
        parts.append(a.name)
    return f"nn.functional.{name}({', '.join(parts)}) any"


lines = set()
for schema in torch._C._jit_get_all_schemas():
    if schema.name.startswith(("aten::", "prims::")):
        lines.add(line(schema))
lines.update(functional(name) for name in dir(torch.nn.functional))
lines.discard(None)
print("\n".join(sorted(lines)))
