import os, zlib, torch

@torch.compile(backend="eager")
def f(x, name):
    return x + zlib.crc32(name) % 7

print(f(torch.ones(3), b"tcdbg"))
