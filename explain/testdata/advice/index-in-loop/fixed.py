import torch
torch.manual_seed(0)

def nms(boxes, scores, limit):
    order = scores.argsort(descending=True)
    keep = []
    while order.numel() > 0:
        i = order[0]
        keep.append(i)
        rest = order[1:]
        distance = (boxes[i, :2] - boxes[rest, :2]).abs().sum(1)
        order = rest[distance > limit]
    return torch.stack(keep)

@torch.compile(backend="eager")
def scale(boxes):
    return boxes * 2

def detect(boxes, scores):
    boxes = scale(boxes)
    keep = nms(boxes, scores, 0.5)
    return boxes[keep]

print(detect(torch.rand(8, 4), torch.rand(8)))
