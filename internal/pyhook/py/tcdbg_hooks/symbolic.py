"""What Dynamo knows of a frame that it traces, and the real values beside.

The captured nodes are run on the real inputs, eagerly and only where that changes nothing: no
random numbers, no write to an input, no operator but PyTorch's own. What depends on another
one is unknown, with the reason.
"""

import contextlib
import sys
import time

from . import frames
from .stops import Level
from .values import cut, described, is_fake, plain, torch_module, type_name

SECONDS = 5.0  # for all nodes
ELEMENTS = 1 << 29  # of all results
NODES = 2000  # that are shown


class Unknown(Exception):
    """There is no real value; the text says why."""


# Functions that a captured node may call, by module. Others may have effects.
_MODULES = (
    "_operator", "builtins", "math", "torch", "torch.functional", "torch.nn.functional", "torch._tensor",
    "torch._jit_internal", "torch._C._nn", "torch._C._linalg", "torch._C._fft", "torch._C._special",
)  # fmt: skip
_METHODS = ("backward", "requires_grad_", "register_hook", "retain_grad", "detach_", "set_", "resize_", "share_memory_")


def target_name(target):
    return target if isinstance(target, str) else getattr(target, "__name__", None) or str(target)


def _pure_target(torch, node):
    """Why a node is not run, "" where it is."""
    name = target_name(node.target)
    if node.op == "call_method":
        return "%s has effects" % name if name in _METHODS else ""
    if node.op != "call_function":
        return "%s is not run" % node.op
    if isinstance(node.target, (torch._ops.OpOverload, torch._ops.OpOverloadPacket)):
        return ""
    if isinstance(node.target, torch._ops.OperatorBase):
        return "%s is not run" % name
    module = getattr(node.target, "__module__", None)
    owner = getattr(node.target, "__self__", None)
    own = module is None and "_VariableFunctions" in str(owner)
    if own or (module in _MODULES and not name.startswith(("set_", "manual_seed", "_C", "seed"))):
        return ""
    return "%s may have effects" % name


def _watching(torch, inputs):
    """A dispatch mode that refuses operators with effects beyond their results."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            name = func.name()
            if func.namespace not in ("aten", "prims", "prim", "torchvision"):
                raise Unknown("%s may have effects" % name)
            if torch.Tag.nondeterministic_seeded in func.tags:
                raise Unknown("%s draws random numbers" % name)
            if "batch_norm" in name and any(a is True for a in list(args) + list(kwargs.values())):
                raise _Writes("%s updates its running statistics" % name)
            if func._schema.is_mutable:
                for i, a in enumerate(func._schema.arguments):
                    t = args[i] if i < len(args) else kwargs.get(a.name)
                    if a.alias_info is not None and a.alias_info.is_write:
                        for one in t if isinstance(t, (list, tuple)) else [t]:
                            if isinstance(one, torch.Tensor) and _storage(one) in inputs:
                                raise _Writes("%s writes to an input" % name)
            return func(*args, **kwargs)

    return Watch()


class _Writes(Unknown):
    """An effect that every later node may see."""


def _storage(t):
    try:
        return t.untyped_storage()._cdata
    except Exception:
        return None


class Replay:
    """Real values of the nodes of a graph that is being captured."""

    def __init__(self, output):
        self.output = output
        self.values = {}  # node -> real value, or an Unknown
        self.ran = False

    def value(self, node):
        if not self.ran:
            self.ran = True
            self.run()
        v = self.values.get(node, Unknown("it is not computed yet"))
        if isinstance(v, Unknown):
            raise v
        return v

    def run(self):
        torch = torch_module()
        nodes = list(self.output.graph.nodes)
        inputs, until, elements, stopped = set(), time.monotonic() + SECONDS, 0, None
        with contextlib.ExitStack() as stack:
            guards = sys.modules.get("torch._guards")
            if guards:
                stack.enter_context(guards.tracing(None))
            stack.enter_context(plain(torch))
            for node in nodes:
                if node.op in ("placeholder", "get_attr"):
                    self.values[node] = v = self.input(torch, node)
                    if isinstance(v, torch.Tensor):
                        inputs.add(_storage(v))
            stack.enter_context(_watching(torch, inputs))
            for node in nodes:
                if node in self.values or node.op == "output":
                    continue
                if stopped is None and (time.monotonic() > until or elements > ELEMENTS):
                    stopped = Unknown("the captured nodes take too long or too much memory to run")
                v = stopped or self.call(torch, node, stack)
                if isinstance(v, _Writes):
                    stopped = v
                self.values[node] = v
                if isinstance(v, torch.Tensor):
                    elements += v.numel()

    def input(self, torch, node):
        try:
            if node.op == "get_attr":
                v = self.output.nn_modules.get(node.target)
                if not isinstance(v, torch.Tensor):
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

    def call(self, torch, node, stack):
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
                self.left = getattr(self, "left", []) + [args[0]]
                return node.target(*args)
            why = _pure_target(torch, node)
            if why:
                return Unknown(why)
            if node.op == "call_method":
                return getattr(args[0], node.target)(*args[1:], **kwargs)
            return node.target(*args, **kwargs)
        except Unknown as e:
            return e
        except Exception as e:
            return Unknown(cut("%s raised %s: %s" % (name, type(e).__name__, e), 200))

    def leave(self, mode):
        if mode not in getattr(self, "left", ()):
            sys.modules["torch.amp.autocast_mode"]._exit_autocast(mode)

    def argument(self, node):
        v = self.values.get(node, Unknown("it is not computed yet"))
        if isinstance(v, Unknown):
            raise v
        return v


# Variable trackers.


def _unlazy(vt):
    """The tracker that a lazy one has become, itself where it is still lazy. Nothing is realized:
    that would add guards."""
    if is_lazy(vt) and vt.is_realized():
        return vt.unwrap() if hasattr(vt, "unwrap") else vt.realize()
    return vt


def is_lazy(vt):
    return any(c.__name__ == "LazyVariableTracker" for c in type(vt).__mro__)


def _lazy_value(vt):
    """The value that a lazy tracker stands for. Its class is asked what it has: an attribute that
    a lazy tracker does not have itself realizes it."""
    for name in ("original_value", "peek_value"):
        if hasattr(type(vt), name):
            return getattr(type(vt), name)(vt)
    return vt._cache.value


def real(vt, replay, depth=6):
    """The real value of a variable tracker; Unknown where there is none yet."""
    vt = _unlazy(vt)
    kind = type(vt).__name__
    if is_lazy(vt):
        return _lazy_value(vt)
    if kind == "ConstantVariable":
        return vt.value
    proxy = getattr(vt, "proxy", None)
    if proxy is not None and hasattr(proxy, "node"):
        return replay.value(proxy.node)
    if depth <= 0:
        raise Unknown("too deep")
    items = getattr(vt, "items", None)
    if isinstance(items, list):
        values = [real(i, replay, depth - 1) for i in items]
        return tuple(values) if "Tuple" in kind or "Size" in kind else values
    if isinstance(items, dict) and "Dict" in kind:
        return {real(getattr(k, "vt", k), replay, depth - 1): real(v, replay, depth - 1) for k, v in items.items()}
    if kind == "NNModuleVariable":
        return replay.output.get_submodule(vt.module_key)
    for attr in ("value", "fn"):
        if hasattr(vt, attr) and not callable(getattr(type(vt), attr, None)):
            return getattr(vt, attr)
    raise Unknown("Dynamo's %s has no value before it is run" % kind)


def fake(vt):
    """The fake tensor or symbolic number of a tracker, None where it has none."""
    node = node_of(vt)
    return node.meta.get("example_value") if node is not None else None


def node_of(vt):
    """The captured node of a tracker. A lazy one is not asked: it would be realized."""
    vt = _unlazy(vt)
    return None if is_lazy(vt) else getattr(getattr(vt, "proxy", None), "node", None)


def shown(name, vt, replay, values, arg=False, depth=4):
    """A symbolic local: what Dynamo knows of it beside its real value."""
    out = {"name": name}
    if arg:
        out["arg"] = True
    torch = torch_module()
    example = fake(vt)
    try:
        out.update(values.value(real(vt, replay), depth))
    except Unknown as e:
        out["unknown"] = cut(str(e))
        out["type"] = type_name(example) if example is not None else type(_unlazy(vt)).__name__
    except Exception as e:
        out["unknown"] = cut("cannot be looked at: %s: %s" % (type(e).__name__, e))
    if isinstance(example, torch.Tensor):
        out["fake"] = described(torch, example)
        if out.get("type", "").endswith("FakeTensor"):
            out["type"] = "torch.Tensor"
    elif isinstance(example, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        out["text"] = "%s = %s" % (example, out["text"]) if "text" in out else str(example)
    return out


class TracedLevel(Level):
    """A frame that Dynamo traces: its locals are symbolic."""

    def __init__(self, tx, replay):
        super().__init__(tx.f_code, tx.lineno or tx.f_code.co_firstlineno, {}, tx.f_globals)
        self.tx, self.replay = tx, replay

    def names(self):
        scope = dict(self.globals)
        for name, vt in self.tx.symbolic_locals.items():
            scope.pop(name, None)  # a global of the name is another variable
            try:
                scope[name] = real(vt, self.replay)
            except Unknown as e:
                self.unknown[name] = "%s: %s" % (name, e)
        return scope

    def locals(self, values, depth):
        code = self.code
        n = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 4) + bool(code.co_flags & 8)
        args = code.co_varnames[:n]
        symbolic = self.tx.symbolic_locals
        names = [a for a in args if a in symbolic] + [k for k in symbolic if k not in args]
        return [
            shown(k, symbolic[k], self.replay, values, k in args, depth)
            for k in names
            if not frames.of_dynamo(code, k) and type(symbolic[k]).__name__ != "NullVariable"
        ]


def levels_of(tx, exc=None):
    """The traced frames, innermost first: those that a break's exception came through too."""
    replay = Replay(tx.output)
    chain, seen = [], set()

    def add(t):
        if id(t) not in seen and hasattr(t, "symbolic_locals") and hasattr(t, "f_code"):
            seen.add(id(t))
            chain.append(t)

    inner = []
    tb = getattr(exc, "__traceback__", None)
    while tb is not None:
        t = tb.tb_frame.f_locals.get("self")
        if hasattr(t, "symbolic_locals") and t is not tx and _within(t, tx):
            inner.append(t)
        tb = tb.tb_next
    for t in reversed(inner):
        add(t)
    t = tx
    while t is not None:
        add(t)
        t = getattr(t, "parent", None)
    return [TracedLevel(t, replay) for t in chain]


def _within(t, tx):
    """Whether t was inlined into tx."""
    while t is not None:
        if t is tx:
            return True
        t = getattr(t, "parent", None)
    return False


def node_lines(graph):
    """The captured nodes, a line each."""
    torch = torch_module()
    out = []
    for node in graph.nodes:
        if len(out) == NODES:
            out.append("and more")
            break
        what = ""
        example = node.meta.get("example_value")
        if isinstance(example, torch.Tensor):
            d = described(torch, example)
            what = ": %s[%s]" % (d["dtype"], ", ".join(d["shape"]))
        elif example is not None:
            what = ": %s" % cut(str(example), 60)
        if node.op == "placeholder":
            source = getattr(node.meta.get("grapharg"), "source", None)
            name = getattr(source, "name", "")
            call = "input " + cut(str(name() if callable(name) else name), 120)
        else:
            args = [str(a) for a in node.args] + ["%s=%s" % kv for kv in node.kwargs.items()]
            call = "%s(%s)" % (target_name(node.target), ", ".join(args))
        out.append(cut("%s%s = %s" % (node.name, what, call)))
    return out
