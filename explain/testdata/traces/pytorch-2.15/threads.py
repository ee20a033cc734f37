"""Threads and tasks that compile side by side."""
import asyncio
import threading
import time

import torch


def make(name, k):
    @torch.compile
    def work(x):
        y = x.sin() * k
        print(name, "works")               # break in each
        return (y @ y).relu()
    work.__name__ = name
    return work


@torch.compile
def shared(x):
    if x.sum() > 0:                         # break
        return x * 2
    return x - 1


def run(i):
    f = make(f"w{i}", i + 1)
    f(torch.randn(8 + i, 8 + i))
    shared(torch.randn(3 + i))


async def task(i):
    await asyncio.sleep(0.01 * i)
    return shared(torch.randn(2, 3 + i))


async def tasks():
    await asyncio.gather(*(task(i) for i in range(3)))


def main():
    torch.manual_seed(0)
    ts = [threading.Thread(target=run, args=(i,)) for i in range(3)]
    for t in ts:
        t.start()
    for t in ts:
        t.join()
    asyncio.run(tasks())

    @torch.compile
    def spawns(x):
        y = x + 1
        t = threading.Thread(target=time.sleep, args=(0.01,))   # break
        t.start()
        t.join()
        return y * 2

    spawns(torch.randn(3))
    print("done")


main()
