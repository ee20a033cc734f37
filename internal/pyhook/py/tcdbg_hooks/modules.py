"""Writes which module each node of a graph was traced in: of captured graphs, and where the release has
functions of its own that log them (PyTorch 2.15), of forward, backward and inference graphs.

PyTorch keeps that with the node, and no record of a trace has it: by names of parameters alone,
nodes without one can only be given to the module around them.
"""

import functools
import json

from . import guard, when

NODES = 100_000  # of a graph


def start():
    when("torch._dynamo.output_graph", _output_graph)
    when("torch._functorch._aot_autograd.graph_compile", _graph_compile)


def _output_graph(module):
    compile = getattr(module.OutputGraph, "call_user_compiler", None)
    if compile is None:
        return

    @functools.wraps(compile)
    def call_user_compiler(self, gm, *args, **kwargs):  # the graph was written right before this
        guard(_write, "", gm)
        return compile(self, gm, *args, **kwargs)

    module.OutputGraph.call_user_compiler = call_user_compiler


def _graph_compile(module):
    for name, stages in (("_log_fw_bw_graphs", ("forward", "backward")), ("_log_inference_graph", ("inference",))):
        log = getattr(module, name, None)
        if log is not None:
            setattr(module, name, _logging(log, stages))


def _logging(log, stages):
    """log, whose first arguments are the graphs of these stages, with their modules after them."""

    @functools.wraps(log)
    def both(*args, **kwargs):
        out = log(*args, **kwargs)
        for stage, gm in zip(stages, args):
            guard(_write, stage, gm)
        return out

    return both


def _write(stage, gm):
    from torch._logging import trace_structured

    trace_structured(
        "artifact",
        metadata_fn=lambda: {"name": "tcdbg_node_modules", "encoding": "json"},
        payload_fn=lambda: json.dumps({"v": 1, "data": {"stage": stage, "modules": _modules(gm)}}, separators=(",", ":")),
        expect_trace_id=False,
    )


def _modules(gm):
    """The names of nodes by the source of the module that each was traced in."""
    out = {}
    for i, node in enumerate(gm.graph.nodes):
        # Of a node of a backward graph it is the module of the node whose gradient it is for.
        stack = node.meta.get("fwd_nn_module_stack") or node.meta.get("nn_module_stack")
        if i < NODES and stack and node.op not in ("placeholder", "output"):
            source = list(stack.values())[-1][0]
            if isinstance(source, str):
                out.setdefault(source, []).append(node.name)
    return out
