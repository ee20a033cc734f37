"""Writes which module each node of a captured graph was traced in.

Dynamo keeps that with the node, and no record of a trace has it: by names of parameters alone,
nodes without one can only be given to the module around them.
"""

import functools
import json

from . import guard, when

NODES = 100_000  # of a graph


def start():
    when("torch._dynamo.output_graph", _output_graph)


def _output_graph(module):
    compile = getattr(module.OutputGraph, "call_user_compiler", None)
    if compile is None:
        return

    @functools.wraps(compile)
    def call_user_compiler(self, gm, *args, **kwargs):  # the graph was written right before this
        guard(_write, gm)
        return compile(self, gm, *args, **kwargs)

    module.OutputGraph.call_user_compiler = call_user_compiler


def _write(gm):
    from torch._logging import trace_structured

    trace_structured(
        "artifact",
        metadata_fn=lambda: {"name": "tcdbg_node_modules", "encoding": "json"},
        payload_fn=lambda: json.dumps({"v": 1, "data": {"modules": _modules(gm)}}, separators=(",", ":")),
        expect_trace_id=False,
    )


def _modules(gm):
    """The names of nodes by the source of the module that each was traced in."""
    out = {}
    for i, node in enumerate(gm.graph.nodes):
        stack = node.meta.get("nn_module_stack")
        if i < NODES and stack and node.op not in ("placeholder", "output"):
            source = list(stack.values())[-1][0]
            if isinstance(source, str):
                out.setdefault(source, []).append(node.name)
    return out
