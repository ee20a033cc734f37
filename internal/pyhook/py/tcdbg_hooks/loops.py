"""Writes what the nodes of a schedule read and write, before they are fused, into the fusion log.

PyTorch's own log ir_pre_fusion says the same among the bodies of all loops, seven times as long,
and PyTorch 2.6 has it in its debug folder only. A line is one node; package logs/loops of tcdbg
reads it. It is indented, as lines of the fusion log are that go on.
"""

import functools
import logging

from . import guard, when

HEAD = "tcdbg: nodes before fusion"  # explain/fold/fusiontext.go has it, too
NODES = 1 << 16  # see logs/loops


def start():
    when("torch._inductor.scheduler", _scheduler)


def _scheduler(module):
    log = getattr(module, "fusion_log", None)
    group = getattr(module.Scheduler, "create_foreach_nodes", None)
    if log is None or group is None:
        return

    @functools.wraps(group)
    def create_foreach_nodes(self, *args, **kwargs):  # PyTorch's own log is written right before this
        if log.isEnabledFor(logging.DEBUG):
            text = guard(_text, module, self.nodes[:NODES])
            if text:
                log.debug("%s\n%s", HEAD, text, stacklevel=2)
        return group(self, *args, **kwargs)

    module.Scheduler.create_foreach_nodes = create_foreach_nodes


def _text(module, nodes):
    told = set()
    return "\n".join(" " + "; ".join(_node(module, n, told)).replace("\n", " ") for n in nodes)


def _node(module, node, told):
    """The statements of one node; told are the buffers whose layouts were said."""
    name = node.get_name()
    reads, writes = node.read_writes.reads, node.read_writes.writes
    yield "%s: %s(%s)" % (name, type(node).__name__, type(getattr(node, "node", None)).__name__)
    yield "%s.writes = %s" % (name, _listed(writes))
    yield "%s.met_dependencies = %s" % (name, _listed(reads))
    for out in node.get_outputs():
        told.add(out.get_name())
        yield "%s: %s" % (out.get_name(), type(out.node).__name__)
        yield "%s.layout = %s" % (out.get_name(), getattr(out.node, "layout", None))
        yield "%s.users = [%s]" % (out.get_name(), ", ".join(map(_user, out.users)))
    if getattr(node, "_sizes", None) is not None:
        yield "%s.sizes = %s" % (name, node._sizes)
    for dep in reads:
        layout = None if dep.name in told else _layout(module, dep.name)
        told.add(dep.name)
        if layout is not None:
            yield "%s_layout = %s" % (dep.name, layout)


def _listed(deps):
    return "[%s]" % ", ".join(map(repr, deps))


def _user(user):
    name = user.node.get_name()
    if name == "OUTPUT":
        return "NodeUser(node=OUTPUT)"
    return "NodeUser(node=%s(name=%r)%s)" % (type(user.node).__name__, name, ", is_weak=True" if user.is_weak else "")


def _layout(module, name):
    """The layout of a buffer that no node makes: an input or a constant."""
    graph = module.V.graph
    buf = graph.graph_inputs.get(name)
    if buf is None:
        constant = graph.constants.get(name)
        if constant is None:
            return None
        return "FixedLayout(%r, %s, size=%s)" % (constant.device.type, constant.dtype, list(constant.shape))
    return buf.get_layout() if hasattr(buf, "get_layout") else getattr(buf, "layout", None)
