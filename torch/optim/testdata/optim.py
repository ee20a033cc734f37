"""Writes reference.json and state.json: where PyTorch's optimizers and schedulers
end on one small problem, the learning rates on the way, and the optimizers'
defaults and state.

    python optim.py
"""

import json

import torch
from torch import optim
from torch.optim import lr_scheduler as lr

X = torch.tensor([[1, 2, -1, 0.5], [0.25, -1, 3, 2]])


def start():
    return torch.tensor([0.5, -1.25, 2, 0.125], requires_grad=True)


def sgd(rate=0.01, **k):
    return lambda p: optim.SGD(p, lr=rate, **k)


def metric(step):
    return [5, 4, 4, 4, 4, 3.99999, 3, 3, 3, 3, 3, 3][step]


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
    "one_cycle": (sgd(), lambda o: lr.OneCycleLR(o, 0.02, total_steps=12, cycle_momentum=False)),
    "one_cycle_linear": (sgd(), lambda o: lr.OneCycleLR(o, 0.02, total_steps=12, cycle_momentum=False, anneal_strategy="linear", three_phase=True)),
    "sequential_lr": (sgd(), lambda o: lr.SequentialLR(o, [lr.LinearLR(o, total_iters=3), lr.ExponentialLR(o, 0.8)], [4])),
    "plateau": (sgd(), lambda o: lr.ReduceLROnPlateau(o, factor=0.5, patience=1, cooldown=1)),
}


def run(make, schedule):
    w = start()
    o = make([w])
    s = schedule(o) if schedule else None
    rates = []
    for step in range(10):
        o.zero_grad()
        ((X @ w).pow(2).sum() + w.pow(3).sum()).backward()
        o.step()
        if s:
            s.step(metric(step)) if isinstance(s, lr.ReduceLROnPlateau) else s.step()
            rates.append(o.param_groups[0]["lr"])
    return o, {"W": w.tolist(), "Lrs": rates or None}


def plain(v):
    return v.tolist() if torch.is_tensor(v) else list(v) if isinstance(v, tuple) else v


if __name__ == "__main__":
    reference, state = {}, {}
    for name, (make, schedule) in PROBLEMS.items():
        o, reference[name] = run(make, schedule)
        if schedule is None:
            d = o.state_dict()
            state[name] = {
                "param_groups": [{k: plain(v) for k, v in g.items()} for g in d["param_groups"]],
                "state": {str(i): {k: plain(v) for k, v in m.items()} for i, m in d["state"].items()},
            }
    json.dump(reference, open("reference.json", "w"), indent=1, sort_keys=True)
    json.dump(state, open("state.json", "w"), indent=1, sort_keys=True)
