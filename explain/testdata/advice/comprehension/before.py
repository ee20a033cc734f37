import torch

class Head(torch.nn.Module):
    def forward(self, xs, ys):
        return [self.scale(x, y) for x, y in zip(xs, ys)]

    def scale(self, x, y):
        return x * int(y.sum())

head = torch.compile(Head(), backend="eager")
print(head([torch.ones(2), torch.ones(2)], [torch.ones(2), torch.ones(2)]))
