import torch
from torch.nn.attention.flex_attention import flex_attention, create_block_mask


def causal(b, h, q, k):
    return q >= k


def make_window(n):
    def window(b, h, q, k):
        return (q >= k) & (q - k < n)
    return window


bias = torch.randn(4)


def alibi(score, b, h, q, k):
    return score + bias[h] * (q - k)


flex = torch.compile(flex_attention)
with torch.no_grad():
    for s in (128, 256):
        q = torch.randn(1, 4, s, 32)
        mask = create_block_mask(causal, None, None, s, s, device="cpu")
        print(flex(q, q, q, block_mask=mask).shape)
    for n in (16, 32, 64):
        q = torch.randn(1, 4, 128, 32)
        mask = create_block_mask(make_window(n), None, None, 128, 128, device="cpu")
        print(flex(q, q, q, block_mask=mask).shape)
    print(flex(q, q, q, score_mod=alibi).shape)
q = torch.randn(1, 4, 128, 32, requires_grad=True)
try:
    flex(q, q, q, score_mod=alibi).sum().backward()
except Exception as e:
    print(type(e).__name__, str(e)[:200])
