"""Real values of the nodes of a graph that is being captured.

The nodes are run on the real inputs, eagerly and only where that changes nothing: no random
numbers, no operator but PyTorch's own. What a node writes of the program's tensors is copied
before, a whole storage at a time, so that all views of it see the write, and the program's own
tensors none. What depends on a node that is not run is unknown, with the reason.
"""

import contextlib
import inspect
import sys
import time

from .values import cut, is_fake, plain, torch_module, type_name

SECONDS = 5.0  # for all nodes
ELEMENTS = 1 << 29  # of all results, and of 4 bytes each in copies


class Unknown(Exception):
    """There is no real value; the text says why."""


class _Writes(Exception):
    """A node is about to write to storages of the program."""

    def __init__(self, storages, why):
        super().__init__(why)
        self.storages = storages


class _Again(Exception):
    """All nodes must run again, with what is copied by now copied at once: the last one has
    written before it came to a storage of the program, and would write twice."""


# Functions that a captured node may call, by module. Others may have effects.
_MODULES = (
    "_operator", "builtins", "math", "torch", "torch.functional", "torch.nn.functional", "torch._tensor",
    "torch._jit_internal", "torch._C._nn", "torch._C._linalg", "torch._C._fft", "torch._C._special",
)  # fmt: skip
_METHODS = ("backward", "requires_grad_", "register_hook", "retain_grad", "detach_", "set_", "resize_", "share_memory_")
# Higher-order operators that do what the graphs do that they are given; the first is called, of
# the others the first argument is.
_BODIES = ("autograd_function_apply", "tag_activation_checkpoint", "wrap")
_OPERATORS = (
    "setitem", "delitem", "iadd", "iand", "iconcat", "ifloordiv", "ilshift", "imatmul", "imod", "imul", "ior", "ipow",
    "irshift", "isub", "itruediv", "ixor",
)  # fmt: skip


def target_name(target):
    return target if isinstance(target, str) else getattr(target, "__name__", None) or str(target)


def _own_function(node):
    """Whether a call is of one of PyTorch's or Python's functions, which do no more than they say."""
    module = getattr(node.target, "__module__", None)
    name = target_name(node.target)
    if module is None and "_VariableFunctions" in str(getattr(node.target, "__self__", None)):
        return True
    return module in _MODULES and not name.startswith(("set_", "manual_seed", "_C", "seed"))


def _pure_target(torch, node, modules):
    """Why a node is not run, "" where it is. Graphs that it is given are among modules."""
    name = target_name(node.target)
    if node.op == "call_method":
        return "%s has effects" % name if name in _METHODS else ""
    if node.op != "call_function":
        return "%s is not run" % node.op
    if isinstance(node.target, (torch._ops.OpOverload, torch._ops.OpOverloadPacket)):
        return ""
    if isinstance(node.target, torch._ops.OperatorBase):
        return _pure_body(torch, node, modules) if name in _BODIES else "%s is not run" % name
    return "" if _own_function(node) else "%s may have effects" % name


def _pure_body(torch, node, modules):
    """_pure_target of the nodes of the graph that a higher-order operator runs."""
    body = modules.get(getattr(node.args[0], "target", None))
    if not isinstance(body, torch.fx.GraphModule):
        return "%s is not run" % target_name(node.target)
    for n in body.graph.nodes:
        if n.op in ("call_function", "call_method") and target_name(n.target) != "_set_grad_enabled":
            why = _pure_target(torch, n, dict(body.named_children()))
            if why:
                return why
    return ""


# What is written.


def _storage(t):
    """What tells a tensor's storage from others; None where it has none."""
    try:
        return t.untyped_storage()._cdata
    except Exception:
        return None


def _tensors(torch, value):
    from torch.utils import _pytree

    return [t for t in _pytree.tree_leaves(value) if isinstance(t, torch.Tensor)]


def _updates_statistics(named):
    """Whether a normalization writes its running statistics, which its schema does not say."""
    asked = any(named.get(a) is True for a in ("training", "train", "use_input_stats"))
    return asked and named.get("running_mean") is not None


def _written(torch, func, args, kwargs):
    """The tensors that an operator writes."""
    named = dict(zip((a.name for a in func._schema.arguments), args), **kwargs)
    out = []
    if func._schema.is_mutable:
        for a in func._schema.arguments:
            if a.alias_info is not None and a.alias_info.is_write:
                out += _tensors(torch, named.get(a.name))
    if _updates_statistics(named):
        out += _tensors(torch, [named.get("running_mean"), named.get("running_var")])
    return out


def _may_write(torch, node, modules):
    """The nodes whose values a node writes or, for all that is known, may write."""
    everything, first = list(node.all_input_nodes), list(node.args[:1])
    name = target_name(node.target)
    in_place = name.endswith("_") and not name.endswith("__")
    if node.op == "call_method":
        return everything if name in _METHODS else first if in_place else []
    if isinstance(node.target, torch._ops.OpOverload):
        schema = node.target._schema
        named = dict(zip((a.name for a in schema.arguments), node.args), **node.kwargs)
        return everything if schema.is_mutable or _updates_statistics(named) else []
    if isinstance(node.target, torch._ops.OperatorBase):
        return everything if _body_writes(torch, node, modules) else []
    if not _own_function(node):
        return everything
    if getattr(node.target, "__module__", None) == "_operator":
        return first if name in _OPERATORS else []
    return _function_writes(node, everything, first if in_place else [])


def _function_writes(node, everything, written):
    if "out" in node.kwargs:
        return everything
    try:
        named = inspect.signature(node.target).bind_partial(*node.args, **node.kwargs).arguments
    except (TypeError, ValueError):  # a builtin has no signature
        return everything if "norm" in target_name(node.target) and True in node.args else written
    if named.get("inplace") or named.get("max_norm") is not None or _updates_statistics(named):
        return everything
    return written


def _body_writes(torch, node, modules):
    """Whether a higher-order operator writes what it is given."""
    if "mutation" in target_name(node.target):
        return True
    bodies = [modules.get(a.target) for a in node.all_input_nodes if a.op == "get_attr"]
    inner = [(n, dict(b.named_children())) for b in bodies if hasattr(b, "graph") for n in b.graph.nodes]
    return any(_may_write(torch, n, m) for n, m in inner if n.op in ("call_function", "call_method"))


def _moved(torch, t, storage):
    """A tensor as t, in another storage."""
    if t.is_conj():
        return torch._conj(_moved(torch, torch._conj(t), storage))
    if t.is_neg():
        return torch._neg_view(_moved(torch, torch._neg_view(t), storage))
    new = torch.empty(0, dtype=t.dtype, device=t.device).set_(storage, t.storage_offset(), t.size(), t.stride())
    if isinstance(t, torch.nn.Parameter):
        return torch.nn.Parameter(new, t.requires_grad)
    return new.requires_grad_() if t.requires_grad else new


def _watching(torch, replay):
    """A dispatch mode that refuses operators with effects beyond their results and copies."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            name = func.name()
            if func.namespace not in ("aten", "prims", "prim", "torchvision"):
                raise Unknown("%s may have effects" % name)
            if torch.Tag.nondeterministic_seeded in func.tags:
                raise Unknown("%s draws random numbers" % name)
            replay.writing(name, {_storage(t) for t in _written(torch, func, args, kwargs)})
            return func(*args, **kwargs)

    return Watch()


class Replay:
    """Runs the nodes of output's graph when the first value is asked for.

    A value is that at the end of what is captured: of an input that a node writes, too.
    """

    def __init__(self, output):
        self.output = output
        self.values = {}  # node -> real value, or an Unknown
        self.spoiled = {}  # storages that a node writes which is not run -> why it is not
        self.copied = set()  # storages of the program that nodes write
        self.ran = False

    def value(self, node):
        if not self.ran:
            self.ran = True
            self.run()
        return self.argument(node)

    def argument(self, node):
        v = self.values.get(node, Unknown("it is not computed yet"))
        if isinstance(v, Unknown):
            raise v
        if self.spoiled:
            for key in self.keys(node):
                if key in self.spoiled:
                    raise self.spoiled[key]
        return v

    def run(self):
        self.torch, self.until = torch_module(), time.monotonic() + SECONDS
        while True:
            try:
                return self.attempt()
            except _Again:  # one storage more is copied each time
                continue

    def attempt(self):
        torch, nodes = self.torch, list(self.output.graph.nodes)
        self.values, self.spoiled, self.elements, self.left = {}, {}, 0, []
        self.inputs = {}  # storages of the program that are not copied, by their keys
        stopped = None
        with contextlib.ExitStack() as stack:
            guards = sys.modules.get("torch._guards")
            if guards:
                stack.enter_context(guards.tracing(None))
            stack.enter_context(plain(torch))
            self.load(nodes)
            watch = _watching(torch, self)
            for node in nodes:
                if node in self.values or node.op == "output":
                    continue
                if stopped is None and (time.monotonic() > self.until or self.elements > ELEMENTS):
                    stopped = Unknown("the captured nodes take too long or too much memory to run")
                v = self.values[node] = stopped or self.step(node, watch, stack)
                if isinstance(v, Unknown):
                    self.spoil(node, v)
                for t in _tensors(torch, v):
                    self.held.add(_storage(t))
                    self.elements += t.numel()

    def load(self, nodes):
        """The graph's inputs, with those copied that are known to be written."""
        for node in nodes:
            if node.op in ("placeholder", "get_attr"):
                self.values[node] = v = self.input(node)
                for t in _tensors(self.torch, v):
                    if _storage(t) is not None:
                        self.inputs[_storage(t)] = t.untyped_storage()
        self.held = set()  # storages that nodes so far have made, and copies
        self.program = dict(self.inputs)
        self.copy_all(sorted(self.copied), "a node writes to an input")

    def input(self, node):
        torch = self.torch
        try:
            if node.op == "get_attr":
                v = self.output.nn_modules.get(node.target)
                if not isinstance(v, (torch.Tensor, torch.fx.GraphModule)):
                    return Unknown("%s is no tensor" % node.target)
                return v
            arg = node.meta.get("grapharg")
            v = arg.example if arg is not None else None
            if isinstance(v, (torch.SymInt, torch.SymFloat, torch.SymBool)):
                v = v.node.hint
            if v is None:
                return Unknown("the input %s is not known" % node.name)
            if isinstance(v, torch.Tensor) and (is_fake(torch, v) or type(v) not in (torch.Tensor, torch.nn.Parameter)):
                return Unknown("the input %s is a %s" % (node.name, type_name(v)))
            return v
        except Exception as e:
            return Unknown("the input %s is not known: %s" % (node.name, e))

    def step(self, node, watch, stack):
        """A node's value; what of the program it writes is copied first."""
        while True:
            self.wrote = False
            try:
                with watch:
                    return self.call(node, stack)
            except _Writes as w:
                refused = self.copy_all(w.storages, str(w))
                if refused:
                    return refused
                if self.wrote:
                    raise _Again from None

    def writing(self, name, storages):
        """Called before an operator writes."""
        if None in storages:
            raise Unknown("%s writes to a tensor that is not stored densely" % name)
        ours = storages & self.inputs.keys()
        if ours:
            raise _Writes(ours, "%s writes to an input" % name)
        self.wrote = self.wrote or not storages.isdisjoint(self.held)

    def copy_all(self, storages, why):
        """Copies storages of the program. None, or what was refused: it is unknown from here on."""
        refused = None
        for s in storages:
            try:
                self.copy(s, why)
                self.copied.add(s)
            except Unknown as e:
                self.spoiled[s] = refused = e
            except Exception as e:
                self.spoiled[s] = refused = Unknown(cut("%s, which cannot be copied: %s: %s" % (why, type(e).__name__, e), 200))
        return refused

    def copy(self, key, why):
        source = self.program[key]
        begin, size = source.data_ptr(), source.nbytes()
        for other, s in self.program.items():
            if other != key and s.device == source.device and begin < s.data_ptr() + s.nbytes() and s.data_ptr() < begin + size:
                reason = self.spoiled[other] = Unknown("%s whose memory is another input's as well" % why)
                raise reason
        if self.elements + size // 4 > ELEMENTS:
            raise Unknown("%s of %d MiB, too large to copy" % (why, size >> 20))
        from torch.utils import _pytree

        def moved(v):
            return _moved(self.torch, v, new) if isinstance(v, self.torch.Tensor) and _storage(v) == key else v

        new = source.clone()
        placed = {n: _pytree.tree_map(moved, v) for n, v in self.values.items() if key in map(_storage, _tensors(self.torch, v))}
        self.values.update(placed)
        self.elements += size // 4
        self.held.add(new._cdata)
        self.inputs.pop(key, None)

    def call(self, node, stack):
        import torch.fx

        name = target_name(node.target)
        try:
            if name == "_set_grad_enabled":
                return None
            args = torch.fx.node.map_arg(node.args, self.argument)
            kwargs = torch.fx.node.map_arg(node.kwargs, self.argument)
            if name == "_enter_autocast":
                mode = node.target(*args, **kwargs)
                stack.callback(self.leave, mode)
                return mode
            if name == "_exit_autocast":
                self.left.append(args[0])
                return node.target(*args)
            why = _pure_target(torch, node, self.output.nn_modules)
            if why:
                return Unknown(why)
            if name in _BODIES:
                with self.torch.no_grad():  # what the graph sets ends with it
                    return node.target(*args, **kwargs) if name == _BODIES[0] else args[0](*args[1:])
            if node.op == "call_method":
                return getattr(args[0], node.target)(*args[1:], **kwargs)
            return node.target(*args, **kwargs)
        except _Writes:
            raise
        except Unknown as e:
            return e
        except Exception as e:
            return Unknown(cut("%s raised %s: %s" % (name, type(e).__name__, e), 200))

    def leave(self, mode):
        if mode not in self.left:
            sys.modules["torch.amp.autocast_mode"]._exit_autocast(mode)

    def keys(self, node):
        """The storages in which a node's value lies: of the real tensors, and of the fake ones,
        by which a view is known where it was not made."""
        real = self.values.get(node)
        out = {_storage(t) for t in _tensors(self.torch, None if isinstance(real, Unknown) else real)}
        return out | {_storage(t) for t in _tensors(self.torch, node.meta.get("example_value"))}

    def spoil(self, node, why):
        """What a node would have written is unknown from here on."""
        for written in _may_write(self.torch, node, self.output.nn_modules):
            if hasattr(written, "meta"):
                self.spoiled.update(dict.fromkeys(self.keys(written), why))
