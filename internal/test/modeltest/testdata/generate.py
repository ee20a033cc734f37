"""Writes generated.json: tokens that transformers' generate takes greedily.

    python generate.py generated.json
"""

import json
import sys

import models
import torch

CASES = {
    "llama_tiny": {},
    "gpt2_2l": {},
    "llama_tiny_one_ends": dict(eos_token_id=36),
    "llama_tiny_ends": dict(eos_token_id=[36, 893], pad_token_id=7),
    "llama_tiny_both_end": dict(eos_token_id=[107, 124], pad_token_id=0),
}


def run(name, eos_token_id=None, pad_token_id=None):
    if name.startswith("llama"):
        m, vocab = models.llama(hidden_size=128, intermediate_size=352, num_hidden_layers=2, num_attention_heads=8, num_key_value_heads=4, vocab_size=1000), 1000
    else:
        m, vocab = models.gpt2(n_layer=2), 50257
    models.fill(m)
    m.eval()
    m.generation_config.eos_token_id = eos_token_id
    m.generation_config.pad_token_id = pad_token_id
    prompt = models.tokens(vocab)[:, :8]
    return m.generate(prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=32, do_sample=False, use_cache=True).tolist()


if __name__ == "__main__":
    with open(sys.argv[1], "w") as f:
        json.dump({name: run(name, **k) for name, k in CASES.items()}, f)
        f.write("\n")
