"""Which calls of compiled functions run eagerly, so that their lines can be seen.

Compiled code has no lines to stop at. While a breakpoint is on a line that was traced into what is
compiled for a function, the calls of that function run as they are written, as under
torch.compiler.set_stance("force_eager"): nothing is compiled meanwhile, and what is compiled stays.
"""

import sys
import threading
import weakref

from . import frames, wrappers
from .calls import probing, ran_eagerly

MANY = 64  # compiles that are looked at at the same time


class _Part:
    """A piece of code that was traced."""

    def __init__(self, code, root):
        self.file = code.co_filename
        self.lines = frozenset(line for _, _, line in _lines(code) if line)
        self.code = None if root else code

    def has(self, point):
        if point.kind == "line":
            return point.line in self.lines and point.in_file(self.file)
        # A function that is compiled itself is stopped at when it is called.
        return point.kind == "func" and self.code is not None and point.names(self.code)


def _lines(code):
    if hasattr(code, "co_lines"):
        return code.co_lines()
    import dis

    return [(0, 0, line) for _, line in dis.findlinestarts(code)]


class _Root:
    """A frame that is compiled, and what was traced into its entries."""

    def __init__(self, code):
        self.code = weakref.ref(code)
        self.parts = {}  # id of code -> _Part

    def alive(self):
        """Whether it has an entry."""
        code = self.code()
        return code is not None and bool(wrappers.entries(code))


class Eager:
    def __init__(self, session):
        self.session = session
        self.traced = {}  # compile id -> (id of the trace, root, {id of code: code})
        self.regions = {}  # id -> (what is compiled, [roots])
        self.inside = {}  # ident of a thread -> names of its calls that run eagerly
        self.ready = False
        self.refused = ""  # why this release of PyTorch cannot

    def loaded(self, module, release):
        why = wrappers.unsupported(module)
        self.ready = not why
        if why:
            self.refused = "calls that compiled code serves pass it by: %s, %s" % (release, why)
            self.session.note(("line", "func"), self.refused)

    # What is traced.

    def line(self, compile_id, trace, root, code):
        """A line of code is traced in a compile of the frame of root."""
        seen = self.traced.get(compile_id)
        if seen is None or seen[0] != trace:
            if len(self.traced) >= MANY:
                self.traced.clear()
            seen = self.traced[compile_id] = (trace, root, {})
        seen[2][id(code)] = code

    def compiled(self, compile_id, frame):
        """A compile has made code; frame is one of the stack."""
        found = self.traced.pop(compile_id, None)
        fn = found and wrappers.of_stack(frame)
        if fn is None:
            return
        _, code, codes = found
        root = self.root(fn, code)
        for each in codes.values():
            if id(each) not in root.parts and frames.kind_of(each) in (frames.USER, frames.LIBRARY):
                root.parts[id(each)] = _Part(each, each is code)

    def root(self, fn, code):
        owner = _owner(fn)
        key = id(owner)
        if key not in self.regions:
            self.regions[key] = (weakref.ref(owner, lambda _: self.regions.pop(key, None)), [])
        roots = self.regions[key][1]
        roots[:] = [r for r in roots if r.code() is not None]
        for r in roots:
            if r.code() is code:
                return r
        roots.append(_Root(code))
        return roots[-1]

    # What runs.

    def arm(self, wanted):
        """Called with the session's lock."""
        if not self.ready:
            return
        if wanted:
            wrappers.watch(self.begins)
        elif not self.inside:
            wrappers.unwatch(self.begins)

    def wanted(self):
        session = self.session
        return bool(session.kinds & {"line", "func"}) or any(s.kind == "into" for s in list(session.steps.values()))

    def begins(self, call):
        """Decides how a call of a compiled function runs."""
        ident = threading.get_ident()
        self.session.lines.here(call.frame)
        if not call.callback or _busy():
            return
        inside = self.inside.get(ident)
        if not inside and not self.chosen(call):
            return
        call.eager = True
        if not inside:
            ran_eagerly(self.outermost(call.function), "breakpoint")
        self.inside.setdefault(ident, []).append(wrappers.name(call.function))
        call.at_end(self.ended)

    def outermost(self, fn):
        """The frame that a call of a function begins with: it was compiled first."""
        found = self.regions.get(id(_owner(fn)))
        return found[1][0].code() if found and found[1] else None

    def ended(self):
        ident = threading.get_ident()
        names = self.inside.get(ident)
        if names:
            names.pop()
        if not names:
            self.inside.pop(ident, None)
            with self.session.lock:
                self.arm(self.wanted())

    def chosen(self, call):
        """Whether compiled code would serve a call that a breakpoint lies in."""
        owner = _owner(call.function)
        found = self.regions.get(id(owner))
        if found is None or found[0]() is not owner:
            return False
        session, me = self.session, threading.current_thread()
        step = session.steps.get(threading.get_ident())
        into = step is not None and step.mine() and step.kind == "into"
        points = [p for p in list(session.points.values()) if p.kind in ("line", "func") and p.once in (None, me)]
        wanted = any(
            r.alive() and (into or any(part.has(p) for part in list(r.parts.values()) for p in points)) for r in list(found[1])
        )
        return wanted and _served(call) is not False

    def words(self):
        """What a stop in this thread says of the call that it is in, "" where none runs eagerly."""
        names = self.inside.get(threading.get_ident())
        if not names:
            return ""
        return "this call of %s runs eagerly; compiled code is kept" % names[0]


def _owner(fn):
    """What the entries of a compiled function belong to: its code, which other functions and modules
    may have, too. Code of PyTorch's own stands for many, so that there it is the function itself."""
    own = wrappers.written(fn)
    return fn if own is None or frames.kind_of(own.__code__) == frames.TORCH else own.__code__


def _served(call):
    """Whether an entry of the function that is called serves the call, None where that is not known.
    Otherwise the call is compiled, and the lines are seen in the trace."""
    try:
        code, scope = call.arguments()
        if scope is None:
            return None
        with probing():
            return any(e.guard_manager.check(scope) for e in wrappers.entries(code))
    except Exception:
        return None


def _busy():
    """Whether the call is part of a trace or of a compile, or must compile nothing."""
    guards = sys.modules.get("torch._guards")
    if guards is not None and guards.TracingContext.try_get() is not None:
        return True
    stance = getattr(sys.modules["torch._dynamo.eval_frame"], "_stance", None)
    return getattr(stance, "stance", "") == "fail_on_recompile"
