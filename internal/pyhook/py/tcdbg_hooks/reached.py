"""What a trial sees of a compiled call beside its results: the tensors that the call can reach,
which of them it writes, and gradients after a backward pass.

Names are those of the program: of arguments, of what a function captures, and of variables where
backward() is called. A tensor without one is counted and not compared.
"""

import sys
import _thread

from . import guard

MAX_TENSORS = 1024
MAX_SMALL = 1024
MAX_NODES = 100000
DEEPEST = 8


class _Found:
    """Tensors by name, each once."""

    def __init__(self):
        import torch

        self.torch, self.names, self.seen, self.full = torch, {}, set(), False

    def add(self, name, value, depth=0):
        torch = self.torch
        if isinstance(value, torch.Tensor):
            self.tensor(name, value)
        elif depth >= DEEPEST or value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
            return
        elif isinstance(value, torch.nn.Module):
            if not self.once(value):
                return
            for part, x in value.named_parameters(remove_duplicate=False):
                self.tensor(name + "." + part, x)
            for part, x in value.named_buffers(remove_duplicate=False):
                self.tensor(name + "." + part, x)
            self.attributes(name, value, depth)
        elif isinstance(value, dict):
            if self.once(value):
                for key in list(value)[:MAX_TENSORS]:
                    self.add("%s[%r]" % (name, key), value[key], depth + 1)
        elif isinstance(value, (list, tuple)):
            if self.once(value):
                for i, x in enumerate(value[:MAX_TENSORS]):
                    self.add("%s[%d]" % (name, i), x, depth + 1)
        elif isinstance(value, torch.optim.Optimizer):
            if self.once(value):
                for i, group in enumerate(value.param_groups):
                    self.add("%s.param_groups[%d]['params']" % (name, i), group.get("params"), depth + 1)
        elif _programs(type(value)):
            self.attributes(name, value, depth)

    def attributes(self, name, value, depth):
        """Tensors that are plain attributes of an object of the program's own class."""
        own = getattr(value, "__dict__", None)
        if not isinstance(own, dict) or not self.once(own):
            return
        for key, x in list(own.items())[:MAX_TENSORS]:
            if not key.startswith("_") or isinstance(x, self.torch.Tensor):
                self.add(name + "." + key, x, depth + 1)

    def once(self, value):
        known = id(value) in self.seen
        self.seen.add(id(value))
        return not known

    def tensor(self, name, x):
        if id(x) in self.seen or name in self.names:
            return
        if len(self.names) >= MAX_TENSORS:
            self.full = True
            return
        self.seen.add(id(x))
        self.names[name] = x


def _programs(cls):
    """A class that neither torch nor the standard library has: what is in others is not looked at."""
    top = (getattr(cls, "__module__", "") or "").split(".")[0]
    return top not in ("torch", "builtins", "numpy") and top not in sys.stdlib_module_names


def _roots(call, args, kwargs):
    """Names and values that a call can reach."""
    found = _Found()
    bound = None
    if call.signature is not None:
        try:
            bound = call.signature.bind(*args, **kwargs)
        except TypeError:
            pass
    if bound is not None:
        for name, value in bound.arguments.items():
            found.add(name, value)
    else:
        for i, value in enumerate(args):
            found.add("argument %d" % (i + 1), value)
        for name, value in kwargs.items():
            found.add(name, value)
    fn = call.function
    owner = getattr(fn, "__self__", None)
    if owner is None and not hasattr(fn, "__code__"):
        owner = fn
    if owner is not None:
        found.add("self", owner)
    fn = getattr(fn, "__func__", fn)
    code = getattr(fn, "__code__", None)
    if code is not None:
        torchs = (getattr(fn, "__module__", None) or "").split(".")[0] == "torch"  # it calls a module of the program's
        for name, cell in zip(code.co_freevars, getattr(fn, "__closure__", None) or ()):
            name = "self" if torchs else name
            try:
                found.add(name, cell.cell_contents)
            except ValueError:
                pass
        for name in code.co_names:
            if name in fn.__globals__:
                value = fn.__globals__[name]
                if not isinstance(value, type(sys)):
                    found.add(name, value)
    return found


def _version(x):
    try:
        return x._version
    except Exception:  # an inference tensor has none
        return None


class Before:
    """What a call that is about to begin can reach."""

    def __init__(self, call, args, kwargs):
        self.found = _roots(call, args, kwargs)
        self.versions = {n: (_version(x), *_grad(x)) for n, x in self.found.names.items()}

    def after(self):
        """(path, tensor, written, whether it is a gradient) of each tensor, how many do not tell, and whether there are more."""
        out, hidden = [], 0
        for name, x in self.found.names.items():
            old, grad, grads = self.versions[name]
            now = _version(x)
            if now is None:
                hidden += 1
                continue
            out.append((name, x, now != old, False))
            g, n = _grad(x)
            if g is not None:
                out.append((name + ".grad", g, g is not grad or n != grads, True))
        for name, x in self.found.names.items():
            if x.requires_grad and x.is_leaf:
                _named.setdefault(id(x), (name, x))
        return out, hidden, self.found.full


def _grad(x):
    if not x.is_leaf or not x.requires_grad or x.grad is None:
        return None, None
    return x.grad, _version(x.grad)


# Gradients.

_named = {}  # id of a leaf: its name, and the leaf, so that the id stays its own
_graded = []
_local = _thread._local()


def gradients(recording, graded, skip_code):
    """Calls graded(leaves, unnamed) after each outermost backward pass while recording() holds:
    leaves are pairs of a name and a gradient. skip_code keeps a frame out of compiled code, as all
    that runs here has to be. False where this PyTorch has no place for it."""
    import torch

    eval_frame = getattr(getattr(torch._C, "_dynamo", None), "eval_frame", None)
    if _graded or not hasattr(torch.autograd, "_engine_run_backward") or not hasattr(eval_frame, "set_eval_frame"):
        return bool(_graded)
    _graded.append(graded)
    plain = torch.autograd._engine_run_backward

    def tcdbg_run_backward(outputs, *args, **kwargs):
        if getattr(_local, "inside", False) or not recording() or _traces(outputs):
            return plain(outputs, *args, **kwargs)
        _local.inside = True
        try:
            callback = eval_frame.set_eval_frame(None)
            try:
                leaves = guard(_leaves, outputs)
            finally:
                eval_frame.set_eval_frame(callback)
            result = plain(outputs, *args, **kwargs)
        finally:
            _local.inside = False
        callback = eval_frame.set_eval_frame(None)
        try:
            guard(_tell, leaves, kwargs.get("accumulate_grad", False), result)
        finally:
            eval_frame.set_eval_frame(callback)
        return result

    skip_code(tcdbg_run_backward.__code__)
    torch.autograd._engine_run_backward = tcdbg_run_backward
    return True


def _traces(outputs):
    """Whether the compiler differentiates what it traces: those are no gradients of the program's."""
    import torch
    from torch._subclasses import FakeTensor

    if torch._guards.TracingContext.try_get() is not None:
        return True
    plain = (torch.Tensor, torch.nn.Parameter)
    return any(isinstance(x, FakeTensor) or isinstance(x, torch.Tensor) and type(x) not in plain for x in outputs)


def _leaves(outputs):
    """The leaves that a backward pass from outputs gets to."""
    out, nodes, seen = {}, [], set()
    for x in outputs:
        fn = getattr(x, "grad_fn", None)
        if fn is not None:
            nodes.append(fn)
        elif getattr(x, "requires_grad", False):
            out[id(x)] = x
    while nodes and len(seen) < MAX_NODES:
        fn = nodes.pop()
        if fn in seen:
            continue
        seen.add(fn)
        x = getattr(fn, "variable", None)
        if x is not None:
            out[id(x)] = x
        nodes.extend(f for f, _ in fn.next_functions if f is not None)
    return list(out.values())


def _tell(leaves, accumulated, result):
    if not accumulated:  # torch.autograd.grad
        _graded[0]([("result %d of torch.autograd.grad" % i, g) for i, g in enumerate(result or ()) if g is not None], 0)
        return
    missing = [x for x in leaves or () if id(x) not in _named]
    if missing:
        _name(missing)
    named, unnamed = [], 0
    for x in leaves or ():
        if x.grad is None:
            continue
        if id(x) in _named:
            named.append((_named[id(x)][0], x.grad))
        else:
            unnamed += 1
    _graded[0](named, unnamed)


def _name(missing):
    """Looks for names where backward() was called."""
    wanted = {id(x) for x in missing}
    frame = sys._getframe()
    while frame is not None and wanted:
        top = (frame.f_globals.get("__name__") or "").split(".")[0]
        if top not in ("torch", __package__.split(".")[0]):
            found = _Found()
            for variables in (frame.f_locals, frame.f_globals):
                for name, value in list(variables.items()):
                    if not name.startswith("__") and not isinstance(value, type(sys)):
                        found.add(name, value)
            for name, x in found.names.items():
                if id(x) in wanted:
                    _named.setdefault(id(x), (name, x))
                    wanted.discard(id(x))
        frame = frame.f_back
