"""What Dynamo knows of a frame that it traces, and the real values beside (captured.py)."""

from . import frames
from .captured import Replay, Unknown, target_name
from .stops import Level
from .values import TEXT, cut, described, torch_module, type_name

NODES = 2000  # that are shown


# Variable trackers.


def unlazy(vt):
    """The tracker that a lazy one has become, itself where it is still lazy. Nothing is realized:
    that would add guards."""
    if is_lazy(vt) and vt.is_realized():
        return vt.unwrap() if hasattr(vt, "unwrap") else vt.realize()
    return vt


_lazy = {}  # class of a tracker -> whether its trackers are lazy


def is_lazy(vt):
    kind = type(vt)
    known = _lazy.get(kind)
    if known is None:
        known = _lazy[kind] = any(c.__name__ == "LazyVariableTracker" for c in kind.__mro__)
    return known


def _lazy_value(vt):
    """The value that a lazy tracker stands for. Its class is asked what it has: an attribute that
    a lazy tracker does not have itself realizes it."""
    for name in ("original_value", "peek_value"):
        if hasattr(type(vt), name):
            return getattr(type(vt), name)(vt)
    return vt._cache.value


def real(vt, replay, depth=6):
    """The real value of a variable tracker; Unknown where there is none yet."""
    vt = unlazy(vt)
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
    if kind == "CellVariable":
        raise Unknown("nothing is assigned to it yet")
    raise Unknown("Dynamo's %s has no value before it is run" % kind)


def fake(vt):
    """The fake tensor or symbolic number of a tracker, None where it has none."""
    node = node_of(vt)
    return node.meta.get("example_value") if node is not None else None


def node_of(vt):
    """The captured node of a tracker. A lazy one is not asked: it would be realized."""
    vt = unlazy(vt)
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
        out["type"] = type_name(example) if example is not None else type(unlazy(vt)).__name__
    except Exception as e:
        out["unknown"] = cut("cannot be looked at: %s: %s" % (type(e).__name__, e))
    if isinstance(example, torch.Tensor):
        out["fake"] = described(torch, example)
        if out.get("type", "").endswith("FakeTensor"):
            out["type"] = "torch.Tensor"
    elif isinstance(example, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        out["text"] = "%s = %s" % (example, out["text"]) if "text" in out else str(example)
    return out


def _contents(vt, output):
    """What is in the cell of a variable that an inner function uses; other trackers themselves.
    Dynamo's own load_cell notes that the cell was read."""
    if type(unlazy(vt)).__name__ != "CellVariable":
        return vt
    cell = unlazy(vt)
    stored = getattr(output.side_effects, "store_attr_mutations", {}).get(cell, {})
    return stored.get("cell_contents") or getattr(cell, "pre_existing_contents", None) or vt


class TracedLevel(Level):
    """A frame that Dynamo traces: its locals are symbolic."""

    def __init__(self, tx, replay):
        super().__init__(tx.f_code, tx.lineno or tx.f_code.co_firstlineno, {}, tx.f_globals)
        self.tx, self.replay = tx, replay

    def symbolic(self):
        return {k: _contents(vt, self.tx.output) for k, vt in self.tx.symbolic_locals.items()}

    def names(self):
        scope = dict(self.globals)
        for name, vt in self.symbolic().items():
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
        symbolic = self.symbolic()
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


def _example(torch, example):
    """What Dynamo knows of a node's value."""
    if isinstance(example, torch.Tensor):
        d = described(torch, example)
        return "%s[%s]" % (d["dtype"], ", ".join(d["shape"]))
    if type(example) in (tuple, list):
        text = ", ".join(_example(torch, e) for e in example)
        return cut("(%s)" % text if isinstance(example, tuple) else "[%s]" % text, 60)
    return "" if example is None else cut(str(example), 60)


def node_lines(graph):
    """The captured nodes, a line each."""
    out = []
    for node in graph.nodes:
        if len(out) == NODES:
            out.append("and more")
            break
        out.append(node_line(node))
    return out


def node_line(node, most=TEXT):
    """A captured node: its name, what Dynamo knows of it, and the call."""
    what = _example(torch_module(), node.meta.get("example_value"))
    what = ": " + what if what else ""
    if node.op == "placeholder":
        call = "input " + cut(source_name(getattr(node.meta.get("grapharg"), "source", None)), 120)
    else:
        args = [str(a) for a in node.args] + ["%s=%s" % kv for kv in node.kwargs.items()]
        call = "%s(%s)" % (target_name(node.target), ", ".join(args))
    return cut("%s%s = %s" % (node.name, what, call), most)


def source_name(source):
    """Where a value comes from: L['x']."""
    name = getattr(source, "name", "")
    return str(name() if callable(name) else name)


def lazy_source(vt):
    """Where the value of a lazy tracker comes from, None for one that is computed."""
    return getattr(vt._cache, "source", None)


def spelled(vt):
    """A tracker in PyTorch's terms: TensorVariable(relu)."""
    kind = type(vt).__name__
    if is_lazy(vt):
        name = source_name(lazy_source(vt))
        return cut("%s(%s)" % (kind, name), 80) if name else kind
    node = node_of(vt)
    if node is not None:
        expr = getattr(vt, "sym_num", None)
        return cut("%s(%s)" % (kind, node.name if expr is None else expr), 80)
    if kind == "ConstantVariable":
        return cut("ConstantVariable(%r)" % (vt.value,), 80)
    name = source_name(getattr(vt, "source", None)) or getattr(getattr(vt, "fn", None), "__name__", "")
    if not name and kind == "GetAttrVariable":
        name = "%s, %s" % (spelled(unlazy(vt.obj)), vt.name)
    if not name and kind.startswith(("List", "Tuple", "Size")) and isinstance(getattr(vt, "items", None), list):
        name = "length=%d" % len(vt.items)
    return cut("%s(%s)" % (kind, name), 80) if name else kind
