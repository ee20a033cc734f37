"""Stops where a compiled graph makes the first NaN or Inf: a result has one and no input does. Of a
backward graph the results are the gradients that it gives back, and the inputs those given to it.
"""

import sys

from . import graphs, hooked
from .stops import dynamo_off
from .values import is_fake, plain, torch_module


class Watch:
    def __init__(self, hooks):
        self.hooks = hooks
        self.on = False

    def begins(self, name, fn, args):
        return lambda out: self.looked_at(name, args, out)

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
        moment = graphs.here("nan")
        rest = "no input of it has" if result == "result" else "no gradient that it was given has"
        moment.reason = "%s %d of %s has %s, and %s" % (result, i, graphs.spelled(name), what, rest)

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
