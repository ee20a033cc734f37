"""Steps through a trace: to its next instruction, and to the next operator that it captures."""

import dis
import threading

from . import frames, hooked, symbolic
from .stops import current_compile
from .values import cut

SHOWN = 8  # values of the symbolic stack that are told, the top ones


class Walk:
    """Hooks Dynamo's loop over instructions: each is a place where such a step can end."""

    def __init__(self, hooks):
        self.hooks = hooks
        self.session = hooks.session

    def each(self, original):
        def step(tx):
            at = tx.instruction_pointer
            if at is not None and not tx.instructions[at].starts_line:  # one that does is met where its line is
                seen = getattr(tx.output, "_tcdbg_seen", None)
                if seen is not None:
                    seen.within += 1
                if self.session.walks:
                    hooked(self.reached, tx, tx.instructions[at])
            return original(tx)

        return step

    def step(self):
        """The step that this thread does through traces, None where it does none."""
        step = self.session.steps.get(threading.get_ident()) if self.session.walks else None
        return step if step is not None and step.kind in ("operator", "instruction") and step.mine() else None

    def reached(self, tx, instruction):
        """Before Dynamo traces an instruction of the program."""
        step = self.step()
        if step is None or self.session.busy() or frames.kind_of(tx.f_code) not in (frames.USER, frames.LIBRARY):
            return
        seen = getattr(tx.output, "_tcdbg_seen", None)
        if seen is not None and seen.again():
            return
        if step.kind == "instruction":
            why = "next instruction of the trace"
        else:
            calls = captured(tx)
            new = calls[step.captured :] if step.compile == current_compile() else calls
            if not new:
                return
            why = "captured " + ", ".join(n.name for n in new)
        moment = self.hooks.traced(tx, "pause")
        moment.reason = next_instruction(tx, instruction)
        moment.details = self.hooks.amid(moment, tx)
        self.session.stand(moment, why, command=step.command)


class Seen:
    """How far the trace of a compile has come. One that begins again, as after a break, goes over what it has
    been at: nothing stops there twice."""

    def __init__(self, root, before):
        self.root = root
        self.lines = self.within = 0
        self.farthest = before.farthest if before else (0, 0)

    def line(self):
        """A line begins; whether it is new."""
        self.lines += 1
        self.within = 0
        if self.lines <= self.farthest[0]:
            return False
        self.farthest = (self.lines, 0)
        return True

    def again(self):
        """Whether a step stopped at this instruction, or behind it."""
        at = (self.lines, self.within + 1)
        if at <= self.farthest:
            return True
        self.farthest = at
        return False


def captured(tx):
    """The operators of the graph so far."""
    return [n for n in tx.output.graph.nodes if n.op.startswith("call_")]


def next_instruction(tx, instruction):
    """What Dynamo comes to, in words, with the values that it works on."""
    top = [told(vt) for vt in tx.stack[-SHOWN:]]
    if len(tx.stack) > SHOWN:
        top.insert(0, "...")
    return "Dynamo comes to %s; on its stack: %s" % (instruction_text(instruction), ", ".join(top) or "nothing")


def instruction_text(instruction):
    """An instruction with what it is given."""
    arg = instruction.argval
    if arg is None:
        return instruction.opname
    if instruction.opname == "BINARY_OP":
        arg = _operators.get(arg, arg)
    return "%s %s" % (instruction.opname, cut(str(getattr(arg, "opname", arg)), 60))


# From 3.11 on one instruction does all of them, by number.
_operators = {i: text for i, (_, text) in enumerate(getattr(dis, "_nb_ops", ()))}


def told(vt):
    """A value of the symbolic stack."""
    node = symbolic.node_of(vt)
    if node is not None:
        return node.name
    kind = type(vt).__name__
    if symbolic.is_lazy(vt) or kind != "ConstantVariable":
        name = symbolic.source_name(symbolic.lazy_source(vt) if symbolic.is_lazy(vt) else getattr(vt, "source", None))
        return cut(name, 60) if name else kind.removesuffix("Variable").lower()
    return cut(repr(vt.value), 60)
