"""Stops where a compiled graph makes the first NaN or Inf: a result has one and no input does. Of a
backward graph the results are the gradients that it gives back, and the inputs those given to it.

The compiled functions, which generated code reads from the globals of the user's module, are
wrapped while such a breakpoint is set.
"""

import sys

from . import frames, hooked
from .stops import Moment, dynamo_off
from .values import is_fake, plain, torch_module

PREFIX = "__compiled_fn_"


class Watch:
    def __init__(self, hooks):
        self.hooks = hooks
        self.on = False
        self.wrapped = []  # (globals, name, original, wrapper)

    def arm(self, on):
        if on:
            self.on = True
            self.more()
        elif self.on:
            self.on = False
            for scope, name, original, wrapper in self.wrapped:
                if scope.get(name) is wrapper:
                    scope[name] = original
            self.wrapped.clear()

    def more(self):
        """Wraps the compiled functions that are not yet: of all modules, and of the frame that
        is being compiled."""
        if not self.on:
            return
        scopes = {id(m.__dict__): m.__dict__ for m in list(sys.modules.values()) if hasattr(m, "__dict__")}
        frame = sys._getframe(1)
        while frame is not None:
            found = frame.f_locals.get("globals") if frame.f_code.co_name == "_compile" else None
            if isinstance(found, dict):
                scopes[id(found)] = found
            frame = frame.f_back
        for scope in scopes.values():
            for name in [n for n in list(scope) if isinstance(n, str) and n.startswith(PREFIX)]:
                fn = scope[name]
                if callable(fn) and not hasattr(fn, "_tcdbg_original"):
                    wrapper = self.wrap(name, fn)
                    scope[name] = wrapper
                    self.wrapped.append((scope, name, fn, wrapper))

    def wrap(self, name, fn):
        def checked(*args, **kwargs):
            out = fn(*args, **kwargs)
            if self.on:
                self.looked_at(name, args, out)
            return out

        checked._tcdbg_original = fn
        return checked

    def looked_at(self, name, args, out):
        with dynamo_off():
            hooked(self.check, name, args, out)
            hooked(self.await_backward, name, out)

    def await_backward(self, name, out):
        """Has the gradients looked at when the backward graph of a call has run."""
        torch = torch_module()
        config = sys.modules.get("torch._dynamo.config")
        if torch is None or getattr(config, "compiled_autograd", False):
            return
        nodes = {}
        for t in _flat(out):
            node = getattr(t, "grad_fn", None) if isinstance(t, torch.Tensor) else None
            if node is not None and type(node).__name__.startswith("CompiledFunction"):
                nodes[id(node)] = node
        for node in nodes.values():

            def ran(results, given):
                if self.on:
                    with dynamo_off():
                        hooked(self.check, "the backward graph of " + name, given, results, "gradient")

            node.register_hook(ran)

    def check(self, name, args, out, result="result"):
        torch = torch_module()
        if torch is None or self.hooks.session.busy():
            return
        with plain(torch):
            for i, t in enumerate(_flat(out)):
                nan, inf = _bad(torch, t)
                if not (nan or inf):
                    continue
                came = [_bad(torch, a) for a in _flat(args)]
                if (nan and not any(n for n, _ in came)) or (inf and not any(f for _, f in came)):
                    break
            else:
                return
        what = "NaN" if nan else "Inf"
        at = sys._getframe(1)
        moment = Moment("nan", lambda: frames.user_frames(at))
        moment.compiled = next((frames.function_name(f.f_code) for f in moment.frames()), "")
        rest = "no input of it has" if result == "result" else "no gradient that it was given has"
        moment.reason = "%s %d of %s has %s, and %s" % (result, i, name.replace("__", ""), what, rest)

        def details(values, record):
            record["deciding"] = values.named("%s %d" % (result, i), t)
            values.note("eager operators are not looked at")

        moment.details = details
        self.hooks.session.safe(moment, lambda p: p.kind == "nan")


def _flat(values):
    for v in values if isinstance(values, (list, tuple)) else [values]:
        if isinstance(v, (list, tuple)):
            yield from _flat(v)
        else:
            yield v


def _bad(torch, t):
    """Whether a value has NaN, and whether it has Inf."""
    if type(t) not in (torch.Tensor, torch.nn.Parameter) or not t.is_floating_point() or is_fake(torch, t):
        return False, False
    if not t.numel() or t.layout != torch.strided:
        return False, False
    t = t.detach()
    return bool(torch.isnan(t).any()), bool(torch.isinf(t).any())
