"""Writes reference.json, lbfgs.json, state.json and halfway.pt: where PyTorch's optimizers and schedulers
end on one small problem, the learning rates on the way, and the optimizers'
defaults and state.

    python optim.py
    python optim.py FILE   # goes on from the states in a file
"""

import json
import sys

import torch
from torch import optim
from torch.optim import lr_scheduler as lr

X = torch.tensor([[1, 2, -1, 0.5], [0.25, -1, 3, 2]])


def start(name=""):
    """A vector, or for problems of matrices two columns."""
    w = torch.tensor([0.5, -1.25, 2, 0.125])
    if name.startswith("matrix"):
        w = torch.stack([w, w.flip(0) * 0.5], 1)
    return w.requires_grad_()


def sgd(rate=0.01, **k):
    return lambda p: optim.SGD(p, lr=rate, **k)


def resumed(o, **more):
    """An optimizer that a scheduler has had."""
    for g in o.param_groups:
        g.update({"initial_lr": 0.02 / 25, **more})
    return o


def metric(step):
    return ([5, 4, 4, 4, 4, 3.99999] + [3] * 20)[step]


PROBLEMS = {
    "sgd": (sgd(), None),
    "sgd_momentum": (sgd(momentum=0.9, dampening=0.1, weight_decay=0.05), None),
    "sgd_nesterov": (sgd(momentum=0.9, nesterov=True), None),
    "sgd_maximize": (sgd(0.0001, maximize=True), None),
    "adam": (lambda p: optim.Adam(p), None),
    "adam_wd": (lambda p: optim.Adam(p, lr=0.01, weight_decay=0.1, amsgrad=True), None),
    "adamw": (lambda p: optim.AdamW(p), None),
    "adamw_betas": (lambda p: optim.AdamW(p, lr=0.05, betas=(0.8, 0.95), eps=1e-6, weight_decay=0.2), None),
    "rmsprop": (lambda p: optim.RMSprop(p), None),
    "rmsprop_centered": (lambda p: optim.RMSprop(p, lr=0.003, momentum=0.5, centered=True, weight_decay=0.01), None),
    "adagrad": (lambda p: optim.Adagrad(p), None),
    "adagrad_decay": (lambda p: optim.Adagrad(p, lr=0.1, lr_decay=0.3, weight_decay=0.1, initial_accumulator_value=0.5), None),
    "adamax": (lambda p: optim.Adamax(p), None),
    "adamax_wd": (lambda p: optim.Adamax(p, lr=0.02, betas=(0.8, 0.95), weight_decay=0.1, maximize=True), None),
    "nadam": (lambda p: optim.NAdam(p), None),
    "nadam_wd": (lambda p: optim.NAdam(p, lr=0.01, weight_decay=0.1, momentum_decay=0.01), None),
    "nadam_decoupled": (lambda p: optim.NAdam(p, lr=0.01, weight_decay=0.1, decoupled_weight_decay=True), None),
    "radam": (lambda p: optim.RAdam(p), None),
    "radam_wd": (lambda p: optim.RAdam(p, lr=0.01, betas=(0.8, 0.9), weight_decay=0.1), None),
    "radam_decoupled": (lambda p: optim.RAdam(p, lr=0.01, weight_decay=0.1, decoupled_weight_decay=True), None),
    "adadelta": (lambda p: optim.Adadelta(p), None),
    "adadelta_wd": (lambda p: optim.Adadelta(p, lr=0.5, rho=0.8, eps=1e-4, weight_decay=0.1), None),
    "asgd": (lambda p: optim.ASGD(p), None),
    "asgd_late": (lambda p: optim.ASGD(p, lr=0.005, lambd=0.01, alpha=0.6, t0=4, weight_decay=0.1), None),
    "rprop": (lambda p: optim.Rprop(p), None),
    "rprop_steps": (lambda p: optim.Rprop(p, lr=0.1, etas=(0.4, 1.5), step_sizes=(1e-3, 0.2)), None),
    "adafactor": (lambda p: optim.Adafactor(p), None),
    "matrix_adafactor": (lambda p: optim.Adafactor(p), None),
    "matrix_adafactor_settings": (lambda p: optim.Adafactor(p, lr=0.05, beta2_decay=-0.6, eps=(1e-5, 0.01), d=2.0, weight_decay=0.1), None),
    "matrix_muon": (lambda p: optim.Muon(p, lr=0.01), None),
    "matrix_muon_settings": (lambda p: optim.Muon(p, lr=0.02, weight_decay=0.0, momentum=0.8, nesterov=False, ns_steps=4, adjust_lr_fn="match_rms_adamw"), None),
    "resumed_step": (sgd(), lambda o: lr.StepLR(resumed(o), 2, last_epoch=4)),
    "resumed_step_between": (sgd(), lambda o: lr.StepLR(resumed(o), 3, last_epoch=4)),
    "resumed_multistep": (sgd(), lambda o: lr.MultiStepLR(resumed(o), [5, 7], gamma=0.5, last_epoch=4)),
    "resumed_exponential": (sgd(), lambda o: lr.ExponentialLR(resumed(o), 0.9, last_epoch=4)),
    "resumed_cosine": (sgd(), lambda o: lr.CosineAnnealingLR(resumed(o), 9, last_epoch=4)),
    "resumed_linear": (sgd(), lambda o: lr.LinearLR(resumed(o), total_iters=8, last_epoch=4)),
    "resumed_lambda": (sgd(), lambda o: lr.LambdaLR(resumed(o), lambda e: 1 / (1 + e), last_epoch=4)),
    "resumed_multiplicative": (sgd(), lambda o: lr.MultiplicativeLR(resumed(o), lambda e: 1 - 0.01 * e, last_epoch=4)),
    "resumed_constant": (sgd(), lambda o: lr.ConstantLR(resumed(o), total_iters=7, last_epoch=4)),
    "resumed_polynomial": (sgd(), lambda o: lr.PolynomialLR(resumed(o), total_iters=12, power=2.0, last_epoch=4)),
    "resumed_cyclic": (sgd(), lambda o: lr.CyclicLR(resumed(o), 0.001, 0.01, step_size_up=3, cycle_momentum=False, last_epoch=4)),
    "resumed_one_cycle": (sgd(), lambda o: lr.OneCycleLR(resumed(o, max_lr=0.02, min_lr=0.02 / 25e4), 0.02, total_steps=30, cycle_momentum=False, last_epoch=4)),
    "step_lr": (sgd(), lambda o: lr.StepLR(o, 2)),
    "multistep_lr": (sgd(), lambda o: lr.MultiStepLR(o, [1, 4], gamma=0.5)),
    "exponential_lr": (sgd(), lambda o: lr.ExponentialLR(o, 0.9)),
    "cosine_lr": (sgd(), lambda o: lr.CosineAnnealingLR(o, 3, eta_min=0.001)),
    "linear_lr": (sgd(), lambda o: lr.LinearLR(o)),
    "lambda_lr": (sgd(), lambda o: lr.LambdaLR(o, lambda e: 1 / (1 + e))),
    "constant_lr": (sgd(), lambda o: lr.ConstantLR(o, total_iters=3)),
    "polynomial_lr": (sgd(), lambda o: lr.PolynomialLR(o, total_iters=6, power=2.0)),
    "multiplicative_lr": (sgd(), lambda o: lr.MultiplicativeLR(o, lambda e: 1 - 0.1 * e)),
    "warm_restarts": (sgd(), lambda o: lr.CosineAnnealingWarmRestarts(o, 2, T_mult=2, eta_min=0.001)),
    "one_cycle": (sgd(), lambda o: lr.OneCycleLR(o, 0.02, total_steps=25, cycle_momentum=False)),
    "one_cycle_linear": (sgd(), lambda o: lr.OneCycleLR(o, 0.02, total_steps=25, cycle_momentum=False, anneal_strategy="linear", three_phase=True)),
    "sequential_lr": (sgd(), lambda o: lr.SequentialLR(o, [lr.LinearLR(o, total_iters=3), lr.ExponentialLR(o, 0.8)], [4])),
    "one_cycle_momentum": (sgd(momentum=0.9), lambda o: lr.OneCycleLR(o, 0.002, total_steps=25)),
    "one_cycle_betas": (lambda p: optim.Adam(p), lambda o: lr.OneCycleLR(o, 0.02, total_steps=25, three_phase=True, base_momentum=0.7, max_momentum=0.9)),
    "cyclic": (sgd(momentum=0.9), lambda o: lr.CyclicLR(o, 0.001, 0.01, step_size_up=3)),
    "cyclic_halves": (sgd(), lambda o: lr.CyclicLR(o, 0.001, 0.01, step_size_up=2, step_size_down=4, mode="triangular2", cycle_momentum=False)),
    "cyclic_range": (lambda p: optim.AdamW(p), lambda o: lr.CyclicLR(o, 0.001, 0.01, step_size_up=3, mode="exp_range", gamma=0.9, base_momentum=0.7)),
    "cyclic_own": (sgd(), lambda o: lr.CyclicLR(o, 0.001, 0.01, step_size_up=3, scale_fn=lambda x: 1 / x, scale_mode="cycle", cycle_momentum=False)),
    "chained": (sgd(), lambda o: lr.ChainedScheduler([lr.ConstantLR(o, factor=0.1, total_iters=4), lr.ExponentialLR(o, 0.9)])),
    "plateau": (sgd(), lambda o: lr.ReduceLROnPlateau(o, factor=0.5, patience=1, cooldown=1)),
}


def minimise(o, w, steps, after=lambda step: None):
    for step in range(steps):
        o.zero_grad()
        ((X @ w).pow(2).sum() + w.pow(3).sum()).backward()
        o.step()
        after(step)


def run(name, make, schedule):
    w = start(name)
    o = make([w])
    s = schedule(o) if schedule else None
    rates = []

    def after(step):
        if s:
            s.step(metric(step)) if isinstance(s, lr.ReduceLROnPlateau) else s.step()
            rates.append(o.param_groups[0]["lr"])

    minimise(o, w, 20, after)
    return o, {"W": w.flatten().tolist(), "Lrs": rates or None}


def halfway(name, make):
    """The parameter and the state after half of the steps."""
    w = start(name)
    o = make([w])
    minimise(o, w, 10)
    return {"w": w.detach(), "optimizer": o.state_dict()}


def go_on(path):
    """Takes the second half of the steps from states in a file; prints where they end."""
    out = {}
    for name, half in torch.load(path, weights_only=True).items():
        w = half["w"].requires_grad_()
        o = PROBLEMS[name][0]([w])
        o.load_state_dict(half["optimizer"])
        minimise(o, w, 10)
        out[name] = w.flatten().tolist()
    print(json.dumps(out))


def lbfgs(steps, **k):
    """Some steps on a problem with a minimum, and what they saw."""
    w = start().detach().double().requires_grad_()
    x = X.double()
    o = optim.LBFGS([w], **k)
    seen = []

    def closure():
        o.zero_grad()
        loss = (x @ w).pow(2).sum() + w.pow(4).sum() + w.sum()
        loss.backward()
        seen.append(loss.item())
        return loss

    for _ in range(steps):
        o.step(closure)
    return {"W": w.tolist(), "Losses": seen}


LBFGS = {
    "plain": dict(lr=0.1, max_iter=7),
    "wolfe": dict(line_search_fn="strong_wolfe", max_iter=6, history_size=3),
    "wolfe_long": dict(lr=20, line_search_fn="strong_wolfe", max_iter=3, max_eval=30),
    "until_flat": dict(line_search_fn="strong_wolfe", max_iter=100, tolerance_grad=1e-3),
}


def plain(v):
    return (v.flatten() if v.dim() else v).tolist() if torch.is_tensor(v) else list(v) if isinstance(v, tuple) else v


if __name__ == "__main__" and len(sys.argv) > 1:
    go_on(sys.argv[1])
elif __name__ == "__main__":
    torch.save({n: halfway(n, make) for n, (make, schedule) in PROBLEMS.items() if schedule is None}, "halfway.pt")
    reference, state = {}, {}
    for name, (make, schedule) in PROBLEMS.items():
        o, reference[name] = run(name, make, schedule)
        if schedule is None:
            d = o.state_dict()
            state[name] = {
                "param_groups": [{k: plain(v) for k, v in g.items()} for g in d["param_groups"]],
                "state": {str(i): {k: plain(v) for k, v in m.items()} for i, m in d["state"].items()},
            }
    json.dump({n: lbfgs(2, **k) for n, k in LBFGS.items()}, open("lbfgs.json", "w"), indent=1, sort_keys=True)
    json.dump(reference, open("reference.json", "w"), indent=1, sort_keys=True)
    json.dump(state, open("state.json", "w"), indent=1, sort_keys=True)
