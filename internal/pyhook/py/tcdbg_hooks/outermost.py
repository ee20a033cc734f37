"""The outermost calls of compiled functions: those that come from code that is none.

watch(around) has each of them made by around(call, args, kwargs), which returns or raises what
call(*args, **kwargs) does. call has names, what a trace may call the function, and its
signature, None where it has none.
"""

import _thread

from . import failed, when

_around = []


class _Local(_thread._local):
    inside = False


_local = _Local()


def compiling(fn):
    """Calls fn() whenever a compile begins, also after torch._dynamo.reset(), which drops every
    callback of others with its own."""
    when("torch._dynamo.callback", lambda module: _compiling(module.callback_handler, fn))


def _compiling(handler, fn):
    def begun(*args):
        fn()

    plain = handler.clear

    def clear():
        plain()
        handler.register_start_callback(begun)

    handler.clear = clear
    handler.register_start_callback(begun)


def watch(around, problem=failed, compiled=True):
    """Only one module of ours may watch. problem(text) is told what does not work. Where
    compiled is False the functions run as they are written."""
    if _around:
        raise RuntimeError("two modules watch outermost calls")
    _around.append(around)
    _around.append(problem)
    _around.append(compiled)
    when("torch._dynamo.eval_frame", _eval_frame)


def _eval_frame(module):
    import functools

    if not hasattr(module, "skip_code"):
        _around[1]("this PyTorch cannot leave our own frames out of compiled code: calls are not watched")
        return
    context = module._TorchDynamoContext
    plain = context.__call__

    @functools.wraps(plain)
    def __call__(self, fn):
        out = plain(self, fn)
        return _watched(out, fn, module.skip_code) if isinstance(self, module.OptimizeContext) else out

    context.__call__ = __call__


class Call:
    """A compiled function as its caller has it."""

    def __init__(self, out, fn):
        self.run = out if _around[2] else fn
        self.function = fn
        self.names, self.signature = _names(fn)

    def __call__(self, *args, **kwargs):
        return self.run(*args, **kwargs)


def _watched(out, fn, skip_code):
    import functools
    import types

    if not isinstance(out, types.FunctionType) or not hasattr(out, "_torchdynamo_orig_callable"):
        return out
    call = Call(out, fn)

    @functools.wraps(out)
    def tcdbg_outermost_call(*args, **kwargs):
        if _local.inside:
            return call.run(*args, **kwargs)
        _local.inside = True
        try:
            return _around[0](call, args, kwargs)
        finally:
            _local.inside = False

    if hasattr(out, "_torchdynamo_wrapper_id"):
        tcdbg_outermost_call._torchdynamo_wrapper_id = id(tcdbg_outermost_call)
    for fn in (tcdbg_outermost_call, Call.__call__, _around[0]):
        skip_code(fn.__code__)
    return tcdbg_outermost_call


def _names(fn):
    """What a trace may call a function, and how its arguments are named."""
    import inspect

    names = [getattr(fn, "__name__", ""), getattr(fn, "__qualname__", "")]
    owner = getattr(fn, "__self__", None)
    if names[0] in ("__call__", "_wrapped_call_impl", "_call_impl") and hasattr(owner, "forward"):
        fn = owner.forward
        names = ["forward", type(owner).__name__ + ".forward", type(owner).__name__] + names
    try:
        return [n for n in names if n], inspect.signature(fn)
    except (TypeError, ValueError):
        return [n for n in names if n], None
