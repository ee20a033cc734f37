"""Stops where a compiled graph does not compute what eager execution does.

Before a call of a graph both run on copies of its inputs, with the generators' state put back
afterwards, and are compared by the rules of numerics_run.py; the stop comes when the program's own
call has run. docs/numerics.md tells what is compared, and when two results are equal.
"""

import sys
import threading

from . import graphs, hooked, symbolic

MANY = 8  # reasons for which calls were not compared that are told


class Watch:
    def __init__(self, hooks):
        self.hooks = hooks
        self.untold = []

    def begins(self, name, fn, args):
        session = self.hooks.session
        found = self.hooks.graphs.captured.get(name)
        from . import numerics

        if session.busy() or numerics.in_trace():
            return None
        if found is None:
            return self.none(name, "what was captured for it is not known")
        held, compared, wrong = found[1], None, None
        with _Aside(self, name):
            compared = held.compare(args, fn, lambda why: self.none(name, why))
            if compared is not None and compared[1] is not None:
                wrong = self.judged(name, *compared)
        if wrong is not None:
            return lambda out: hooked(self.stop, name, held, wrong)
        if compared is None or compared[1] is not None:
            return None
        subject, _, want = compared
        return lambda out: self.own(name, held, subject, list(args) + held.held, out, want)

    def own(self, name, held, subject, args, out, want):
        """Compares the program's own call."""
        wrong = None
        with _Aside(self, name):
            wrong = self.judged(name, subject, subject.after(args, out), want)
        if wrong is not None:
            hooked(self.stop, name, held, wrong)

    def judged(self, name, subject, got, want):
        """(what differs, compiled, eager) of the first value that does, None where all are equal."""
        judged = subject.judge(got, want)
        if not judged:
            return self.none(name, "it gives back no value of its own and writes none")
        for c in judged:
            if c.undecided:
                self.none(name, "%s: rounding alone moves the eager result as far" % c.what)
            if c.differs() and subject.random and _draws_otherwise():
                return self.none(name, "it draws random numbers, and Inductor draws others than eager execution does")
            if c.differs():
                return c, _value(got, c.what), _value(want, c.what)
        return None

    def none(self, name, why):
        """Says with the breakpoint what is not compared."""
        text = "%s: %s" % (graphs.spelled(name), why)
        if text not in self.untold and len(self.untold) <= MANY:
            self.untold.append(text if len(self.untold) < MANY else "and others")
            self.hooks.session.note(("differs",), "not compared: " + "; ".join(self.untold))
        return None

    def stop(self, name, held, wrong):
        c, got, want = wrong
        moment = graphs.here("differs")
        what = c.what + " of " + graphs.spelled(name)
        if c.what.startswith("input "):
            what += ", which it writes,"
        moment.reason = "%s differs from eager: %s" % (what, _difference(c))

        def details(values, out):
            out["symbolic"] = [values.named(n, t) for n, t in (("compiled", got), ("eager", want)) if t is not None]
            out["nodes"] = symbolic.node_lines(held.gm.graph)
            values.note("eager operators are not compared")

        moment.details = details
        self.hooks.session.safe(moment, lambda p: p.kind == "differs")


class _Aside:
    """What runs inside is no part of the program, and is stopped at nowhere; what fails is said."""

    def __init__(self, watch, name):
        self.watch, self.name = watch, name

    def __enter__(self):
        from . import numerics_run as runs

        self.ident = threading.get_ident()
        self.watch.hooks.session.aside.add(self.ident)
        self.runs = runs.aside()
        self.runs.__enter__()

    def __exit__(self, kind, error, tb):
        self.runs.__exit__(None, None, None)
        self.watch.hooks.session.aside.discard(self.ident)
        if kind is not None and issubclass(kind, Exception):
            self.watch.none(self.name, "%s: %.200s" % (kind.__name__, error))
            return True
        return False


def _draws_otherwise():
    """Whether compiled code may draw other random numbers than eager execution does."""
    config = sys.modules.get("torch._inductor.config")
    return "torch._inductor.compile_fx" in sys.modules and not getattr(config, "fallback_random", False)


def _value(results, what):
    return next((r.t for r in results if r.what == what), None)


def _difference(c):
    if c.note:
        return c.note
    if c.shaped:
        return "compiled %s, eager %s" % (c.compiled, c.eager)
    text = "%d of %d elements by more than %s allows; the farthest is " % (c.faulty, c.elements, c.dtype)
    text += "element %s: " % c.at if c.at else ""
    return text + "compiled %s, eager %s" % (c.compiled, c.eager)
