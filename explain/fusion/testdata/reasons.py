"""Prints what PyTorch's scheduler can say of a pair that it does not fuse, one reason a line."""
import ast
import pathlib

import torch

inductor = pathlib.Path(torch.__file__).parent / "_inductor"


def text(node):
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(v.value if isinstance(v, ast.Constant) else "{}" for v in node.values)
    if isinstance(node, ast.BinOp):
        return text(node.left) + text(node.right)
    return ""


def refuses(call):
    f = call.func
    if isinstance(f, ast.Name):
        return f.id == "why"
    return isinstance(f, ast.Call) and isinstance(f.func, ast.Name) and f.func.id.startswith("WhyNoFuse")


found = set()
for path in inductor.rglob("*.py"):
    source = path.read_text()
    if "WhyNoFuse" not in source:
        continue
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and node.args and refuses(node):
            found.add(text(node.args[0]))
print("\n".join(sorted(found)))
