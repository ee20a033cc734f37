"""How long calls of compiled functions take.

What torch.compile gives back is a wrapper that runs hooks of its context before a call and after it,
however it ends. Ours note both moments. The first frame that is evaluated between them, where it is
that of the wrapped function, is the call whose time this is: all of it, with finding the entry,
compiling, and what it calls. Frames that Dynamo finds within it (parts after a break, functions that
eager code calls) go through no wrapper, and have no time.

Moments are notes in the list of calls.py, in the order in which they came; they are put together
when the list is counted.
"""

import sys
import _thread


class Bracket:
    """What wrappers of the same functions have in common."""

    def __init__(self, codes):
        self.codes = codes  # of the functions; kept, so that no other code has the id
        self.ids = frozenset(map(id, codes))
        self.hook = None


_brackets = {}  # ids of code objects -> Bracket
_hooks = set()  # ids of the hooks, which live as long as the process
_open = {}  # thread -> [[bracket, when it began, run of its call, track of it]]
UNKNOWN = object()  # the run of a call that cannot be told


def unsupported(module):
    """Why calls have no time in this PyTorch, "" where they have: module is its eval_frame."""
    from .wrappers import wrapper_code

    code, context = wrapper_code(module), getattr(module, "_TorchDynamoContext", None)
    if code is None or not hasattr(module, "OptimizeContext"):
        return "its wrapper of compiled functions is not one that we know"
    names = set(code.co_names + code.co_varnames)
    if "enter_exit_hooks" not in names or "cleanups" not in names or not hasattr(context, "__call__"):
        return "its wrapper of compiled functions has no hooks"
    return ""


def watch(module, hook):
    """Has hook(bracket), a function that is called before a call and returns the one for after it,
    put into every wrapper that is made from now on."""
    import functools

    context = module._TorchDynamoContext
    plain = context.__call__

    @functools.wraps(plain)
    def __call__(self, fn):
        out = plain(self, fn)
        try:
            if isinstance(self, module.OptimizeContext):
                _put(self, out, hook)
        except Exception:
            from . import failed

            failed("brackets.watch")
        return out

    context.__call__ = __call__


def _put(context, out, hook):
    fn = getattr(out, "_torchdynamo_orig_callable", None)
    hooks = getattr(context, "enter_exit_hooks", None)
    code = _code(fn)
    if type(hooks) is not list or code is None or not hasattr(out, "__code__"):
        return  # a module, whose forward has been here before
    codes = [code]
    for i, had in enumerate(hooks):
        if id(had) in _hooks:
            codes += had.tcdbg_bracket.codes
            del hooks[i]
            break
    bracket = _bracket(codes, hook)
    hooks.insert(0, bracket.hook)


def _bracket(codes, hook):
    key = frozenset(map(id, codes))
    found = _brackets.get(key)
    if found is None:
        found = _brackets[key] = Bracket(codes)
        found.hook = hook(found)
        found.hook.tcdbg_bracket = found
        _hooks.add(id(found.hook))
    return found


def _code(fn):
    """The code of the frame that a wrapper calls."""
    from .wrappers import written

    own = written(fn)
    if own is None:
        own = getattr(type(fn), "__call__", None)
    return getattr(own, "__code__", None)


# What is counted. The caller holds the lock of calls.py.


def begins(thread, bracket, at):
    _open.setdefault(thread, []).append([bracket, at, None, None])


def call(thread, track, run):
    """A call was counted to a run. UNKNOWN stands for a call that was not noted."""
    stack = _open.get(thread)
    if stack and stack[-1][2] is None:
        top = stack[-1]
        known = run is not UNKNOWN and id(track.code) in top[0].ids
        top[2], top[3] = (run, track) if known else (UNKNOWN, None)


def ends(thread, bracket, at):
    stack = _open.get(thread, ())
    if not any(b[0] is bracket for b in stack):
        return  # it began before a fork
    while True:
        found, began, run, track = stack.pop()
        if found is bracket:
            break
    if run is not None and run is not UNKNOWN and "sent" not in run:
        took(run, at - began)
        track.changed = True


def took(run, ns):
    """A call of a run took so long."""
    if "timed" not in run:
        run["timed"], run["ns"], run["min"], run["max"] = 1, ns, ns, ns
        return
    run["timed"] += 1
    run["ns"] += ns
    if ns < run["min"]:
        run["min"] = ns
    elif ns > run["max"]:
        run["max"] = ns


def forget():
    """A forked process has none of its parent's calls."""
    _open.clear()
