"""What a stop shows."""

import contextlib
import sys
import threading

from . import frames
from .values import DEPTH, Values, cut, locals_of, time_limit, _TooLong

EVALUATE = 20.0  # seconds that an expression may take


@contextlib.contextmanager
def dynamo_off():
    """Nothing that runs inside is compiled."""
    module = sys.modules.get("torch._C._dynamo.eval_frame")
    if module is None or "torch._dynamo.eval_frame" not in sys.modules:
        yield
        return
    prior = module.set_eval_frame(None)
    try:
        yield
    finally:
        module.set_eval_frame(prior)


def current_compile():
    """The compile id of what this thread compiles now, as the trace spells it."""
    try:
        found = sys.modules["torch._guards"].CompileContext.current_compile_id()
        return str(found) if found is not None else ""
    except Exception:
        return ""


class Level:
    """One level of the user's stack: a Python frame."""

    def __init__(self, code, line, scope, globals):
        self.code, self.line = code, line
        self.scope, self.globals = scope, globals
        self.unknown = {}  # name -> why it has no value

    @classmethod
    def of(cls, frame):
        return cls(frame.f_code, frame.f_lineno, frame.f_locals, frame.f_globals)

    def names(self):
        scope = dict(self.globals)
        scope.update(self.scope)
        return scope

    def locals(self, values, depth):
        scope, original = self.scope, frames.original_of(self.code)
        if original is not self.code:
            names = set(original.co_varnames + original.co_cellvars + original.co_freevars)
            scope = {k: v for k, v in scope.items() if k in names}
        scope = {k: v for k, v in scope.items() if not frames.of_dynamo(original, k)}
        return locals_of(values, original, scope, depth)

    def show(self, values, depth):
        out = frames.position(self.code, self.line)
        locals = self.locals(values, depth)
        if locals:
            out["locals"] = locals
        return out


class Moment:
    """Where a thread is when it may stop. What is asked of it is found then, not before."""

    def __init__(self, kind, stack, inner=()):
        self.kind = kind
        self.stack = stack  # () -> (frames of the user, how many are hidden)
        self.inner = inner  # () -> levels that Python's stack does not have: a frame that is traced
        self.compiled = self.compile = self.reason = ""
        self.captured = 0  # operators of the graph so far
        self.trace = None  # tracesteps.Trace, of a moment within one whose steps are recorded
        self.details = None  # (values, stop) -> None: adds what this kind of stop has
        self._levels = self._frames = None
        self.hidden = 0

    def frames(self):
        if self._frames is None:
            self._frames, self.hidden = self.stack()
        return self._frames

    @property
    def frame(self):
        """The innermost running frame of the user, None where there is none."""
        found = self.frames()
        return found[0] if found else None

    @property
    def levels(self):
        if self._levels is None:
            inner = list(self.inner() if self.inner else [])
            outer = [Level.of(f) for f in self.frames()]
            if inner and outer and frames.resumes(inner[-1].code, outer[0].code):
                del outer[0]
            if self.kind in ("frame", "recompile") and len(inner) == 1 and outer and frames.kind_of(inner[0].code) == frames.TORCH:
                inner = []  # PyTorch's wrapper of a callable: the program's line is where it calls that
                self.hidden += 1
            # Where it stands is always shown.
            mine = inner[:1] + [level for level in inner[1:] if frames.kind_of(level.code) in (frames.USER, frames.LIBRARY)]
            self.hidden += len(inner) - len(mine)
            self._levels = mine + outer
        return self._levels

    @property
    def depth(self):
        # A step asks at each line: locals are not looked at.
        return len(self.levels) if self.inner or self._levels is not None else len(self.frames())

    @property
    def where(self):
        levels = self.levels
        return frames.position(levels[0].code, levels[0].line) if levels else None

    def evaluate(self, code, level):
        levels = self.levels
        if not 0 <= level < max(1, len(levels)):
            raise LookupError("the stack has %d levels" % len(levels))
        scope = levels[level].names() if levels else {}
        scope["__builtins__"] = scope.get("__builtins__", __builtins__)
        try:
            return eval(code, scope)
        except NameError as e:
            unknown = levels[level].unknown if levels else {}
            name = getattr(e, "name", None) or str(e).split("'")[1:2]
            for n in [name] if isinstance(name, str) else name:
                if n in unknown:
                    raise LookupError(unknown[n]) from None
                if levels and levels[level].code.co_name.startswith(frames.RESUME):
                    raise LookupError("%s is not among the variables that Dynamo keeps for the rest of a function after a graph break" % n) from None
            raise

    def forget(self):
        """Frames are not kept."""
        self._levels = self._frames = None
        self.stack = lambda: ([], 0)
        self.inner = self.details = self.trace = None


class Stop:
    """The record of one stop."""

    def __init__(self, number, moment, why, point, command, thread, rank):
        import os

        self.moment = moment
        self.head = {"id": number, "pid": os.getpid(), "kind": moment.kind, "why": why, "thread": thread}
        for key, v in (("command", command), ("point", point)):
            if v:
                self.head[key] = v
        if rank is not None:
            self.head["rank"] = rank

    def compose(self, watches):
        m, out = self.moment, self.head
        values = Values()
        for key, v in (("where", m.where), ("compiled", m.compiled), ("compile", m.compile), ("reason", m.reason)):
            if v:
                out[key] = v
        out["stack"] = [
            level.show(values, DEPTH if i < 2 else 1) for i, level in enumerate(m.levels[:200])
        ]
        if m.details:
            try:
                m.details(values, out)
            except Exception as e:
                values.note(cut("not all could be shown: %s: %s" % (type(e).__name__, e)))
        if watches:
            out["watches"] = [self.answer(e, level) for e, level in list(watches.items())]
        notes = values.notes
        if len(m.levels) > 200:
            notes.append("of %d levels the innermost 200 are shown" % len(m.levels))
        if m.hidden:
            what = "1 frame" if m.hidden == 1 else "%d frames" % m.hidden
            notes.append(what + " of PyTorch or of Python's library left out")
        notes += _others()
        if notes:
            out["missing"] = notes
        return out

    def answer(self, expr, level):
        out = {"expr": expr, "level": level, "value": {}}
        try:
            code = compile(expr.strip(), "<tcdbg>", "eval")
            with time_limit(EVALUATE):
                result = self.moment.evaluate(code, level)
        except _TooLong:
            out["error"] = "it took more than %g s" % EVALUATE
        except SyntaxError as e:
            out["error"] = "no expression: %s" % e.msg
        except Exception as e:
            out["error"] = cut("%s: %s" % (type(e).__name__, e))
        else:
            out["value"] = Values().value(result)
        return out


def _others():
    """What a thread that stands still does to others."""
    notes = []
    dist = sys.modules.get("torch.distributed")
    try:
        if dist is not None and dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1:
            notes.append(
                "rank %d of %d stands still: a collective of the other ranks waits for it%s; pause all of them, or be brief"
                % (dist.get_rank(), dist.get_world_size(), _timeout(dist))
            )
    except Exception:
        pass
    if sum(t.name != "tcdbg" for t in threading.enumerate()) > 1:
        notes.append("other threads of the process run on")
    return notes


def _timeout(dist):
    try:
        group = dist.distributed_c10d._get_default_group()
        pg = group._get_backend(dist.distributed_c10d._get_pg_default_device(group))
        return ", at most %g s" % pg.options._timeout.total_seconds()
    except Exception:
        return ", until its timeout"
