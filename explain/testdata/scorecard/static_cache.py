# Blind, second set: generation with Hugging Face and a static cache.
import os, torch
from transformers import LlamaConfig, LlamaForCausalLM, StaticCache
torch.manual_seed(0)
cfg = LlamaConfig(vocab_size=50, hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=2, max_position_embeddings=64)
model = LlamaForCausalLM(cfg).eval()
fwd = torch.compile(model.forward, backend="eager")

def generate(ids, new, stop=None):
    cache = StaticCache(config=cfg, max_cache_len=32)
    pos = torch.arange(ids.shape[1])
    out = fwd(input_ids=ids, past_key_values=cache, use_cache=True)
    seq = ids
    for i in range(new):
        nxt = out.logits[:, -1].argmax(-1, keepdim=True)
        seq = torch.cat([seq, nxt], 1)
        out = fwd(input_ids=nxt, past_key_values=cache, use_cache=True)
    return seq

# again
with torch.no_grad():
    for n in (5, 7, 9):
        print(generate(torch.arange(n)[None], 3).shape)
