"""Sparse tensors, complex numbers, numpy code, quantized, nested tensors."""
import numpy as np
import torch


@torch.compile
def sparse(m, x):
    return torch.sparse.mm(m, x) + 1


@torch.compile
def to_sparse(x):
    s = x.to_sparse()
    return torch.sparse.sum(s)


@torch.compile
def csr(m, x):
    return (m @ x).relu()


@torch.compile
def spectrum(x):
    f = torch.fft.rfft(x)
    return (f * f.conj()).real.sqrt()


@torch.compile
def rotate(z, theta):
    return z * torch.exp(1j * theta)


@torch.compile
def numpy_fn(a, b):
    return np.sum(a[:, None] * b[None, :], axis=0)


@torch.compile
def numpy_mixed(x):
    a = x.numpy()
    b = np.linalg.norm(a)
    return torch.from_numpy(np.tanh(a / b))


@torch.compile
def numpy_bad(x):
    a = x.numpy()
    s = np.array2string(a)                # not traceable
    return x + len(s)


@torch.compile
def to_scalar(x):
    return x * float(np.float32(2.5))


@torch.compile
def nested(nt):
    return torch.sin(nt) * 2


@torch.compile
def quant(x):
    q = torch.quantize_per_tensor(x, 0.1, 0, torch.quint8)
    return q.dequantize() + 1


def attempt(f, *args):
    try:
        f(*args)
    except Exception as e:
        print(f.__name__, type(e).__name__, str(e).split("\n")[0][:100])


def main():
    torch.manual_seed(0)
    d = torch.randn(4, 4).relu()
    attempt(sparse, d.to_sparse(), torch.randn(4, 2))
    attempt(to_sparse, d)
    attempt(csr, d.to_sparse_csr(), torch.randn(4, 2))
    attempt(spectrum, torch.randn(16))
    attempt(rotate, torch.randn(4, dtype=torch.complex64), torch.tensor(0.3))
    for n in (3, 4, 5):
        attempt(numpy_fn, np.random.randn(n), np.random.randn(2))
    attempt(numpy_mixed, torch.randn(4))
    attempt(numpy_bad, torch.randn(4))
    attempt(to_scalar, torch.randn(4))
    attempt(nested, torch.nested.nested_tensor([torch.randn(2), torch.randn(3)], layout=torch.jagged))
    attempt(quant, torch.randn(4))
    print("done")


main()
