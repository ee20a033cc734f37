"""The hooks in PyTorch's compiler. Each is looked for by name; one that this release has not is
said, and breakpoints that need it are refused."""

import json
import os
import sys
import threading

from . import eager, frames, graphs, guard, hooked, lines, symbolic, walk, when, wrappers
from . import guards as guard_states
from .stops import Level, Moment, current_compile


def called(code, scope):
    """What the program calls that is compiled, and in words that its frame is PyTorch's own: a wrapper of a callable, as of
    nn.Sequential, whose code is not the program's."""
    name = frames.function_name(code)
    if frames.kind_of(code) != frames.TORCH:
        return name, ""
    fn = scope.get("fn")
    fn = getattr(fn, "__self__", fn)
    if fn is not None:
        own = fn.__qualname__ if hasattr(fn, "__qualname__") else type(fn).__name__
    else:
        own = type(scope["self"]).__name__ if "self" in scope else name
    return own, "the frame that is compiled for it is PyTorch's own: %s of %s" % (name, os.path.basename(code.co_filename))


class Hooks:
    """Our hooks, and the session that they ask."""

    def __init__(self, session):
        self.session = session
        self.progress = {}  # compile id -> walk.Seen
        self.guard_hook = None  # where it can be set
        self.guard_set = False
        self.chained = None
        self.codes = {}  # gb_type -> codes
        self.graphs = graphs.Graphs()
        self.walk = walk.Walk(self)
        self.watches = {}  # kind of stop -> what watches graphs for it
        self.excepthooks = None
        self.eager = session.eager = eager.Eager(session)
        when("torch._dynamo.symbolic_convert", self.symbolic_convert)
        when("torch._dynamo.output_graph", self.output_graph)
        when("torch._dynamo.guards", self.guards)
        when("torch._dynamo.callback", self.callback)
        when("torch._dynamo.convert_frame", self.convert_frame)
        when("torch._dynamo.eval_frame", self.eval_frame)

    def release(self):
        return "PyTorch " + str(getattr(sys.modules.get("torch"), "__version__", "")).partition("+")[0]

    def arm(self, session):
        """Called with the session's lock when what is asked for changes."""
        self.arm_guards(session.at_calls)
        self.eager.arm(self.eager.wanted())
        self.arm_graphs(session.kinds)
        self.arm_raised("raised" in session.kinds)

    # Calls of graphs.

    def arm_graphs(self, kinds):
        import importlib

        for kind in ("nan", "differs"):
            if kind in kinds and kind not in self.watches:
                self.watches[kind] = importlib.import_module(__package__ + "." + kind).Watch(self)
        for kind, watch in self.watches.items():
            watch.on = kind in kinds
        self.graphs.arm([w for w in self.watches.values() if w.on])

    def output_graph(self, module):
        why = self.graphs.keep(module)
        if why:
            self.session.cannot("differs", self.release() + ": " + why)

    # Breaks and traced lines.

    def symbolic_convert(self, module):
        base = getattr(module, "InstructionTranslatorBase", None)
        if hasattr(base, "log_graph_break"):
            base.log_graph_break = self.method_break(base.log_graph_break)
        elif hasattr(module, "log_graph_break"):
            module.log_graph_break = self.function_break(module.log_graph_break)
        else:
            self.session.cannot("break", self.release() + " has no log_graph_break: breaks cannot be stopped at")
            self.session.cannot("code", self.release() + " has no log_graph_break: breaks cannot be stopped at")
        guard(self.read_codes)
        if hasattr(base, "starts_line"):
            base.starts_line = self.traced_line(base.starts_line)
        if hasattr(base, "step") and hasattr(base, "starts_line"):
            base.step = self.walk.each(base.step)
        else:
            why = self.release() + " has no loop over instructions that can be hooked"
            self.session.missing.update(operator=why, instruction=why)

    def method_break(self, original):
        def log_graph_break(tx, code_options, reason="", exc=None, *args, **kwargs):
            if self.session.at_hooks and not getattr(exc, "logged", False):
                hooked(self.broke, tx, exc, reason)
            return original(tx, code_options, reason, exc, *args, **kwargs)

        return log_graph_break

    def function_break(self, original):
        def log_graph_break(code_options, reason="", exc_info=False, user_stack=None):
            if self.session.at_hooks:
                tx = sys._getframe(1).f_locals.get("self")
                if hasattr(tx, "symbolic_locals"):
                    hooked(self.broke, tx, sys.exc_info()[1], reason)
            return original(code_options, reason=reason, exc_info=exc_info, user_stack=user_stack)

        return log_graph_break

    def broke(self, tx, exc, reason):
        at = sys._getframe(1)
        value = self.decider(at, exc)
        moment = self.traced(tx, "break", exc)
        moment.reason = str(reason or exc)[:4000]
        codes = self.codes.get(getattr(exc, "gb_type", None), ())

        def details(values, out):
            levels = moment.levels
            if levels and isinstance(levels[0], symbolic.TracedLevel):
                out["symbolic"] = levels[0].locals(values, 2)
                if value is not None:
                    name = getattr(symbolic.node_of(value), "name", "")
                    out["deciding"] = symbolic.shown(name, value, levels[0].replay, values)
            out["nodes"] = symbolic.node_lines(tx.output.graph)

        moment.details = details
        self.session.safe(moment, lambda p: p.kind == "break" or (p.kind == "code" and p.arg in codes))

    def traced(self, tx, kind, exc=None):
        """A moment within the trace of tx."""
        at = sys._getframe(1)
        moment = Moment(kind, lambda: frames.user_frames(at), lambda: symbolic.levels_of(tx, exc))
        root = getattr(tx.output, "root_tx", None) or tx
        moment.compiled = frames.function_name(root.f_code)
        moment.compile = current_compile()
        moment.captured = len(walk.captured(tx))
        moment.trace = getattr(tx.output, "_tcdbg_trace", None)
        return moment

    def amid(self, moment, tx):
        """What a stop amid a trace shows besides."""

        def details(values, out):
            out["symbolic"] = moment.levels[0].locals(values, 2)
            out["nodes"] = symbolic.node_lines(tx.output.graph)

        return details

    def decider(self, frame, exc):
        """The tracker that a branch or an item() asks for, None where it is neither."""
        for _ in range(12):
            if frame is None:
                break
            name = frame.f_code.co_name
            if name == "jump_graph_break" and "value" in frame.f_locals:
                return frame.f_locals["value"]
            frame = frame.f_back
        tb, found = getattr(exc, "__traceback__", None), None
        while tb is not None:
            at = tb.tb_frame
            if at.f_code.co_name in ("method_item", "method_tolist", "method___bool__") and "self" in at.f_locals:
                found = at.f_locals["self"]
            tb = tb.tb_next
        return found

    def read_codes(self):
        """The codes of breaks, by PyTorch's registry."""
        try:
            here = os.path.dirname(sys.modules["torch._dynamo"].__file__)
            with open(os.path.join(here, "graph_break_registry.json"), encoding="utf-8") as f:
                for code, rows in json.load(f).items():
                    for row in rows:
                        self.codes.setdefault(row.get("Gb_type"), set()).add(code)
        except (OSError, ValueError, KeyError):
            self.session.cannot("code", self.release() + " has no registry of graph breaks")

    def traced_line(self, original):
        def starts_line(tx, lineno):
            new = tx.lineno != lineno
            original(tx, lineno)
            step = self.walk.step()
            if new:
                hooked(self.line_of, tx, lineno)
            elif hasattr(tx.output, "_tcdbg_seen"):
                tx.output._tcdbg_seen.within += 1
            if step is not None and step is self.walk.step():  # it has not stopped at the line
                hooked(self.walk.reached, tx, tx.current_instruction)

        return starts_line

    def line_of(self, tx, lineno):
        """A line of a frame that is traced. A trace that starts again shows none twice."""
        compile_id = current_compile()
        root = getattr(tx.output, "root_tx", None) or tx
        self.eager.line(compile_id, id(root), root.f_code, tx.f_code)
        seen = self.progress.get(compile_id)
        if seen is None or seen.root != id(root):
            if len(self.progress) > 64:
                self.progress.clear()
            seen = self.progress[compile_id] = tx.output._tcdbg_seen = walk.Seen(id(root), seen)
        if not seen.line():
            return
        session = self.session
        if not session.at_hooks or not session.wants_line(tx.f_code, lineno, threading.get_ident()):
            return
        moment = self.traced(tx, "line")
        moment.reason = "Dynamo traces this line: what it computes runs later, in the compiled code"
        moment.details = self.amid(moment, tx)
        me = threading.current_thread()
        session.safe(
            moment,
            lambda p: p.kind == "line" and p.line == lineno and p.in_file(tx.f_code.co_filename) and p.once in (None, me),
        )

    # Misses.

    def guards(self, module):
        for name in ("get_and_maybe_log_recompilation_reasons", "get_and_maybe_log_recompilation_reason"):
            if hasattr(module, name):
                setattr(module, name, self.missing(getattr(module, name)))
                return
        for kind in ("recompile", "guard"):
            self.session.cannot(kind, self.release() + " has no hook of guard misses")

    def missing(self, original):
        def get_and_maybe_log_recompilation_reasons(entries, frame, *args, **kwargs):
            reasons = original(entries, frame, *args, **kwargs)
            if self.session.at_hooks and not (kwargs.get("skip_logging") or args[1:2] == (True,)):
                hooked(self.missed, entries, frame, reasons)
            return reasons

        return get_and_maybe_log_recompilation_reasons

    def missed(self, entries, frame, reasons):
        at = sys._getframe(1)
        code = frame.f_code
        moment = Moment(
            "recompile", lambda: frames.user_frames(at),
            lambda: [Level(code, code.co_firstlineno, frame.f_locals, frame.f_globals)],
        )  # fmt: skip
        moment.compiled, wraps = called(code, frame.f_locals)
        moment.compile = current_compile()
        text = "\n".join(str(r) for r in reasons) if isinstance(reasons, (list, tuple)) else str(reasons)
        moment.reason = "\n".join(t for t in (text[:4000], wraps) if t)

        def details(values, out):
            out["guards"] = guard_states.states(guard_states.entries_of(entries), frame, values)

        moment.details = details
        self.session.safe(moment, lambda p: p.kind == "recompile" or (p.kind == "guard" and p.arg in text))

    # Compiles.

    def callback(self, module):
        handler = getattr(module, "CompilationCallbackHandler", None)
        if not hasattr(handler, "install_callbacks"):
            for kind in ("frame", "id"):
                self.session.cannot(kind, self.release() + " has no callbacks around compiles")
            return
        original = handler.install_callbacks

        def install_callbacks(this, *args, **kwargs):
            if self.session.at_hooks:
                hooked(self.compiles, args)
            return original(this, *args, **kwargs)

        handler.install_callbacks = install_callbacks

    def compiles(self, args):
        at = frame = sys._getframe(1)
        trigger = getattr(args[0], "name", "DYNAMO") if args else "DYNAMO"
        while frame is not None and not (frame.f_code.co_name == "_compile" and "frame_state" in frame.f_locals):
            frame = frame.f_back
        moment = Moment("frame", lambda: frames.user_frames(at))
        moment.compile = str(args[1]) if len(args) > 1 else current_compile()
        if trigger == "DYNAMO" and frame is not None:
            found = frame.f_locals
            code, scope, globals = found["code"], found["locals"], found["globals"]
            moment.inner = lambda: [Level(code, code.co_firstlineno, scope, globals)]
            moment.compiled, moment.reason = called(code, scope)
        else:
            moment.reason = "compiles %s" % trigger.lower().replace("_", " ")
        compile_id = moment.compile
        self.session.safe(moment, lambda p: p.kind == "frame" or (p.kind == "id" and p.of_compile(compile_id)))

    def convert_frame(self, module):
        for name in ("get_and_maybe_log_recompilation_reasons", "get_and_maybe_log_recompilation_reason"):
            ours = getattr(sys.modules.get("torch._dynamo.guards"), name, None)
            if ours is not None and hasattr(module, name):
                setattr(module, name, ours)
        register = getattr(module, "register_bytecode_hook", None)
        if register is None:
            for kind in ("call", "nan", "differs"):
                self.session.cannot(kind, self.release() + " has no bytecode hook")
            return
        register(self.bytecode)

    def bytecode(self, code, new_code):
        frames.note_generated(code, new_code)
        guard(self.eager.compiled, current_compile(), sys._getframe(1))
        guard(self.graphs.more)

    # Calls of compiled functions.

    def eval_frame(self, module):
        guard(wrappers.never_compile, module)
        guard(self.eager.loaded, module, self.release())
        c = sys.modules.get("torch._C._dynamo.eval_frame")
        self.guard_hook = getattr(c, "set_guard_complete_hook", None)
        if self.guard_hook is None and not lines.MONITORING:
            self.session.cannot("call", self.release() + " has no guard-complete hook: it came with 2.7")
        self.session.lines.engine.tells_hits = self.guard_hook is not None
        with self.session.lock:
            self.session.rearm()

    def arm_guards(self, on):
        if self.guard_hook is None or on == self.guard_set:
            return
        if on:
            self.chained = self.guard_hook(self.checked)
        else:
            now = self.guard_hook(self.chained)
            if now != self.checked:  # the program set one of its own meanwhile
                self.guard_hook(now)
        self.guard_set = on

    def checked(self, hit):
        """After the guards of a call were run, in its thread."""
        if self.chained is not None:
            hit = self.chained(hit)
        hooked(self.call, hit)
        return hit

    def call(self, hit):
        session = self.session
        if session.busy():
            return
        at = sys._getframe(1)
        session.lines.here(at)
        if session.at_calls:
            session.lines.engine.next_call(session, hit)

    # Errors that nobody catches.

    def arm_raised(self, on):
        if on and self.excepthooks is None:
            self.excepthooks = (sys.excepthook, threading.excepthook)
            sys.excepthook = self.excepthook
            threading.excepthook = self.threadhook
        elif not on and self.excepthooks is not None:
            if sys.excepthook == self.excepthook:
                sys.excepthook = self.excepthooks[0]
            if threading.excepthook == self.threadhook:
                threading.excepthook = self.excepthooks[1]
            self.excepthooks = None

    def excepthook(self, kind, value, tb):
        before = (self.excepthooks or (sys.__excepthook__,))[0]
        guard(self.raised, kind, value, tb)
        before(kind, value, tb)

    def threadhook(self, args):
        before = (self.excepthooks or (None, threading.__excepthook__))[1]
        guard(self.raised, args.exc_type, args.exc_value, args.exc_traceback)
        before(args)

    def raised(self, kind, value, tb):
        if not issubclass(kind, Exception):
            return
        found = []
        while tb is not None:
            found.append(tb)
            tb = tb.tb_next
        own = [t for t in reversed(found) if frames.kind_of(t.tb_frame.f_code) in (frames.USER, frames.LIBRARY)]
        levels = [Level(t.tb_frame.f_code, t.tb_lineno, t.tb_frame.f_locals, t.tb_frame.f_globals) for t in own]
        moment = Moment("raised", lambda: ([], len(found) - len(own)), lambda: levels)
        moment.reason = ("%s: %s" % (kind.__name__, value))[:4000]
        self.session.safe(moment, lambda p: p.kind == "raised")
