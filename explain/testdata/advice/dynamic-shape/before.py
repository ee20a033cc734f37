import torch

@torch.library.custom_op("boxes::keep_best", mutates_args=())
def keep_best(scores: torch.Tensor, least: float) -> torch.Tensor:
    return torch.nonzero(scores > least)[:, 0]

@keep_best.register_fake
def _(scores, least):
    n = torch.library.get_ctx().new_dynamic_size()
    return scores.new_empty(n, dtype=torch.long)

@torch.compile(backend="eager")
def best(boxes, scores):
    keep = keep_best(scores.sigmoid(), 0.6)
    return boxes[keep] * 2

print(best(torch.arange(6.0).view(3, 2), torch.tensor([1.0, 0.0, 2.0])))
