import os, zlib, torch

@torch.compile(backend="eager")
def f(x, crc):
    return x + crc % 7

print(f(torch.ones(3), zlib.crc32(b"tcdbg")))
