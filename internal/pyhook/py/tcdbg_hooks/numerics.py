"""Compiled graphs beside eager execution: of each graph that a backend compiles, some calls run
twice more on copies of their inputs, compiled and operator by operator. What differs is
searched (numerics_search) and written as tcdbg_numerics records.

TCDBG_NUMERICS names a file of JSON: repro (folder for reproducers). What the program computes
stays what it is: it gets the results of its own call.
"""

import json
import os
import sys
import _thread

from . import at_finish, failed, guard, record, when

FIRST_CALLS = 3

_options = {}
_graphs = []
_local = _thread._local()


def start():
    with open(os.environ["TCDBG_NUMERICS"]) as f:
        _options.update(json.load(f))
    when("torch._dynamo.repro.after_dynamo", _after_dynamo)
    at_finish(_finish)


def repro_folder():
    return _options.get("repro", "")


def _after_dynamo(module):
    """Every backend passes wrap_backend_debug (2.6 to 2.15), as the minifier needs it to."""
    plain = getattr(module, "wrap_backend_debug", None)
    if plain is None:
        raise RuntimeError("this PyTorch has no wrap_backend_debug: no graph can be compared")

    def wrap_backend_debug(fn, name, *args, **kwargs):
        return plain(_Backend(fn, name), name, *args, **kwargs)

    module.wrap_backend_debug = wrap_backend_debug


def is_due(n):
    return n <= FIRST_CALLS or n & (n - 1) == 0


class _Backend:
    """A backend whose graphs are compared."""

    def __init__(self, fn, name):
        self.__dict__.update(getattr(fn, "__dict__", {}))
        for attr in ("__name__", "__qualname__", "__doc__", "__module__"):
            if hasattr(fn, attr):
                setattr(self, attr, getattr(fn, attr))
        self._torchdynamo_orig_backend = fn
        self._tcdbg_name = name
        for attr in ("get_compiler_config", "compiler_name"):
            if hasattr(fn, attr):
                setattr(self, attr, getattr(fn, attr))

    def __call__(self, gm, example_inputs, **kwargs):
        fn = self._torchdynamo_orig_backend
        busy = getattr(_local, "busy", False)
        graph = None if busy else guard(_Graph, self, gm)
        compiled = fn(gm, example_inputs, **kwargs)
        if graph is None:
            return compiled
        graph.run, graph.kwargs = compiled, kwargs
        _graphs.append(graph)
        return graph.call


class Held:
    """A captured graph that can be held beside eager execution."""

    def __init__(self, gm):
        import torch

        self.gm = torch.fx.GraphModule(gm, __import__("copy").deepcopy(gm.graph))
        self.holds_modules = any(n.op == "call_module" for n in self.gm.graph.nodes) and (
            any(True for _ in gm.parameters()) or any(True for _ in gm.buffers())
        )
        self.lifted, self.held = self.gm, []
        if not self.holds_modules:
            from . import numerics_run

            self.lifted, self.held = numerics_run.lifted(self.gm)

    def compare(self, args, run, none):
        """Compares a call before it is made: (subject, results of run on copies, eager results). Instead of the
        results of run there is None where those of the program's own call are to be compared: a second one
        would write what the graph holds. None where the call cannot be compared. none(why) is told what is not."""
        from . import numerics_run as runs

        why = runs.refused(args)
        if why or self.holds_modules:
            return none(why or "the graph calls modules that hold parameters")
        subject = runs.Subject(self.lifted, list(args) + self.held, len(args))
        if subject.note:
            none(subject.note)
        want = subject.eager()
        if any(r.held and not r.same for r in want):
            if subject.train:
                none("gradients: the graph writes tensors that it holds itself")
            subject.train = False
            return subject, None, subject.eager()
        with runs.traced():
            got = subject.execute(lambda *a: run(*a[: len(args)]))
        return subject, got, want


class _Graph(Held):
    """A compiled graph."""

    def __init__(self, backend, gm):
        self.backend = backend
        self.pid = os.getpid()
        self.lock = _thread.allocate_lock()
        name = backend._tcdbg_name or getattr(backend._torchdynamo_orig_backend, "__name__", "?")
        self.record = {
            "compile": _compile_id(), "graph": "graph of " + _compile_id(), "process": self.pid, "backend": str(name),
            "result": "not compared", "why": "it was not called", "calls": 0, "compared": 0, "values": [], "not_compared": [],
        }  # fmt: skip
        Held.__init__(self, gm)

    def call(self, *args):
        if getattr(_local, "busy", False) or in_trace():
            return self.run(*args)
        self.record["calls"] += 1
        n = self.record["calls"]
        if not is_due(n) or "fault" in self.record or not self.lock.acquire(False):
            return self.run(*args)
        try:
            waits = self.aside(n, self.compared, n, args)
            out = self.run(*args)
            if waits:
                self.aside(n, waits, args, out)
        finally:
            self.lock.release()
        return out

    def aside(self, n, fn, *args):
        """Calls fn, which is no part of the program."""
        from . import numerics_run as runs

        _local.busy = True
        try:
            with runs.aside():
                try:
                    return fn(*args)
                except Exception as e:
                    failed("numerics: call of " + self.record["graph"])
                    self.none("call %d: %s: %.200s" % (n, type(e).__name__, e))
            return None
        finally:
            _local.busy = False
            self.settle()
            guard(self.write)

    def compared(self, n, args):
        """Compares a call before it runs. It returns what is to be called with the arguments and the
        results of the program's own run, where that is what can be compared."""
        found = self.compare(args, self.run, self.none)
        if found is None:
            return None
        subject, got, want = found
        if got is None:
            return lambda args, out: self.judged(n, subject, subject.after(list(args) + self.held, out), want)
        self.judged(n, subject, got, want)
        return None

    def judged(self, n, subject, got, want):
        self.born(n, subject)
        judged = subject.judge(got, want)
        if not judged:
            return self.none("nothing compared: the graph gives back no value of its own and writes none")
        self.record["compared"] += 1
        for c in judged:
            self.note(c)
            if c.undecided:
                self.none("%s of call %d: rounding alone moves the eager result as far" % (c.what, n))
                self.record["result"] = "undecided"
        wrong = next((c for c in judged if c.differs()), None)
        if wrong is not None:
            from . import numerics_search

            self.record["result"] = "differs"
            fault = {"call": n, "stage": "backend " + self.record["backend"], "value": wrong.data()}
            self.record["fault"] = fault
            search = numerics_search.Search(self, subject, fault)
            guard(search.run)

    def born(self, n, subject):
        if any("NaN" in self.record[k]["what"] for k in ("born", "nan") if k in self.record):
            return
        for b in guard(subject.born) or ():
            key = "nan" if "born" in self.record else "born"
            if key == "born" or "NaN" in b["what"]:
                self.record[key] = dict(b, call=n)

    def none(self, why):
        if why not in self.record["not_compared"] and len(self.record["not_compared"]) < 16:
            self.record["not_compared"].append(why)

    def note(self, c):
        values = self.record["values"]
        for i, v in enumerate(values):
            if v["what"] == c.what:
                if c.worst > v["worst"]:
                    values[i] = c.data()
                return
        if len(values) < 64:
            values.append(c.data())

    def settle(self):
        r = self.record
        r.pop("why", None)
        if r["result"] in ("differs", "undecided"):
            return
        if r["compared"]:
            r["result"] = "equal"
        elif r["not_compared"]:
            r["why"] = r["not_compared"][0]

    def write(self):
        self.written = self.record["calls"]
        record("tcdbg_numerics", self.record)


def _compile_id():
    try:
        from torch._guards import CompileContext

        cid = CompileContext.current_compile_id()
        return "%d/%d" % (cid.frame_id, cid.frame_compile_id)
    except Exception:
        return "?"


def in_trace():
    """Whether the call is itself traced, or on fake tensors."""
    import torch

    try:
        return torch.compiler.is_compiling() or torch._C._get_dispatch_mode(torch._C._TorchDispatchModeKey.FAKE) is not None
    except Exception:
        return False


def _finish():
    for g in _graphs:
        if g.pid == os.getpid() and getattr(g, "written", -1) != g.record["calls"]:
            guard(g.write)
