import collections, decimal, queue, torch
done = queue.SimpleQueue()
rate = decimal.Decimal("0.5")

@torch.compile(backend="eager")
def f(x):
    x = x * 2
    done.put(1)
    return x + 1

@torch.compile(backend="eager")
def g(x, step):
    return x * float(rate * step)

print(f(torch.ones(3)), done.qsize(), g(torch.ones(3), 4))
