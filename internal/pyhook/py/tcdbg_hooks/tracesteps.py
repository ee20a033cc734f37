"""Records the steps of Dynamo's traces: each instruction with the symbolic stack, and the guards and
nodes that it added, as package logs of tcdbg describes them (tracesteps.go).

A step is an instruction of the program's own functions, or of libraries that Dynamo inlines. What code of
PyTorch adds within a call belongs to the instruction that calls it. Each attempt at a trace is written when it
ends, into PyTorch's own trace, which knows its compile.
"""

import json
import sys

from . import failed, frames, guard, record, symbolic, when
from .values import cut
from .walk import instruction_text

RECORDED = 4096  # steps of one trace; up to twice as many where they add something
REPEATS = 4  # of an instruction that adds nothing
SHOWN = 8  # values of the symbolic stack, the top ones
ADDED = 200  # nodes or guards of one step
TEXT = 200  # characters of a text
AMID = 8 << 20  # characters that stops amid one trace write

# Instructions that do nothing by themselves.
QUIET = {"RESUME", "NOP", "CACHE", "PRECALL", "EXTENDED_ARG", "KW_NAMES", "PUSH_NULL", "MAKE_CELL", "COPY_FREE_VARS", "NOT_TAKEN"}

STORES = ("STORE_FAST", "STORE_NAME", "STORE_DEREF")


def start():
    when("torch._dynamo.symbolic_convert", _symbolic_convert)


def _symbolic_convert(module):
    base = getattr(module, "InstructionTranslatorBase", None)
    why = ""
    if not hasattr(base, "step") or not hasattr(base, "run"):
        why = "no loop over instructions that can be hooked"
    elif not hasattr(getattr(sys.modules.get("torch._guards"), "GuardsSet", None), "add"):
        why = "no set of guards that can be hooked"
    elif getattr(sys.modules.get("torch._logging"), "trace_structured", None) is None:
        why = "no torch._logging.trace_structured"
    if why:
        release = str(getattr(sys.modules.get("torch"), "__version__", "")).partition("+")[0]
        record("tcdbg_trace_steps", {"places": [], "steps": [], "missing": "PyTorch %s has %s" % (release, why)})  # of no compile
        return
    base.step = _stepping(base.step)
    base.run = _running(base.run)
    guards = sys.modules["torch._guards"].GuardsSet
    guards.add = _adding(guards.add)


def _adding(original):
    def add(this, one, *args, skip=0, **kwargs):
        before = len(this.inner)
        original(this, one, *args, skip=skip + 1, **kwargs)
        new = getattr(this, "_tcdbg_new", None)
        if new is not None and len(this.inner) > before:
            new.append(one)

    return add


def _stepping(original):
    def step(tx):
        at = tx.instruction_pointer
        if at is None or frames.kind_of(tx.f_code) not in (frames.USER, frames.LIBRARY):
            return original(tx)
        try:
            trace = tx.output._tcdbg_trace
        except AttributeError:  # not begun by run
            return original(tx)
        entry = guard(trace.before, tx, tx.instructions[at])
        if entry is None:
            return original(tx)
        try:
            return original(tx)
        finally:
            guard(trace.after, tx, entry)

    return step


def _running(original):
    def run(tx, *args, **kwargs):
        if getattr(tx, "parent", None) is not None or hasattr(tx.output, "_tcdbg_trace"):
            return original(tx, *args, **kwargs)
        trace = guard(Trace, tx)
        if trace is None:
            return original(tx, *args, **kwargs)
        tx.output._tcdbg_trace = trace
        try:
            out = original(tx, *args, **kwargs)
        except BaseException as e:
            guard(trace.ended, _raised(e))
            raise
        guard(trace.ended, _cut_off(tx.output))
        return out

    return run


def _raised(e):
    """Why a trace ended that raised e, in a line."""
    if type(e).__name__.endswith("RestartAnalysis"):
        return "Dynamo begins again: " + _first(getattr(e, "restart_reason", None) or type(e).__name__)
    return "%s: %s" % (type(e).__name__, _first(e))


def _cut_off(output):
    """Why a trace ended that became a graph: what broke it, "" where the function returned."""
    reason = getattr(output, "compile_subgraph_reason", None)
    return "graph break: " + _first(reason.reason) if getattr(reason, "graph_break", False) else ""


def _first(text):
    lines = [line.strip() for line in str(text).split("\n\n")[-1 if "Graph break encountered:" in str(text) else 0].splitlines()]
    return cut(next((line for line in lines if line), ""), TEXT)


class Trace:
    """The steps of one attempt at a trace so far."""

    def __init__(self, tx):
        self.output = tx.output
        self.places, self.numbers = [], {}  # numbers: (id of a code, line) -> number of the place, the code
        self.steps = []
        self.left = 0
        self.open = []  # instructions that are being traced, the innermost last
        self.last = None  # the newest one that began
        self.prologue = tx.f_code.co_name.startswith(frames.RESUME)  # Dynamo's own, before the rest of a function: up to a jump
        self.seen = {}  # (id of a code, number of its instruction) -> how often it is a step
        self.spelled = {}  # id of a tracker -> it, what it is called
        self.held = tx.output.guards  # the guards, with a list of those that are not told yet
        self.held._tcdbg_new = list(self.held.inner)
        self.shapes = 0  # of the shape environment's guards
        self.graphs = {}  # id of a graph -> it, its nodes by id
        self.graph = self.sizes = None  # of the last look
        self.lines = {}  # a node -> the list that its line is in, its place there, the name that it had
        self.amid = 0  # characters written so far
        self.begin(tx)

    def begin(self, tx):
        """What there is before the first instruction: guards of the state of PyTorch, say."""
        step = {"at": self.place(tx.f_code, tx.f_code.co_firstlineno), "instr": "start of the trace"}
        self.add(step)
        self.steps.append(step)

    # One instruction.

    def before(self, tx, inst):
        if self.prologue and not self.open:
            self.prologue = not inst.opname.startswith("JUMP")
            return None
        line = inst.starts_line or getattr(inst.positions, "lineno", None) or tx.lineno or tx.f_code.co_firstlineno
        if self.open or self.steps:
            self.add(self.open[-1] if self.open else self.steps[-1])
        place = self.place(tx.f_code, line)
        key = (id(tx.f_code), tx.instruction_pointer)  # the place keeps the code
        stack = tx.stack
        step = {"at": place, "depth": len(self.open), "instr": ""}
        entry = (step, inst, key, len(stack), stack[-1] if stack else None, len(self.steps))
        self.last = step
        self.open.append(step)
        if len(self.steps) < RECORDED and self.seen.get(key, 0) < REPEATS and inst.opname not in QUIET:
            if stack:
                step["on"] = [self.spell(v) for v in stack[-SHOWN:]]
                if len(stack) > SHOWN:
                    step["on"].insert(0, "%d more below" % (len(stack) - SHOWN))
            self.keep(entry)
        return entry

    def keep(self, entry):
        """Makes an instruction a step, before those of what it calls."""
        step, inst, key, _, _, at = entry
        if step["instr"] or len(self.steps) >= 2 * RECORDED:
            return
        step["instr"] = instruction_text(inst)
        self.seen[key] = self.seen.get(key, 0) + 1
        self.steps.insert(at, step)

    def after(self, tx, entry):
        self.open.pop()
        step, inst, _, height, top, _ = entry
        if self.last is step:
            self.add(step)
            if "guards" in step or "nodes" in step:
                self.keep(entry)
            if step["instr"]:
                self.result(tx, step, inst, height, top)
            elif inst.opname not in QUIET:
                self.left += 1
                if inst.opname.startswith(STORES):
                    self.stored(tx, inst)
            return
        back = {"at": step["at"], "depth": step["depth"], "instr": instruction_text(inst) + ", returned"}
        self.add(back)
        self.last = back
        if len(self.steps) >= 2 * RECORDED or not step["instr"] and "guards" not in back and "nodes" not in back:
            return
        self.result(tx, back, inst, height, top)
        if len(back) > 3:
            self.steps.append(back)

    def result(self, tx, step, inst, height, top):
        """The variable that an instruction set, or the value that it left on the stack."""
        if inst.opname.startswith(STORES):
            name, value = self.stored(tx, inst)
            if value is not None:
                step["set"], step["as"] = cut(str(name), 60), value
        elif tx.stack and (tx.stack[-1] is not top or len(tx.stack) > height):
            step["as"] = self.spell(tx.stack[-1])

    def stored(self, tx, inst):
        """The variable that an instruction sets, and its value, as spell tells it; None for one of Dynamo's own. Dynamo names
        the node of a value by the variable that it is stored in."""
        name = inst.argval[0] if type(inst.argval) is tuple else inst.argval
        value = tx.symbolic_locals.get(name)
        if value is None or frames.of_dynamo(tx.f_code, name):
            return name, None
        told = self.spell(value)
        node = told[1] if type(told) is tuple else None
        lines, at, before = self.lines.get(node, (None, 0, ""))
        if lines is not None and node.name != before:
            lines[at] = symbolic.node_line(node, TEXT)
            self.lines[node] = (lines, at, node.name)
        return name, told

    # What is added.

    def add(self, step):
        """Gives a step what has been added since the last look."""
        output = self.output
        graph, held, shapes = output.graph, output.guards, output.shape_env
        sizes = (len(graph.nodes), len(held.inner), len(shapes.guards))
        if sizes == self.sizes and graph is self.graph and held is self.held:
            return
        self.sizes, self.graph = sizes, graph
        nodes = self.new_nodes(graph)
        if nodes:
            told = step.setdefault("nodes", [])
            for n in nodes[: ADDED - len(told)]:
                self.lines[n] = (told, len(told), n.name)
                told.append(symbolic.node_line(n, TEXT))
        guards = self.new_guards(held, shapes.guards)
        if guards:
            told = step.setdefault("guards", [])
            told += guards[: ADDED - len(told)]

    def new_nodes(self, graph):
        known = self.graphs.get(id(graph))
        if known is None:
            known = self.graphs[id(graph)] = (graph, {})
        _, told = known
        missing = len(graph.nodes) - len(told)
        if missing < 0:  # some were taken out
            self.graphs[id(graph)] = (graph, dict.fromkeys(graph.nodes))
        if missing <= 0:
            return ()
        found = []
        for n in reversed(graph.nodes):
            if n in told:
                break
            found.append(n)
        if len(found) < missing:  # inputs come before
            inputs = []
            for n in graph.nodes:
                if n.op != "placeholder":
                    break
                if n not in told and n not in found:
                    inputs.append(n)
            found += reversed(inputs)
        found.reverse()
        told.update(dict.fromkeys(found))
        return [n for n in found if n.op != "output"]

    def new_guards(self, held, shapes):
        if held is not self.held:  # another set has taken its place: with guards of before, or fewer
            self.held, held._tcdbg_new = held, []
        out = [guard_text(g) for g in held._tcdbg_new]
        held._tcdbg_new.clear()
        if len(shapes) > self.shapes:
            out += [cut(str(getattr(g, "expr", g)), TEXT) for g in shapes[self.shapes :]]
        self.shapes = len(shapes)
        return out

    # Texts.

    def place(self, code, line):
        key = (id(code), line)
        known = self.numbers.get(key)
        if known is None:
            known = self.numbers[key] = (len(self.places), code)
            self.places.append(frames.position(code, line))
        return known[0]

    def spell(self, vt):
        """A tracker in PyTorch's terms, as TensorVariable(relu): (its class, the node) where it has a node, whose name may
        still change."""
        if symbolic.is_lazy(vt):
            vt = symbolic.unlazy(vt)
        known = self.spelled.get(id(vt))
        if known is None:
            node = symbolic.node_of(vt)  # None of a lazy one, which must not be asked for more: that would add guards
            if node is not None and hasattr(vt, "sym_num"):
                node = None
            known = self.spelled[id(vt)] = (vt, symbolic.spelled(vt) if node is None else (type(vt).__name__, node))
        return known[1]

    # The record.

    def ended(self, why):
        self.write(why)
        self.output._tcdbg_trace = self.output = self.held._tcdbg_new = None
        self.spelled = self.graphs = self.graph = self.lines = self.held = self.open = None

    def stands(self):
        """The program stands still amid the trace: writes the steps so far. Of a long trace that is not done each time."""
        if self.output is None or self.amid > AMID:
            return
        if self.open:
            self.add(self.open[-1])
        self.write("", amid=True)

    def write(self, why, amid=False):
        steps = []
        for s in self.steps:
            step = {k: v for k, v in s.items() if v or k == "at"}
            if "on" in step:
                step["on"] = [_text(v) for v in step["on"]]
            if "as" in step:
                step["as"] = _text(step["as"])
            steps.append(step)
        data = {"places": self.places, "steps": steps}
        for key, value in (("left", self.left), ("end", why), ("amid", amid)):
            if value:
                data[key] = value
        text = json.dumps({"v": 1, "data": data}, separators=(",", ":"))
        self.amid += len(text)
        sys.modules["torch._logging"].trace_structured(
            "artifact", metadata_fn=lambda: {"name": "tcdbg_trace_steps", "encoding": "json"}, payload_fn=lambda: text
        )


def _text(told):
    return told if type(told) is str else "%s(%s)" % (told[0], told[1].name)


def guard_text(g):
    """A guard as it is asked for: TENSOR_MATCH(L['x'])."""
    try:
        told = [g.name] if g.name else []
        if hasattr(g.create_fn, "keywords"):  # a partial function
            told += ["%s=%s" % (k, v) for k, v in g.create_fn.keywords.items() if type(v) in (str, int, bool)]
        kind = g.inner_create_fn().__name__
        return cut("%s(%s)" % (kind, ", ".join(told)) if told else kind, TEXT)
    except Exception:
        failed("guard_text")
        return "a guard that cannot be told"
