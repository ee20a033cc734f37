"""Runs of a graph on copies of its inputs, and the rule by which two results are equal; it is that
of tcdbg's package backends/numerics, and docs/numerics.md tells it."""

import contextlib
import math

import torch

SLACK = 4
WORST = 1e30
NOISES = 3

_TOLERANCE = {
    torch.float64: (1e-7, 1e-7), torch.complex128: (1e-7, 1e-7), torch.float32: (1.3e-6, 1e-5), torch.complex64: (1.3e-6, 1e-5),
    torch.float16: (1e-3, 1e-5), torch.bfloat16: (1.6e-2, 1e-5),
}  # fmt: skip


@contextlib.contextmanager
def aside():
    """What runs here is no part of the program: it is not traced by Dynamo, writes no records,
    and leaves random generators and modes as they are."""
    from torch._logging._internal import trace_log

    grad, disabled = torch.is_grad_enabled(), trace_log.disabled
    rng, cuda = torch.get_rng_state(), None
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        cuda = torch.cuda.get_rng_state_all()
    import random

    python = random.getstate()
    trace_log.disabled = True
    levels = _quiet_logs()
    regions = _Regions()
    try:
        with _dynamo_off(), torch.random.fork_rng(enabled=False):
            yield
    finally:
        regions.restore()
        for log, level in levels:
            log.setLevel(level)
        trace_log.disabled = disabled
        random.setstate(python)
        torch.set_rng_state(rng)
        if cuda is not None:
            torch.cuda.set_rng_state_all(cuda)
        torch.set_grad_enabled(grad)


@contextlib.contextmanager
def traced():
    """Lets the trace have what is compiled here: the program's own backward graph is compiled when it
    first runs."""
    from torch._logging._internal import trace_log

    disabled, trace_log.disabled = trace_log.disabled, False
    try:
        yield
    finally:
        trace_log.disabled = disabled


class _Regions:
    """The regions that graphs enter and leave by calls: autocast, and those of functorch. A run that
    fails in the middle leaves them open."""

    def __init__(self):
        self.autocast = [(d, torch.is_autocast_enabled(d), torch.get_autocast_dtype(d)) for d in ("cpu", "cuda")]
        self.cache = torch.is_autocast_cache_enabled()
        functorch = torch._C._functorch
        self.depth = functorch.get_dynamic_layer_stack_depth() if hasattr(functorch, "get_dynamic_layer_stack_depth") else None

    def restore(self):
        for device, on, dtype in self.autocast:
            if torch.is_autocast_enabled(device) != on:
                torch.set_autocast_enabled(device, on)
            if torch.get_autocast_dtype(device) != dtype:
                torch.set_autocast_dtype(device, dtype)
        torch.set_autocast_cache_enabled(self.cache)
        if self.depth is not None:
            torch._C._functorch.pop_dynamic_layer_stack_and_undo_to_depth(self.depth)


def _wrapped(t):
    """Whether a tensor is one of a level of vmap or grad."""
    check = getattr(torch._C._functorch, "is_functorch_wrapped_tensor", None)
    return check is not None and check(t)


def _quiet_logs():
    import logging

    out = []
    for name in ("torch._dynamo", "torch._inductor", "torch._functorch", "torch.fx"):
        log = logging.getLogger(name)
        out.append((log, log.level))
        log.setLevel(logging.CRITICAL)
    return out


@contextlib.contextmanager
def _dynamo_off():
    from torch._C._dynamo import eval_frame

    old = eval_frame.set_eval_frame(None)
    try:
        yield
    finally:
        eval_frame.set_eval_frame(old)


def plain(t):
    return type(t) in (torch.Tensor, torch.nn.Parameter) or type(t).__name__ == "Buffer" and isinstance(t, torch.Tensor)


def refused(args):
    """Why a call cannot be compared, None where it can."""
    for i, a in enumerate(args):
        if not isinstance(a, torch.Tensor):
            continue
        if not plain(a):
            return "input %d is a %s" % (i, type(a).__name__)
        if a.layout != torch.strided or a.is_quantized or getattr(a, "is_nested", False) or a.is_meta:
            return "input %d is no plain tensor in memory" % i
        if a.is_conj() or a.is_neg():
            return "input %d is a conjugate or negative view" % i
    return None


def copies(args, wide=False):
    """Copies of inputs; those that share memory share the copy."""
    memory = {}
    out = []
    for a in args:
        if not isinstance(a, torch.Tensor):
            out.append(float(a) if wide and isinstance(a, float) else a)
            continue
        key = (a.untyped_storage()._cdata, a.dtype if wide else None)
        with torch.no_grad():
            if key not in memory:
                if wide and a.dtype.is_floating_point:
                    n = a.untyped_storage().nbytes() // a.element_size()
                    whole = torch.empty(0, dtype=a.dtype, device=a.device).set_(a.untyped_storage(), 0, (n,), (1,))
                    memory[key] = whole.double().untyped_storage()
                else:
                    memory[key] = a.untyped_storage().clone()
            dtype = torch.float64 if wide and a.dtype.is_floating_point else a.dtype
            x = torch.empty(0, dtype=dtype, device=a.device).set_(memory[key], a.storage_offset(), a.size(), a.stride())
        if a.requires_grad:
            x.requires_grad_()
        out.append(x)
    return out


class Result:
    def __init__(self, what, t, same=False, held=False):
        self.what, self.t, self.same, self.held = what, t, same, held


class Subject:
    """A graph with the inputs of one call."""

    def __init__(self, gm, args, given=None):
        """given is how many of args the program gives; the others the graph holds itself."""
        self.gm, self.args, self.note = gm, copies(args), ""
        self.given = len(args) if given is None else given
        self.train = torch.is_grad_enabled() and any(isinstance(a, torch.Tensor) and a.requires_grad for a in args[: self.given])
        self.grad = torch.is_grad_enabled()
        self.rng = torch.get_rng_state()
        self.cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_available() and torch.cuda.is_initialized() else None
        self.names = [n.name for n in gm.graph.nodes if n.op == "placeholder"]
        self.made = [isinstance(a, torch.Tensor) and a.requires_grad and not a.is_leaf for a in args]
        shown = [a.untyped_storage()._cdata for a in args if isinstance(a, torch.Tensor)]
        if self.train and any(m and shown.count(a.untyped_storage()._cdata) > 1 for m, a in zip(self.made, args)):
            self.train, self.note = False, "gradients: inputs share memory"
        self._exact = self._noisy = None
        self.random = False

    def like(self, gm):
        """The same inputs, another graph."""
        out = Subject.__new__(Subject)
        out.__dict__.update(self.__dict__)
        out.gm, out._exact, out._noisy = gm, None, None
        return out

    def rewind(self):
        torch.set_rng_state(self.rng)
        if self.cuda is not None:
            torch.cuda.set_rng_state_all(self.cuda)
        torch.set_grad_enabled(self.grad)

    def execute(self, run, wide=False):
        """What a run gives: outputs, inputs that it writes, gradients of inputs."""
        args = copies(self.args, wide)
        before = copies(self.args, wide)
        leaves = []
        for i, a in enumerate(args):
            if self.train and i < self.given and isinstance(a, torch.Tensor) and a.requires_grad:
                leaves.append((self.names[i] if i < len(self.names) else str(i), a))
                if self.made[i]:
                    args[i] = a.clone()
        self.rewind()
        try:
            out = run(*args)
        finally:
            torch.set_grad_enabled(self.grad)
        if self.drew():
            self.random = True
        flat = [t for t in _flat(out) if isinstance(t, torch.Tensor)]
        results = self.values(flat, args, before)
        if self.train:
            results += gradients(flat, leaves)
        with torch.no_grad():
            for r in results:
                r.t = r.t.detach().clone()
        return results

    def values(self, flat, args, before):
        """Outputs, and inputs as they are after a run."""
        results = [Result("output %d" % i, t) for i, t in enumerate(flat) if usable(t)]
        for i, (name, a, b) in enumerate(zip(self.names, args, before)):
            if isinstance(a, torch.Tensor):
                with torch.no_grad():
                    same = a.dtype == b.dtype and a.shape == b.shape and _same(a, b)
                results.append(Result("input " + name, a, same, i >= self.given))
        return results

    def after(self, args, out):
        """What a run of the program's own has given."""
        return self.values([t for t in _flat(out) if isinstance(t, torch.Tensor)], args, copies(self.args))

    def drew(self):
        """Whether random numbers were drawn since rewind."""
        if not torch.equal(torch.get_rng_state(), self.rng):
            return True
        return self.cuda is not None and any(not torch.equal(a, b) for a, b in zip(torch.cuda.get_rng_state_all(), self.cuda))

    def eager(self):
        return self.execute(self.gm)

    def exact(self):
        """The results in double precision, None where that cannot be had."""
        if self.random:  # in double precision other numbers are drawn
            return None
        if self._exact is None:
            try:
                with _no_autocast():
                    self._exact = self.execute(_Wide(self.gm).run, wide=True)
            except Exception:
                self._exact = False
        return self._exact or None

    def noisy(self):
        """The results of runs whose operators rounded otherwise."""
        if self._noisy is None:
            self._noisy = []
            for seed in range(NOISES):
                try:
                    self._noisy.append(self.execute(_Noisy(self.gm, seed).run))
                except Exception:
                    break
        return self._noisy

    def judge(self, got, want):
        if len(got) != len(want):
            return [Compared.counts(len(got), len(want))]
        out = []
        for i, (g, w) in enumerate(zip(got, want)):
            if g.same and w.same:
                continue
            c = Compared(w.what, g.t, w.t, None)
            if c.faulty:
                exact = self.exact()
                if exact is not None and len(exact) == len(want):
                    c = Compared(w.what, g.t, w.t, exact[i].t)
                if c.faulty and not c.shaped:
                    c.weigh(g.t, w.t, [n[i].t for n in self.noisy() if len(n) == len(want)])
            out.append(c)
        return out

    def born(self):
        """Where the first NaN or Inf comes from, and where it is an Inf, where the first NaN does. An Inf comes
        from a node of whose inputs none has either, nor a number that it is called with, as a mask's fill
        value; a NaN from one of whose inputs and numbers none is NaN."""
        watch = _Watch(self.gm)
        for name, a in zip(self.names, self.args):
            what = bad(a)
            if what:
                watch.add({"what": what, "node": "", "op": "", "input": name})
        if not watch.done:
            self.execute(watch.run)
        return watch.found


def lifted(gm):
    """The graph with inputs in the place of tensors that it holds, and those tensors."""
    import copy

    graph, held = copy.deepcopy(gm.graph), []
    first = next((n for n in graph.nodes if n.op != "placeholder"), None)
    seen = {}
    for n in list(graph.nodes):
        if n.op != "get_attr":
            continue
        value = gm
        for part in str(n.target).split("."):
            value = getattr(value, part)
        if not isinstance(value, torch.Tensor):
            continue
        if n.target not in seen:
            with graph.inserting_before(first):
                seen[n.target] = graph.placeholder(str(n.target).replace(".", "_"))
            held.append(value)
        n.replace_all_uses_with(seen[n.target])
        if n is first:
            first = n.next
        graph.erase_node(n)
    return (torch.fx.GraphModule(gm, graph), held) if held else (gm, held)


def _same(a, b):
    return torch.equal(torch.isnan(a), torch.isnan(b)) and torch.equal(torch.nan_to_num(a), torch.nan_to_num(b)) if (
        a.dtype.is_floating_point or a.dtype.is_complex) else torch.equal(a, b)  # fmt: skip


def usable(t):
    if not plain(t) or _wrapped(t):
        return False
    return t.layout == torch.strided and not t.is_meta and not t.is_quantized and not getattr(t, "is_nested", False)


def _flat(out):
    if isinstance(out, (list, tuple)):
        for x in out:
            yield from _flat(x)
    else:
        yield out


def gradients(outs, leaves):
    """Those of the leaves for a gradient of the outputs that is the same each time."""
    wanted, seeds = [], []
    for t in outs:
        if t.requires_grad and usable(t) and not any(t is w for w in wanted):
            wanted.append(t)
            seeds.append(_seed(t))
    if not wanted or not leaves:
        return []
    grads = torch.autograd.grad(wanted, [a for _, a in leaves], seeds, allow_unused=True)
    return [Result("gradient of " + name, g) for (name, _), g in zip(leaves, grads) if g is not None and usable(g)]


def _seed(t):
    """Numbers that differ, exact in every float type."""
    at = torch.arange(t.numel(), dtype=torch.float64)
    return ((torch.cos(0.7 * at + 1) * 64).trunc() / 64).reshape(t.shape).to(t.device, t.dtype)


@contextlib.contextmanager
def _no_autocast():
    with contextlib.ExitStack() as stack:
        for device in ("cpu", "cuda"):
            if torch.is_autocast_enabled(device):
                stack.enter_context(torch.autocast(device, enabled=False))
        yield


_NARROW = {torch.float32, torch.float16, torch.bfloat16}
_TO_NARROW = {"float", "half", "bfloat16"}


class _Wide(torch.fx.Interpreter):
    """Double precision: what makes a narrower float makes a float64."""

    def run_node(self, n):
        if getattr(n.target, "__name__", "") in ("_enter_autocast", "_exit_autocast"):
            return None
        return super().run_node(n)

    def fetch_args_kwargs_from_env(self, n):
        def wide(x):
            return torch.float64 if isinstance(x, torch.dtype) and x in _NARROW else x

        args, kwargs = super().fetch_args_kwargs_from_env(n)
        return tuple(wide(a) for a in args), {k: wide(v) for k, v in kwargs.items()}

    def call_method(self, target, args, kwargs):
        return super().call_method("double" if target in _TO_NARROW else target, args, kwargs)


class _Noisy(torch.fx.Interpreter):
    """Each operator's result is moved by up to one unit in the last place."""

    def __init__(self, gm, seed):
        super().__init__(gm)
        self.draw = torch.Generator().manual_seed(seed)

    def run_node(self, n):
        out = super().run_node(n)
        if n.op not in ("call_function", "call_method") or not isinstance(out, torch.Tensor) or out.dtype not in _TOLERANCE:
            return out
        if out.dtype.is_complex or not usable(out) or out._is_view():
            return out
        ins = [self.env[i] for i in n.all_input_nodes if i in self.env]
        if any(isinstance(t, torch.Tensor) and t.untyped_storage()._cdata == out.untyped_storage()._cdata for t in ins):
            return out
        eps = torch.finfo(out.dtype).eps
        pick = torch.randint(0, 3, out.shape, generator=self.draw)
        return out * torch.tensor([1 - eps / 2, 1, 1 + eps], dtype=torch.float64)[pick].to(out.device, out.dtype)


class _Watch(torch.fx.Interpreter):
    done = False

    def __init__(self, gm):
        super().__init__(gm)
        self.found = []

    def add(self, source):
        nan = "NaN" in source["what"]
        if not self.done and (nan or not self.found):
            self.found.append(source)
            self.done = nan

    def run_node(self, n):
        looks = not self.done and n.op.startswith("call")
        ins = [bad(self.env.get(i)) for i in n.all_input_nodes] if looks else []
        out = super().run_node(n)
        what = bad(out) if looks else ""
        if not what or any("NaN" in i for i in ins) or any_number(math.isnan, (n.args, n.kwargs)):
            return out
        if "NaN" in what or not any(ins) and not any_number(math.isinf, (n.args, n.kwargs)):
            self.add(dict({"what": what, "node": n.name, "op": op_of(n)}, **_place(n), **({"of_inf": True} if any(ins) else {})))
        return out


def _place(n):
    pos = pos_of(n)
    return {"pos": pos} if pos else {}


def any_number(kind, v):
    """Whether a number of a kind is among arguments."""
    if isinstance(v, dict):
        v = list(v.values())
    if isinstance(v, (list, tuple)):
        return any(any_number(kind, x) for x in v)
    return isinstance(v, float) and kind(v)


def bad(v):
    """How many NaN and Inf a value has, "" for none."""
    if isinstance(v, (list, tuple)):
        return next((b for b in map(bad, v) if b), "")
    if not isinstance(v, torch.Tensor) or not usable(v) or not v.dtype.is_floating_point:
        return ""
    with torch.no_grad():
        nan, inf = int(torch.isnan(v).sum()), int(torch.isinf(v).sum())
    parts = (["%d NaN" % nan] if nan else []) + (["%d Inf" % inf] if inf else [])
    return " and ".join(parts)


def op_of(n):
    return n.target if isinstance(n.target, str) else getattr(n.target, "__name__", str(n.target))


def pos_of(n):
    """The line of the program that a node comes from, None where it has none."""
    import re

    trace = n.meta.get("stack_trace") or ""
    found = re.findall(r'File "([^"\n]+)", line (\d+), in ([^\n]*)\n?([^\n]*)', trace)
    if not found:
        return None
    file, line, func, code = found[-1]
    return {"file": file, "line": int(line), "func": func.strip(), "code": code.strip()}


class Compared:
    """One value of a run beside eager execution."""

    def __init__(self, what, got, want, exact):
        self.what, self.dtype, self.shape = what, str(want.dtype).replace("torch.", ""), list(want.shape)
        self.worst, self.beyond, self.excused, self.elements = 0.0, 0, 0, want.numel()
        self.at = self.compiled = self.eager = self.exact = None
        self.undecided, self.note, self.shaped = False, "", False
        if got.dtype != want.dtype or got.shape != want.shape:
            self.shaped, self.worst, self.beyond = True, WORST, max(1, self.elements)
            self.compiled, self.eager = _type(got), _type(want)
            self.faulty = self.beyond
            return
        with torch.no_grad():
            self.measure(got, want, exact)

    @classmethod
    def counts(cls, got, want):
        c = cls.__new__(cls)
        c.__dict__.update(
            what="results", dtype="", shape=[], worst=WORST, beyond=1, excused=0, elements=1, at=None, compiled=None, eager=None,
            exact=None, undecided=False, shaped=True, faulty=1,
            note="%d values (outputs, inputs, gradients) where eager execution gives %d" % (got, want),
        )  # fmt: skip
        return c

    def measure(self, got, want, exact):
        a, b = _numbers(got), _numbers(want)
        if a.numel() == 0:
            self.faulty = 0
            return
        ratio = _distance(a, b, want.dtype)
        r = None
        if exact is not None and want.dtype.is_floating_point and exact.shape == want.shape:
            r = _numbers(exact)
        beyond = ratio > 1
        self.beyond = int(beyond.sum())
        if self.beyond and r is not None:
            relative, absolute = _TOLERANCE.get(want.dtype, (0, 0))
            spread = (b - r).abs()
            spread = spread[torch.isfinite(spread)]
            most = float(spread.max()) if spread.numel() else 0.0
            size = r.abs()[torch.isfinite(r)]
            size = float(size.max()) if size.numel() else 0.0
            if most > min(1000 * relative, 0.05) * size + 1000 * absolute:
                r = None  # eager execution is no approximation of it: a comparison has come out otherwise, say
            else:
                near = (a - r).abs() <= SLACK * most + absolute + relative * r.abs()
                self.excused = int((beyond & near & ~torch.isnan(r)).sum())
        self.faulty = self.beyond - self.excused
        i = int(ratio.argmax())
        self.worst = min(float(ratio[i]), WORST)
        if self.worst > 0:
            self.compiled, self.eager = _text(a[i], want.dtype), _text(b[i], want.dtype)
            if r is not None:
                self.exact = _text(r[i], torch.float64)
            if want.dtype.is_complex:
                i //= 2
            at = []
            for size in reversed(self.shape):
                at.insert(0, i % size)
                i //= size
            self.at = at

    def weigh(self, got, want, noisy):
        """Takes runs with other rounding as a measure of how far rounding moves the result."""
        with torch.no_grad():
            a, b = _numbers(got), _numbers(want)
            most, moved = 0.0, 0
            for t in noisy:
                if t.shape != want.shape or t.dtype != want.dtype:
                    return
                n = _numbers(t)
                d = (n - b).abs()
                d = d[torch.isfinite(d)]
                most = max(most, float(d.max()) if d.numel() else 0.0)
                moved = max(moved, int((_distance(n, b, want.dtype) > 1).sum()))
            if not moved:
                return
            left = int(((_distance(a, b, want.dtype) > 1) & ~((a - b).abs() <= SLACK * most)).sum())
            self.undecided = left == 0 and self.beyond <= SLACK * moved + SLACK

    def differs(self):
        return self.faulty > 0 and not self.undecided

    def data(self):
        out = {
            "what": self.what, "dtype": self.dtype, "shape": self.shape, "worst": self.worst, "beyond": self.beyond,
            "excused": self.excused, "elements": self.elements,
        }  # fmt: skip
        for name in ("at", "compiled", "eager", "exact", "note"):
            if getattr(self, name):
                out[name] = getattr(self, name)
        return out


def _numbers(t):
    t = t.detach()
    if t.dtype.is_complex:
        t = torch.view_as_real(t.resolve_conj())
    if t.dtype.is_floating_point:
        return t.to(torch.float64).flatten().cpu()
    return t.to(torch.int64).flatten().cpu() if t.dtype != torch.uint64 else t.view(torch.int64).flatten().cpu()


def _distance(a, b, dtype):
    """How far a lies from b, in units of what is allowed."""
    same = a == b
    if not a.dtype.is_floating_point:
        return torch.where(same, 0.0, math.inf).to(torch.float64)
    same |= torch.isnan(a) & torch.isnan(b)
    relative, absolute = _TOLERANCE.get(dtype, (0.125, 0.125))  # float8
    ratio = (a - b).abs() / (absolute + relative * b.abs())
    ratio = torch.where(torch.isfinite(a) & torch.isfinite(b), ratio, math.inf)
    return torch.where(same, 0.0, ratio)


def _type(t):
    return str(t.dtype).replace("torch.", "") + str(list(t.shape))


def _text(x, dtype):
    if not x.dtype.is_floating_point:
        return str(int(x))
    digits = {torch.float64: 17, torch.float16: 5, torch.bfloat16: 5}.get(dtype, 9)
    return "%.*g" % (digits, float(x))
