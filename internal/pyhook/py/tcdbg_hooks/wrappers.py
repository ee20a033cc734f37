"""Calls of compiled functions, seen within PyTorch's own wrapper of them.

The wrapper asks torch._dynamo.eval_frame._callback_from_stance at each call how to run it. Where
somebody watches, that function is ours: it sees the call begin and end and may have it run
eagerly, and no frame of ours is on the stack while the function runs.
"""

import inspect
import sys
import types

from . import guard

NAMES = ("compile_wrapper", "_fn")  # of the wrapper; the second one in older releases
CALLS = ("__call__", "_wrapped_call_impl", "_call_impl")  # of a module: they call its forward

_watchers = []  # functions that are told of calls; another list each time
_state = {"module": None, "plain": None}


class Call:
    """One call of a compiled function, of which it is known how Dynamo would run it."""

    def __init__(self, frame, callback, cleanups):
        self.function = frame.f_locals["fn"]
        self.frame = frame
        self.callback = callback  # None where it runs eagerly anyway
        self.eager = False  # set by a watcher
        self._cleanups = cleanups

    def arguments(self):
        """The code of the function that is called and its locals as the call begins, (None, None) where
        they are not known."""
        args, owner = self.frame.f_locals["args"], getattr(self.function, "__self__", None)
        fn = written(self.function)
        if fn is None:
            return None, None
        if owner is not None:
            args = (owner,) + tuple(args)
        bound = inspect.Signature.from_callable(fn, follow_wrapped=False).bind(*args, **self.frame.f_locals["kwargs"])
        bound.apply_defaults()
        scope = dict(bound.arguments)
        for name, cell in zip(fn.__code__.co_freevars, fn.__closure__ or ()):
            scope[name] = cell.cell_contents
        return fn.__code__, scope

    def at_end(self, fn):
        """Calls fn() when the call returns or raises."""
        self._cleanups.append(lambda: guard(fn))


def unsupported(module):
    """Why calls cannot be watched in this PyTorch, "" where they can: module is its eval_frame."""
    known = getattr(module, "_callback_from_stance", None)
    wrapper = wrapper_code(module)
    if known is None or wrapper is None:
        return "its wrapper of compiled functions is not one that we know"
    needed = {"cleanups", "fn"} - set(wrapper.co_varnames + wrapper.co_freevars + wrapper.co_cellvars)
    if needed or "_callback_from_stance" not in wrapper.co_names:
        return "its wrapper of compiled functions is not one that we know"
    if _demands_frames(wrapper) and _counter() is None:
        return "a call of fullgraph=True cannot run eagerly"
    return ""


def wrapper_code(module):
    """The code of PyTorch's wrapper, also where brackets.py has put a function of ours around what makes it."""
    context = getattr(module, "_TorchDynamoContext", None)
    outer = getattr(inspect.unwrap(getattr(context, "__call__", None)), "__code__", None)
    for const in getattr(outer, "co_consts", ()):
        if getattr(const, "co_name", "") in NAMES:
            return const
    return None


def _demands_frames(code):
    """Whether the wrapper raises where fullgraph=True found nothing compiled."""
    return any(isinstance(c, str) and "no compiled frames" in c for c in code.co_consts)


def _counter():
    return getattr(sys.modules.get("torch._C._dynamo.eval_frame"), "set_fullgraph_compiled_frame_count", None)


def watch(fn):
    """Calls fn(call) at each call of a compiled function that begins from now on, in its thread."""
    global _watchers
    module = sys.modules.get("torch._dynamo.eval_frame")
    if fn in _watchers or module is None:
        return
    _watchers = _watchers + [fn]
    if _state["plain"] is None:
        never_compile(module)
        _state["module"], _state["plain"] = module, module._callback_from_stance
        module._callback_from_stance = _callback_from_stance


def unwatch(fn):
    global _watchers
    _watchers = [w for w in _watchers if w != fn]
    module, plain = _state["module"], _state["plain"]
    if not _watchers and plain is not None and module._callback_from_stance is _callback_from_stance:
        module._callback_from_stance = plain
        _state["plain"] = None


def _callback_from_stance(callback):
    plain = _state["plain"] or sys.modules["torch._dynamo.eval_frame"]._callback_from_stance
    callback = plain(callback)
    if guard(_begins, callback, sys._getframe(1)):
        return None
    return callback


def _begins(callback, frame):
    """Tells the watchers; whether the call is to run eagerly."""
    if frame.f_code.co_name not in NAMES:
        return False  # a context manager, which wraps no function
    cleanups = frame.f_locals.get("cleanups")
    if type(cleanups) is not list:
        return False
    call = Call(frame, callback, cleanups)
    for fn in _watchers:
        guard(fn, call)
    if call.eager:
        counted = _counter()
        if counted is not None:
            counted(-1)  # a call of fullgraph=True does not ask for compiled frames
    call.frame = None
    return call.eager


def entries(code):
    """The cache entries of a code object."""
    return sys.modules["torch._C._dynamo.eval_frame"]._debug_get_cache_entry_list(code)


def of_stack(frame):
    """The function whose call is the innermost on the stack, None where there is none."""
    while frame is not None:
        code = frame.f_code
        if code.co_name in NAMES and code.co_filename.endswith("eval_frame.py"):
            fn = frame.f_locals.get("fn")
            if fn is not None:
                return fn
        frame = frame.f_back
    return None


def written(fn):
    """The Python function that a callable runs, a module's forward for the module; None for others."""
    owner = getattr(fn, "__self__", None)
    if owner is not None:
        if getattr(fn, "__name__", "") in CALLS and hasattr(owner, "forward"):
            fn = owner.forward
        fn = getattr(fn, "__func__", None)
    return fn if isinstance(fn, types.FunctionType) else None


def name(fn):
    """What the user calls a compiled function."""
    own = getattr(fn, "__name__", "") or type(fn).__name__
    owner = getattr(fn, "__self__", None)
    if owner is not None and own in CALLS + ("forward",):
        return type(owner).__name__
    return own


def never_compile(eval_frame):
    """Has Dynamo skip our functions: trace functions run while it is on."""
    package = __name__.rpartition(".")[0]
    c = sys.modules.get("torch._C._dynamo.eval_frame")
    skip = getattr(eval_frame, "skip_code", None) or getattr(c, "skip_code", None)
    if skip is None:
        return
    for name, module in list(sys.modules.items()):
        if name == package or name.startswith(package + "."):
            for code in _codes(vars(module), module.__name__):
                skip(code)


def _codes(scope, module):
    for obj in list(scope.values()):
        if isinstance(obj, type) and obj.__module__ == module:
            yield from _codes(vars(obj), module)
        code = getattr(obj, "__code__", None)
        if code is not None and getattr(obj, "__module__", None) == module:
            yield from _nested(code)


def _nested(code):
    yield code
    for const in code.co_consts:
        if hasattr(const, "co_code"):
            yield from _nested(const)
