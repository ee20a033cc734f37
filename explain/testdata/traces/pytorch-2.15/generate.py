# A generate loop with a static cache over a small Llama, as transformers compiles it.
import torch
from transformers import LlamaConfig, LlamaForCausalLM, GenerationConfig
torch.manual_seed(0)
cfg = LlamaConfig(vocab_size=128, hidden_size=32, intermediate_size=64, num_hidden_layers=2,
                  num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64,
                  bos_token_id=1, eos_token_id=2, pad_token_id=0)
model = LlamaForCausalLM(cfg).eval()
model.forward = torch.compile(model.forward)
ids = torch.randint(3, 128, (1, 5))
for n in (5, 9):
    out = model.generate(torch.randint(3, 128, (1, n)), max_new_tokens=4, do_sample=False, cache_implementation="static")
    print(n, out.shape)
out = model.generate(torch.randint(3, 128, (2, 5)), max_new_tokens=4, do_sample=True, cache_implementation="static")
print(out.shape)
