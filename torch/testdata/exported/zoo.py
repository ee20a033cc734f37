"""Exports models of torchvision and transformers with random weights: python zoo.py FOLDER [NAME...].

Writes NAME.pt2 and NAME.pt, a list of two calls [arguments, keyword arguments, results] of batch 2 and 3,
and prints the names of those that PyTorch exported.
"""

import sys
import warnings

import torch
import torchvision.models as tv
import transformers as tr

warnings.filterwarnings("ignore")
tr.logging.set_verbosity_error()


class Wrap(torch.nn.Module):
    def __init__(self, model, call):
        super().__init__()
        self.model, self.call = model, call

    def forward(self, x):
        return self.call(self.model, x)


def logits(model):
    return Wrap(model, lambda m, x: m(input_ids=x, use_cache=False).logits)


def t5(model):
    return Wrap(model, lambda m, x: m(input_ids=x, decoder_input_ids=x, use_cache=False).logits)


def images(size):
    return lambda batch: torch.randn(batch, 3, size, size)


def tokens(batch):
    return torch.randint(0, 90, (batch, 12))


small = {"vocab_size": 100, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
no_ids = {"bos_token_id": None, "eos_token_id": None}

zoo = {
    "resnet18": (lambda: tv.resnet18(), images(64)),
    "mobilenet_v3_small": (lambda: tv.mobilenet_v3_small(), images(64)),
    "vit": (lambda: tv.VisionTransformer(32, 8, 2, 4, 32, 64, num_classes=10), images(32)),
    "vit_b_16": (lambda: tv.vit_b_16(), images(224)),
    "densenet121": (lambda: tv.densenet121(), images(64)),
    "squeezenet1_1": (lambda: tv.squeezenet1_1(), images(64)),
    "efficientnet_b0": (lambda: tv.efficientnet_b0(), images(64)),
    "convnext_tiny": (lambda: tv.convnext_tiny(), images(64)),
    "swin_t": (lambda: tv.swin_t(), images(64)),
    "googlenet": (lambda: tv.googlenet(init_weights=False), images(96)),
    "shufflenet": (lambda: tv.shufflenet_v2_x0_5(), images(64)),
    "regnet": (lambda: tv.regnet_y_400mf(), images(64)),
    "deeplabv3": (lambda: Wrap(tv.segmentation.deeplabv3_mobilenet_v3_large(weights_backbone=None), lambda m, x: m(x)["out"]), images(64)),
    "bert": (lambda: Wrap(tr.BertModel(tr.BertConfig(**small)), lambda m, x: m(input_ids=x).last_hidden_state), tokens),
    "distilbert": (
        lambda: Wrap(tr.DistilBertModel(tr.DistilBertConfig(vocab_size=100, dim=32, n_layers=2, n_heads=4, hidden_dim=64)),
                     lambda m, x: m(input_ids=x).last_hidden_state), tokens),
    "gpt2": (lambda: logits(tr.GPT2LMHeadModel(tr.GPT2Config(vocab_size=100, n_embd=32, n_layer=2, n_head=4, n_positions=64, **no_ids))), tokens),
    "llama": (lambda: logits(tr.LlamaForCausalLM(tr.LlamaConfig(num_key_value_heads=2, **small))), tokens),
    "qwen2": (lambda: logits(tr.Qwen2ForCausalLM(tr.Qwen2Config(num_key_value_heads=2, **small))), tokens),
    "mistral": (lambda: logits(tr.MistralForCausalLM(tr.MistralConfig(num_key_value_heads=2, **small))), tokens),
    "t5": (lambda: t5(tr.T5ForConditionalGeneration(tr.T5Config(vocab_size=100, d_model=32, d_kv=8, num_layers=2, num_heads=4, d_ff=64))), tokens),
}

large = ("vit_b_16",)


def write(folder, name):
    build, inputs = zoo[name]
    torch.manual_seed(0)
    model = build().eval()
    x = inputs(2)
    program = torch.export.export(model, (x,), dynamic_shapes=({0: torch.export.Dim("batch", min=1, max=16)},))
    torch.export.save(program, f"{folder}/{name}.pt2")
    with torch.no_grad():
        calls = [[[x], {}, [model(x)]] for x in (x, inputs(3))]
    torch.save(calls, f"{folder}/{name}.pt")


def main():
    folder, *names = sys.argv[1:]
    for name in names or zoo:
        try:
            write(folder, name)
            print(name, "exported", flush=True)
        except Exception as e:
            print(name, "not exported by PyTorch:", type(e).__name__, str(e).split("\n")[0][:200], flush=True)


main()
