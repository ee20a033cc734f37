"""Calls of compiled graphs, seen by those who watch them, and what was captured for each.

The compiled functions, which generated code reads from the globals of the user's module, are
wrapped while somebody watches. A graph is copied when it is compiled, before a backend changes it.
"""

import re
import sys

from . import frames, guard, wrappers
from .stops import Moment, dynamo_off

PREFIX = "__compiled_fn_"


class Graphs:
    def __init__(self):
        self.watchers = ()  # each has begins(name, fn, args), which returns a function of the results, or None
        self.wrapped = []  # (globals, name, original, wrapper)
        self.captured = {}  # name -> (globals of its code, numerics.Held)

    def arm(self, watchers):
        """Called with the session's lock."""
        before, self.watchers = self.watchers, tuple(watchers)
        if watchers and not before:
            guard(wrappers.never_compile, sys.modules.get("torch._dynamo.eval_frame"))
            self.more()
        elif before and not watchers:
            for scope, name, original, wrapper in self.wrapped:
                if scope.get(name) is wrapper:
                    scope[name] = original
            self.wrapped.clear()

    def more(self):
        """Wraps the compiled functions that are not yet: of all modules, and of the frame that
        is being compiled."""
        if not self.watchers:
            return
        scopes = {id(m.__dict__): m.__dict__ for m in list(sys.modules.values()) if hasattr(m, "__dict__")}
        compiled = _scope(sys._getframe(1))
        if compiled is not None:
            scopes[id(compiled)] = compiled
        for scope, _ in list(self.captured.values()):
            scopes[id(scope)] = scope
        for scope in scopes.values():
            for name in [n for n in list(scope) if isinstance(n, str) and n.startswith(PREFIX)]:
                fn = scope[name]
                if callable(fn) and not hasattr(fn, "_tcdbg_original"):
                    wrapper = self.wrap(name, fn)
                    scope[name] = wrapper
                    self.wrapped.append((scope, name, fn, wrapper))

    def wrap(self, name, fn):
        def watched(*args, **kwargs):
            waiting = []
            for watcher in self.watchers:
                with dynamo_off():
                    after = guard(watcher.begins, name, fn, args)
                if after is not None:
                    waiting.append(after)
            out = fn(*args, **kwargs)
            for after in waiting:
                with dynamo_off():
                    after(out)
            return out

        watched._tcdbg_original = fn
        return watched

    # What is compiled.

    def keep(self, module):
        """Has a graph kept when it is compiled: module is torch._dynamo.output_graph. Returns why that
        cannot be, "" where it can."""
        graph = getattr(module, "OutputGraph", None)
        plain = getattr(graph, "call_user_compiler", None)
        if plain is None:
            return "it compiles graphs in a place that we do not know"

        def call_user_compiler(output, gm, *args, **kwargs):
            guard(self.compiles, gm, sys._getframe(1))
            return plain(output, gm, *args, **kwargs)

        graph.call_user_compiler = call_user_compiler
        return ""

    def compiles(self, gm, frame):
        from .numerics import Held

        inner = frame
        while frame is not None and frame.f_code.co_name != "compile_and_call_fx_graph":
            frame = frame.f_back
        name = frame.f_locals.get("name") if frame is not None else None
        scope = _scope(inner)
        if isinstance(name, str) and scope is not None:
            for old, (its, _) in list(self.captured.items()):
                if old not in its and old != name:  # its code is gone, or its compile failed
                    del self.captured[old]
            self.captured[name] = (scope, Held(gm))


def _scope(frame):
    """The globals of the code that is compiled."""
    while frame is not None:
        scope = frame.f_locals.get("globals") if frame.f_code.co_name == "_compile" else None
        if isinstance(scope, dict):
            return scope
        frame = frame.f_back
    return None


def spelled(name):
    """A compiled function's name, as a stop says it: without what makes it unique."""
    return re.sub(r"__(compiled_fn_\d+)\w*", r"\1", name)


def here(kind):
    """The moment of a call of a graph."""
    at = sys._getframe(1)
    moment = Moment(kind, lambda: frames.user_frames(at))
    moment.compiled = next((frames.function_name(f.f_code) for f in moment.frames()), "")
    return moment
