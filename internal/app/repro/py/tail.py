def assemble(kind):
    """An instance of a class whose nested classes are graphs of its own."""
    made = kind()
    for name, inner in list(vars(kind).items()):
        if isinstance(inner, type) and issubclass(inner, torch.nn.Module):
            delattr(kind, name)
            setattr(made, name, assemble(inner))
    return made


def backend():
    """The backend's name, or the function that "module:function" names."""
    module, colon, function = BACKEND.partition(":")
    if not colon:
        return BACKEND
    sys.path[:0] = [os.getcwd()]
    return getattr(importlib.import_module(module), function)


def copies(args, dtype=None):
    """The arguments again; float tensors in another dtype where one is named."""
    out = []
    for a in args:
        if isinstance(a, torch.Tensor):
            b = clone_input(a.detach(), dtype=dtype if a.is_floating_point() else None)
            a = b.requires_grad_(a.requires_grad)
        out.append(a)
    return out


def results(run, args):
    """What a call returns, what it leaves in its inputs, and the gradients of the inputs."""
    torch.manual_seed(SEED)
    given = [a.clone() if isinstance(a, torch.Tensor) and a.requires_grad else a for a in args]
    with torch.set_grad_enabled(any(isinstance(a, torch.Tensor) and a.requires_grad for a in args)):
        out = run(*given)
    found = {f"output {i}": t for i, t in enumerate(pytree.tree_leaves(out))}
    found.update({f"input {i}": a.detach() for i, a in enumerate(given) if isinstance(a, torch.Tensor)})
    loss = [t.float().sum() for t in found.values() if isinstance(t, torch.Tensor) and t.requires_grad and not t.is_complex()]
    if loss:
        sum(loss).backward()
        found.update({f"gradient of input {i}": a.grad for i, a in enumerate(args) if isinstance(a, torch.Tensor) and a.grad is not None})
    return found


def difference(name, want, got, exact):
    """What differs, by the rule of PyTorch's accuracy minifier; None where they are equal."""
    if same(want, got, exact, tol=torch._dynamo.config.repro_tolerance, equal_nan=True, log_error=lambda *a, **k: None):
        return None
    if not isinstance(want, torch.Tensor) or not isinstance(got, torch.Tensor):
        return f"{name} is {got}, and eagerly {want}"
    if want.shape != got.shape or want.dtype != got.dtype:
        return f"{name} is {got.dtype} of {tuple(got.shape)}, and eagerly {want.dtype} of {tuple(want.shape)}"
    off = (want.double() - got.double()).abs() if not want.is_complex() else (want - got).abs()
    return f"{name} differs by up to {off.nan_to_num(nan=inf).max().item():.3g}"


def compare(mod, args, compiled=None):
    """The differences between the compiled module and the eager one, as texts."""
    want = results(mod, copies(args))
    got = results(compiled or torch.compile(mod, backend=backend()), copies(args))
    try:
        exact = results(copy.deepcopy(mod).double(), copies(args, torch.float64))
    except Exception:  # not all of it has a form in double precision
        exact = {}
    return [d for name in want if (d := difference(name, want[name], got.get(name), exact.get(name))) is not None]


if __name__ == "__main__":
    found = compare(assemble(Repro), load_args())
    print("\n".join(found) or "the results are equal")
    sys.exit(1 if found else 0)
