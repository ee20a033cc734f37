"""Writes what torchvision's and transformers' models answer, in the format of
models.json.gz:

    python models.py variants variants.json.gz   # other sizes and settings, small
    python models.py full full.json.gz           # BERT-base, GPT-2 and ViT-B/16 whole
    python models.py rope rope.json.gz           # LLaMAs with stretched positions
    python models.py double double.json.gz       # in float64, where float32 gradients are noise

Weights and inputs come from the formula of formula.go. Every dropout is off.
"""

import gzip
import json
import math
import sys

import numpy as np
import torch
import torchvision.models as tv
import transformers as tf


def u(k, n):
    with np.errstate(over="ignore"):
        z = (np.uint64(k) << np.uint64(32)) + np.arange(n, dtype=np.uint64) + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    return torch.from_numpy(((z >> np.uint64(40)).astype(np.float64) / 2**23 - 1).astype(np.float32))


def value(name, t, x):
    if name.endswith(("running_mean", "bias")):
        return 0.1 * x
    if name.endswith("running_var"):
        return 1 + 0.5 * x.abs()
    if t.dim() >= 2:
        return x / math.sqrt(t.numel() / t.shape[0])
    return 1 + 0.1 * x if name.endswith("weight") else t


def fill(m):
    state = []
    with torch.no_grad():
        for k, (name, t) in enumerate(m.state_dict().items()):
            state.append([name, list(t.shape), str(t.dtype).removeprefix("torch.")])
            if t.is_floating_point():
                t.copy_(value(name, t, u(k, t.numel()).reshape(t.shape)))
    return state


def image(size, batch=2):
    return u(1000, batch * 3 * size * size).reshape(batch, 3, size, size)


def tokens(vocab, time=16, batch=2):
    return ((u(1000, batch * time).reshape(batch, time) + 1) / 2 * vocab).floor().long().clamp(max=vocab - 1)


def bert(**c):
    c = dict(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0) | c
    return tf.BertModel(tf.BertConfig(**c))


def gpt2(**c):
    c = dict(resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, use_cache=False) | c
    return tf.GPT2LMHeadModel(tf.GPT2Config(**c))


def llama(**c):
    return tf.LlamaForCausalLM(tf.LlamaConfig(use_cache=False, **c))


def t5(**c):
    return tf.T5EncoderModel(tf.T5Config(dropout_rate=0.0, **c))


VARIANTS = {
    "resnet34": (lambda: tv.resnet34(num_classes=10), image(96)),
    "resnet_groups": (lambda: tv.ResNet(tv.resnet.Bottleneck, [1, 2, 1, 1], num_classes=7, groups=4, width_per_group=8), image(96)),
    "wide_resnet": (lambda: tv.ResNet(tv.resnet.Bottleneck, [1, 1, 1, 1], num_classes=12, width_per_group=128), image(96)),
    "densenet_small": (lambda: tv.DenseNet(12, (2, 3, 2, 2), 24, bn_size=3, num_classes=9), image(64)),
    "mobilenet_v3_large": (lambda: tv.mobilenet_v3_large(num_classes=11), image(64)),
    "mobilenet_v3_half": (lambda: tv.mobilenet_v3_small(width_mult=0.5), image(64)),
    "vit_small": (lambda: tv.VisionTransformer(48, 8, 3, 4, 64, 96, num_classes=10), image(48)),
    "vit_representation": (lambda: tv.VisionTransformer(32, 16, 2, 2, 32, 64, num_classes=5, representation_size=24), image(32, 3)),
    "vgg13_bn": (lambda: tv.vgg13_bn(num_classes=10), image(96)),
    "efficientnet_b1": (lambda: tv.efficientnet_b1(num_classes=10), image(64)),
    "squeezenet1_0": (lambda: tv.squeezenet1_0(num_classes=10), image(64)),
    "convnext_small_stages": (lambda: tv.ConvNeXt([tv.convnext.CNBlockConfig(*c) for c in [(16, 32, 2), (32, 64, 1), (64, None, 2)]], layer_scale=0.5, num_classes=10), image(64)),
    "bert_small": (lambda: bert(hidden_size=48, num_hidden_layers=3, num_attention_heads=4, intermediate_size=80, vocab_size=300, max_position_embeddings=40, type_vocab_size=3), tokens(300)),
    "bert_relu": (lambda: bert(hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64, vocab_size=100, hidden_act="relu", layer_norm_eps=1e-6), tokens(100, 9, 3)),
    "gpt2_small": (lambda: gpt2(n_embd=48, n_layer=3, n_head=3, vocab_size=200, n_positions=32), tokens(200)),
    "gpt2_inner": (lambda: gpt2(n_embd=32, n_layer=2, n_head=4, vocab_size=150, n_inner=80, activation_function="relu", scale_attn_by_inverse_layer_idx=True), tokens(150, 7, 3)),
    "llama_heads": (lambda: llama(hidden_size=64, intermediate_size=96, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=1, vocab_size=250, rms_norm_eps=1e-5), tokens(250)),
    "llama_biased": (lambda: llama(hidden_size=48, intermediate_size=64, num_hidden_layers=2, num_attention_heads=3, num_key_value_heads=3, vocab_size=120, head_dim=8, attention_bias=True, mlp_bias=True, hidden_act="gelu", tie_word_embeddings=True), tokens(120, 11, 1)),
    "t5_gated": (lambda: t5(num_layers=3, d_model=48, d_ff=64, d_kv=8, num_heads=6, vocab_size=200, feed_forward_proj="gated-gelu"), tokens(200, 40)),
    "t5_buckets": (lambda: t5(num_layers=2, d_model=32, d_ff=64, d_kv=16, num_heads=2, vocab_size=90, relative_attention_num_buckets=16, relative_attention_max_distance=20), tokens(90, 30)),
}

FULL = {
    "bert_base": (lambda: bert(), tokens(30522, 128, 1)),
    "gpt2": (lambda: gpt2(), tokens(50257, 128, 1)),
    "vit_b_16": (lambda: tv.vit_b_16(), image(224)),
}

DOUBLE = {
    "resnet50": (lambda: tv.resnet50().double(), image(64).double()),
    "resnet_groups": (lambda: VARIANTS["resnet_groups"][0]().double(), VARIANTS["resnet_groups"][1].double()),
    "efficientnet_b1": (lambda: VARIANTS["efficientnet_b1"][0]().double(), VARIANTS["efficientnet_b1"][1].double()),
}


def scaled(**rope):
    return llama(hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, vocab_size=250, max_position_embeddings=16, rope_scaling=dict(rope_theta=10000.0, **rope))


ROPE = {
    "llama_linear": (lambda: scaled(rope_type="linear", factor=4.0), tokens(250, 40)),
    "llama_dynamic": (lambda: scaled(rope_type="dynamic", factor=2.0), tokens(250, 40)),
    "llama_llama3": (lambda: scaled(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=64), tokens(250, 40)),
}


def out(y):
    for name in ("logits", "last_hidden_state"):
        if hasattr(y, name):
            return getattr(y, name)
    return y


def record(name, make, x):
    torch.manual_seed(0)
    m = make()
    r = {"model": name, "inputs": [list(x.shape)], "state": fill(m)}
    m.eval()
    with torch.no_grad():
        y = out(m(x))
    r |= {"out_shape": list(y.shape), "out_sum": float(y.double().sum()), "out_abs_sum": float(y.double().abs().sum())}
    r |= {"out_first": y.flatten()[:16].tolist(), "out_last": y.flatten()[-16:].tolist()}
    m.train()
    for part in m.modules():
        if type(part).__name__ in ("Dropout", "StochasticDepth"):
            part.eval()
    loss = out(m(x)).square().mean()
    loss.backward()
    r["train_loss"] = float(loss.detach())
    r["grad_norms"] = {k: float(p.grad.double().norm()) for k, p in m.named_parameters() if p.grad is not None}
    torch.optim.AdamW(m.parameters(), lr=1e-3).step()
    with torch.no_grad():
        r["loss_after_adamw_step"] = float(out(m(x)).square().mean())
    print(name, r["out_abs_sum"], r["train_loss"], r["loss_after_adamw_step"], flush=True)
    return r


if __name__ == "__main__":
    cases = {"variants": VARIANTS, "full": FULL, "double": DOUBLE, "rope": ROPE}[sys.argv[1]]
    records = [record(name, make, x) for name, (make, x) in cases.items()]
    text = json.dumps({"torch": torch.__version__.split("+")[0], "models": records})
    with open(sys.argv[2], "wb") as f:
        f.write(gzip.compress(text.encode(), mtime=0))
