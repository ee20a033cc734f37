import collections, decimal, queue, torch
done = queue.SimpleQueue()
rate = decimal.Decimal("0.5")

@torch.compile(backend="eager")
def f(x):
    x = x * 2
    return x + 1

@torch.compile(backend="eager")
def g(x, rate):
    return x * rate

y = f(torch.ones(3))
done.put(1)
print(y, done.qsize(), g(torch.ones(3), float(rate * 4)))
