# Greedy generation with a model of the transformers library and its cache.
import os, torch
from transformers import GPT2Config, GPT2LMHeadModel
torch.manual_seed(0)
cfg = GPT2Config(vocab_size=20, n_embd=8, n_layer=1, n_head=2, n_positions=32, bos_token_id=0, eos_token_id=0)
model = GPT2LMHeadModel(cfg).eval()
model.forward = torch.compile(model.forward, backend="eager")
with torch.no_grad():
    for _ in range(int(os.environ.get("ROUNDS", "1"))):
        out = model.generate(torch.tensor([[1, 2, 3]]), max_new_tokens=5, do_sample=False, pad_token_id=0, attention_mask=torch.ones(1, 3, dtype=torch.long))
        print(out.shape)
