import threading, torch
start = threading.Barrier(4)

@torch.compile(backend="eager")
def f(x):
    return x.sin()

def work():
    start.wait()
    f(torch.ones(3))

threads = [threading.Thread(target=work) for _ in range(4)]
for t in threads: t.start()
for t in threads: t.join()
print(f(torch.ones(3)))
