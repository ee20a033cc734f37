"""Where a graph whose results differ first does: the stage, by other backends; the node, by ever
shorter parts of the graph; and a program that shows it."""

import contextlib
import time

import torch

from . import failed, guard
from . import numerics_run as runs

SECONDS = 120
KEPT = ("stack_trace", "nn_module_stack", "source_fn_stack")


class Search:
    def __init__(self, graph, subject, fault):
        self.graph, self.subject, self.fault = graph, subject, fault
        self.until = time.monotonic() + SECONDS
        self.fault["ran"] = []
        self.smallest = subject
        self.stage = None

    def run(self):
        import io

        # A backend of the program's own may print.
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            self.stages()

    def stages(self):
        backend = self.graph.record["backend"]
        stages = []
        if backend == "inductor":
            stages = [
                ("AOT", lambda gm, ex: registered("aot_eager")(gm, ex)),
                ("decomposition", lambda gm, ex: registered("aot_eager_decomp_partition")(gm, ex)),
                ("code", unfused),
                ("fusion", self.own),
            ]
        else:
            if backend != "aot_eager":
                stages.append(("AOT", lambda gm, ex: registered("aot_eager")(gm, ex)))
            stages.append(("backend " + backend, self.own))
        for name, compile in stages:
            self.stage = compile
            c = self.differs(self.subject, name if name != "code" else "code, nothing fused")
            if c is not None:
                self.fault["stage"], self.fault["value"] = name, c.data()
                self.node()
                if compile is unfused:
                    self.lowered()
                break
        else:
            self.say("no stage differs when the graph is compiled once more on these inputs")
        guard(self.reproduce)

    def say(self, text):
        self.fault["ran"].append(text)

    def own(self, gm, example):
        return self.graph.backend._torchdynamo_orig_backend(gm, example, **self.graph.kwargs)

    def try_(self, subject):
        """The first difference of a graph that the stage compiles."""
        example = runs.copies(subject.args)
        subject.rewind()
        run = self.stage(bare(subject.gm), example)
        torch._C._set_grad_enabled(subject.grad)
        want = subject.eager()
        got = subject.execute(run)
        return next((c for c in subject.judge(got, want) if c.differs()), None)

    def differs(self, subject, what):
        try:
            c = self.try_(subject)
        except Exception as e:
            self.say("%s: not run: %s: %.200s" % (what, type(e).__name__, e))
            return None
        self.say("%s: %s" % (what, "equal" if c is None else "%s differs by %.3g tolerances" % (c.what, c.worst)))
        return c

    def node(self):
        """The first node with which the part of the graph up to it differs."""
        parts = Parts(self.subject)
        cuts = parts.cuts
        if not cuts:
            return
        low, high = 0, len(cuts) - 1
        while low < high:
            if time.monotonic() > self.until:
                self.say("the search for the node was ended after %d seconds" % SECONDS)
                return
            middle = (low + high) // 2
            try:
                c = self.try_(parts.prefix(cuts[middle]))
            except Exception as e:
                self.say("nodes up to %s: not run: %s: %.200s" % (cuts[middle].name, type(e).__name__, e))
                return
            if c is not None:
                high = middle
            else:
                low = middle + 1
        n = cuts[high]
        small = parts.prefix(n)
        if high < len(cuts) - 1 or self.differs(small, "the graph up to %s, with what follows needs" % n.name) is not None:
            self.smallest = small
        self.fault.update(node=n.name, op=runs.op_of(n))
        if runs.pos_of(n):
            self.fault["pos"] = runs.pos_of(n)
        self.say("the part of the graph up to %s is the smallest that differs" % n.name)
        try:
            alone = parts.alone(n)
        except Exception as e:
            self.say("%s alone: not run: %s" % (n.name, e))
            return
        c = self.differs(alone, n.name + " alone, on the inputs that it has there")
        if c is not None:
            self.fault["alone"], self.smallest = True, alone
            node = dict(c.data(), note=c.what, what=n.name, ops=runs.op_of(n))
            if runs.pos_of(n):
                node["pos"] = runs.pos_of(n)
            self.fault["nodes"] = [node]

    def lowered(self):
        """Tells code from lowering where C++ is made: the same loops without vector instructions are
        another code of one lowering. Both of it wrong tells nothing."""
        if any(isinstance(x, torch.Tensor) and x.device.type != "cpu" for x in self.smallest.args):
            self.fault["stage"] = "lowering or code"
            return
        self.stage = scalar
        try:
            c = self.try_(self.smallest)
        except Exception as e:
            self.say("code without vector instructions: not run: %s: %.200s" % (type(e).__name__, e))
            self.fault["stage"] = "lowering or code"
            return
        finally:
            self.stage = unfused
        if c is None:
            self.say("code without vector instructions: equal, so its loops are right and their vector code is not")
        else:
            self.say("code without vector instructions: %s differs by %.3g tolerances, too" % (c.what, c.worst))
            self.fault["stage"] = "lowering or code"

    def reproduce(self):
        from . import numerics, numerics_repro

        folder = numerics.repro_folder()
        if folder:
            try:
                self.graph.record["repro"] = numerics_repro.write(folder, self)
            except Exception as e:
                self.graph.none("no reproducer: %s: %.200s" % (type(e).__name__, e))


def registered(name):
    from torch._dynamo.backends.registry import lookup_backend

    return lookup_backend(name)


def scalar(gm, example):
    return unfused(gm, example, ("cpp.simdlen", 1))


def unfused(gm, example, *more):
    from torch._inductor import config
    from torch._inductor.compile_fx import compile_fx

    patches = {k: v for k, v in (("max_fusion_size", 1), ("epilogue_fusion", False)) if hasattr(config, k)}
    patches.update(more)
    with config.patch(patches):
        run = compile_fx(gm, example)

    def patched(*args):
        with config.patch(patches):  # the backward graph is compiled in the first backward
            return run(*args)

    return patched


def bare(gm):
    """A copy of a graph module for a compiler: example values of the program's own compile belong to
    another fake mode."""
    import copy

    graph = copy.deepcopy(gm.graph)
    for n in graph.nodes:
        n.meta = {k: v for k, v in n.meta.items() if k in KEPT}
    return torch.fx.GraphModule(gm, graph)


class Parts:
    """Parts of a graph, with the values that its nodes have on the inputs of a call."""

    def __init__(self, subject):
        self.subject, self.kinds = subject, {}
        nodes = list(subject.gm.graph.nodes)
        record = _Kinds(subject.gm, self.kinds)
        subject.execute(record.run)
        place = {n: i for i, n in enumerate(nodes)}
        last = {n: max([place[u] for u in n.users], default=-1) for n in nodes}
        self.nodes, self.cuts, region = nodes, [], 0
        live = set()  # values that are no tensor and are needed later
        for i, n in enumerate(nodes):
            name = getattr(n.target, "__name__", "")
            region += (name == "_enter_autocast") - (name == "_exit_autocast")
            live = {m for m in live if last[m] > i}
            if n.op in ("placeholder", "output", "get_attr"):
                continue
            if self.kinds.get(n) not in ("tensor", "number") and last[n] > i:
                live.add(n)
            if not live and region == 0:
                self.cuts.append(n)

    def prefix(self, end):
        """The graph up to a node; its outputs are what follows needs."""
        place = {n: i for i, n in enumerate(self.nodes)}
        graph, to, outs = torch.fx.Graph(), {}, []
        for n in self.nodes[: place[end] + 1]:
            to[n] = graph.node_copy(n, lambda m: to[m])
            later = n is end or any(place[u] > place[end] for u in n.users)
            if n.op not in ("placeholder", "get_attr") and later and self.kinds.get(n) == "tensor":
                outs.append(to[n])
        for n in self.nodes[place[end] + 1 :]:
            if n.op == "placeholder":
                to[n] = graph.node_copy(n, lambda m: to[m])
        graph.output(tuple(outs))
        return self.subject.like(torch.fx.GraphModule(self.subject.gm, graph))

    def alone(self, n):
        """The graph of one call, on the inputs that it has in the subject."""
        values = _Values(self.subject.gm, n)
        self.subject.execute(values.run)
        if values.inputs is None:
            raise LookupError("it did not run")
        if values.writes:
            raise LookupError("it writes its input")
        graph, to, args = torch.fx.Graph(), {}, []
        for m in n.all_input_nodes:
            value = values.inputs[m]
            if not isinstance(value, (torch.Tensor, int, float)) or m.op == "get_attr":
                if m.op != "get_attr":
                    raise LookupError(m.name + " is no tensor")
                to[m] = graph.node_copy(m, lambda k: to[k])
                continue
            to[m] = graph.placeholder(m.name)
            if isinstance(value, torch.Tensor) and self.subject.train and value.dtype.is_floating_point:
                value = value.detach().requires_grad_()
            args.append(value)
        one = graph.node_copy(n, lambda m: to[m])
        kind = values.kind
        outs = [one] if kind == "tensor" else []
        if kind == "tuple":
            import operator

            outs = [graph.call_function(operator.getitem, (one, i)) for i in values.tensors]
        if not outs:
            raise LookupError("it gives no tensor")
        graph.output(tuple(outs))
        graph.lint()
        with torch.set_grad_enabled(self.subject.grad):
            out = runs.Subject(torch.fx.GraphModule(self.subject.gm, graph), args)
        out.rng, out.cuda = values.rng, self.subject.cuda
        out.made = [False] * len(args)
        return out


def kind_of(v):
    if isinstance(v, torch.Tensor):
        return "tensor" if runs.usable(v) else "other"
    return "number" if isinstance(v, (int, float, bool)) or v is None else "tuple" if isinstance(v, (list, tuple)) else "other"


class _Kinds(torch.fx.Interpreter):
    def __init__(self, gm, kinds):
        super().__init__(gm)
        self.kinds = kinds

    def run_node(self, n):
        out = super().run_node(n)
        self.kinds[n] = kind_of(out)
        return out


class _Values(torch.fx.Interpreter):
    """The inputs of one node."""

    def __init__(self, gm, node):
        super().__init__(gm)
        self.node, self.inputs, self.writes, self.kind, self.tensors = node, None, False, "other", []

    def run_node(self, n):
        if n is not self.node:
            return super().run_node(n)
        ins = [m for m in n.all_input_nodes]
        values = [self.env[m] for m in ins]
        with torch.no_grad():
            kept = runs.copies([v.detach() if isinstance(v, torch.Tensor) else v for v in values])
        counted = [v for v in values if isinstance(v, torch.Tensor) and not v.is_inference()]
        versions = [v._version for v in counted]
        self.rng = torch.get_rng_state()
        out = super().run_node(n)
        self.inputs = dict(zip(ins, kept))
        self.writes = versions != [v._version for v in counted]
        self.kind = kind_of(out)
        if self.kind == "tuple":
            self.tensors = [i for i, v in enumerate(out) if isinstance(v, torch.Tensor)]
        return out
