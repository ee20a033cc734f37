# GPT-2's generate with a compiled forward.
import torch
from transformers import T5Config, T5ForConditionalGeneration, GPT2Config, GPT2LMHeadModel
torch.manual_seed(0)
c = GPT2Config(vocab_size=64, n_positions=64, n_embd=32, n_layer=1, n_head=2)
m = GPT2LMHeadModel(c).eval()
m.forward = torch.compile(m.forward, backend="eager")
# again
with torch.no_grad():
    out = m.generate(torch.randint(0, 64, (1, 3)), max_new_tokens=6, do_sample=False, pad_token_id=0)
print(out.shape)
