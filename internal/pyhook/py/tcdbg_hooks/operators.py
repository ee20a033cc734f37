"""Notes the operators of some outermost calls, with the line or the node of a captured graph that
each comes from, and digests of what it is given and gives. tcdbg's package
internal/app/results (operators.go) reads them and holds two runs beside each other.

begin(call, known) and end(call, result) bound a call; graphs of the backend "eager" are run node by node in
between. Nothing is noted below an operator of PyTorch's dispatcher.
"""

import json
import os
import sys
import _thread

from . import failed, guard, when

MAX_OPERATORS = 20000
SKETCHED = 16

_local = _thread._local()


class _Notes:
    """The file of this process, and the call that is noted."""

    def __init__(self):
        self.pid = self.count = 0

    def open(self, folder):
        self.pid, self.count = os.getpid(), 0
        self.file = open(os.path.join(folder, "operators-%d" % self.pid), "wb", buffering=1 << 16)

    def line(self, data):
        self.file.write(json.dumps(data).encode() + b"\n")

    def operator(self, call, op):
        self.count += 1
        if self.count == MAX_OPERATORS + 1:
            self.line({"call": call, "missing": "there are too many operators to note them all"})
        elif self.count <= MAX_OPERATORS:
            self.line({"call": call, "op": op})


_notes = _Notes()
_wanted = {}


def start(options, folder, compiled):
    """options has from and to, the calls that are noted; compiled says that graphs are captured."""
    _wanted.update(options, folder=folder, compiled=compiled)
    if compiled:
        when("torch._dynamo.repro.after_dynamo", _graphs)


def wants(call):
    return bool(_wanted) and _wanted["from"] <= call <= _wanted["to"]


def begin(call, reached):
    """Notes call from now on; reached are tensors that it can reach."""
    if _notes.pid != os.getpid():
        _notes.open(_wanted["folder"])
    _local.call = call
    _notes.line({"call": call, "known": [_digest(x) for x in reached]})
    if not _wanted["compiled"]:
        _local.mode = _mode(call, None)
        _local.mode.__enter__()


def end(result):
    """Ends begin; result is what the call returned."""
    call, _local.call = getattr(_local, "call", 0), 0
    mode, _local.mode = getattr(_local, "mode", None), None
    if mode is not None:
        mode.__exit__(None, None, None)
    if call:
        _notes.line({"call": call, "out": [_digest(x) for x in result]})
        _notes.file.flush()


def _graphs(module):
    """Graphs of noted calls run node by node."""
    plain = getattr(module, "wrap_backend_debug", None)
    if plain is None:
        raise RuntimeError("this PyTorch has no wrap_backend_debug: the nodes of its graphs are not noted")

    def wrap_backend_debug(fn, name, *args, **kwargs):
        return plain(_noted(fn), name, *args, **kwargs)

    module.wrap_backend_debug = wrap_backend_debug


def _noted(fn):
    import functools

    @functools.wraps(fn)
    def backend(gm, *args, **kwargs):
        run = fn(gm, *args, **kwargs)

        def noted(*inputs):
            call = getattr(_local, "call", 0)
            if not call or getattr(_local, "node", None) is not None:
                return run(*inputs)
            _notes.line({"call": call, "graphs": 1})
            if _higher(gm):
                _notes.line({"call": call, "missing": "a graph has operators of a higher order, which cannot be run node by node"})
                return run(*inputs)
            return _interpret(call, gm, inputs)

        return noted

    return backend


def _higher(gm):
    import torch

    return any(isinstance(n.target, torch._ops.HigherOrderOperator) for n in gm.graph.nodes)


def _interpret(call, gm, inputs):
    import torch

    class Nodes(torch.fx.Interpreter):
        def run_node(self, n):
            _local.node = n
            return super().run_node(n)

    mode = _mode(call, gm)
    try:
        with mode:
            return Nodes(gm).run(*inputs)
    finally:
        _local.node = None


def _mode(call, gm):
    from torch.utils._python_dispatch import TorchDispatchMode

    class Operators(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            before = guard(_before, func, args, kwargs)
            out = func(*args, **kwargs)
            if before is not None:
                guard(_after, call, func, before, args, kwargs, out)
            return out

    return Operators()


def _tensors(value):
    import torch

    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for x in value:
            yield from _tensors(x)
    elif isinstance(value, dict):
        for x in value.values():
            yield from _tensors(x)


def _before(func, args, kwargs):
    name = func.overloadpacket.__name__ if hasattr(func, "overloadpacket") else str(func)
    shown = [_text(a) for a in args] + ["%s=%s" % (k, _text(v)) for k, v in kwargs.items() if v is not None]
    text = "%s(%s)" % (name, ", ".join(shown))
    return {"name": name, "text": text, "args": [_digest(x) for x in _tensors([args, kwargs])]}


def _after(call, func, op, args, kwargs, out):
    outs = list(_tensors(out))
    schema = getattr(func, "_schema", None)
    if schema is not None and schema.is_mutable:
        for a, v in list(zip(schema.arguments, args)) + [(a, kwargs[a.name]) for a in schema.arguments if a.name in kwargs]:
            if a.alias_info is not None and a.alias_info.is_write:
                outs += [x for x in _tensors(v) if not any(x is o for o in outs)]
    # What is not initialized has whatever was in that memory.
    op["outs"] = [_digest(x, "empty" in op["name"]) for x in outs]
    node = getattr(_local, "node", None)
    if node is not None:
        from . import numerics_run

        op["node"] = node.name
        pos = numerics_run.pos_of(node)
    else:
        pos = _line()
    if pos:
        op["pos"] = pos
    _notes.operator(call, op)


def _line():
    """The innermost line that is neither PyTorch's nor ours."""
    import linecache
    import torch

    library, ours = os.path.dirname(torch.__file__), os.path.dirname(__file__)
    frame = sys._getframe()
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith((library, ours, "<")) and frame.f_globals.get("__name__", "").split(".")[0] not in ("contextlib", "functools"):
            code = linecache.getline(file, frame.f_lineno).strip()
            return {"file": file, "line": frame.f_lineno, "func": frame.f_code.co_name, "code": code}
        frame = frame.f_back
    return None


def _type(x):
    return "%s%s" % (str(x.dtype).replace("torch.", ""), [int(n) for n in x.shape])


def _text(v):
    import torch

    if isinstance(v, torch.Tensor):
        return _type(v)
    if isinstance(v, (list, tuple)):
        return "[%s]" % ", ".join(_text(x) for x in v)
    return repr(v)[:80]


def _digest(x, hidden=False):
    import hashlib
    import torch
    from . import trial

    out = {"t": _type(x)}
    plain = type(x) in (torch.Tensor, torch.nn.Parameter) or type(x).__name__ == "Buffer"
    if hidden or not plain or x.is_meta or x.layout != torch.strided or x.is_quantized:
        return out
    try:
        data = trial._numbers(x)
    except Exception:
        failed("operators: digest")
        return out
    out["d"] = hashlib.blake2b(out["t"].encode() + data["data"], digest_size=12).hexdigest()
    if not data["int"] and data["data"]:
        out["s"] = _sketch(data["data"])
    return out


def _sketch(data):
    import math
    import torch

    v = torch.frombuffer(bytearray(data), dtype=torch.float64)
    last = v.numel() - 1
    s = [float(v[i * last // (SKETCHED - 1)]) for i in range(SKETCHED)] + [float(v.abs().mean())]
    return s if all(math.isfinite(x) for x in s) else None
