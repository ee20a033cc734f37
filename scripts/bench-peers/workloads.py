"""What is measured: the same models and operators that model.go has, by the same names."""

from dataclasses import dataclass
from typing import Any, Callable


@dataclass
class Workload:
    """One row: make gives a module and its inputs; optimizer is set where a step of training is measured;
    half says how bfloat16 comes in: by "autocast" around each call, or in the "weights" themselves."""

    name: str
    title: str
    make: Callable[[], tuple[Any, tuple]]
    needs: tuple[str, ...] = ()
    optimizer: str = ""
    half: str = ""


def vision(name, *shape):
    def make():
        import torch
        import torchvision

        return getattr(torchvision.models, name)(), (torch.randn(*shape),)

    return make


def classes(make):
    """The model with classes to learn."""

    def made():
        import torch

        module, (x,) = make()
        return module, (x, torch.randint(0, 1000, (x.shape[0],)))

    return made


def part_of(config, model, output, tokens=128, sizes=None, **options):
    """A model of transformers with random weights, of which one output counts."""

    def make():
        import torch
        import transformers

        class Part(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.whole = getattr(transformers, model)(getattr(transformers, config)(**(sizes or {})))

            def forward(self, ids):
                return getattr(self.whole(ids, **options), output)

        return Part(), (torch.randint(0, 30000, (1, tokens)),)

    return make


def next_tokens(make):
    def made():
        import torch

        module, (ids,) = make()
        return module, (ids, torch.randint(0, 30000, (ids.numel(),)))

    return made


def perceptron():
    import torch
    from torch import nn

    layers = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 1000))
    return layers, (torch.randn(64, 784),)


def encoder(layers, batch, target=False):
    def make():
        import torch
        from torch import nn
        from torch.nn import functional as F

        class Block(nn.Module):
            def __init__(self, hidden=768, inner=3072, heads=12):
                super().__init__()
                self.heads = heads
                self.q, self.k, self.v, self.o = (nn.Linear(hidden, hidden) for _ in range(4))
                self.up, self.down = nn.Linear(hidden, inner), nn.Linear(inner, hidden)
                self.norm1, self.norm2 = nn.LayerNorm(hidden), nn.LayerNorm(hidden)

            def split(self, x):
                return x.view(x.shape[0], x.shape[1], self.heads, -1).transpose(1, 2)

            def forward(self, x):
                a = F.scaled_dot_product_attention(self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x)))
                x = self.norm1(x + self.o(a.transpose(1, 2).reshape(x.shape)))
                return self.norm2(x + self.down(F.gelu(self.up(x))))

        inputs = tuple(torch.randn(batch, 128, 768) for _ in range(1 + target))
        return nn.Sequential(*(Block() for _ in range(layers))), inputs

    return make


def operator(name):
    def make():
        import torch
        from torch import nn

        class Silu(nn.Module):
            def forward(self, x, y):
                return nn.functional.silu(x) * x + y

        square = (torch.randn(4096, 4096),)
        return {
            "matmul": lambda: (nn.Linear(1024, 1024, bias=False), (torch.randn(1024, 1024),)),
            "row": lambda: (nn.Linear(4096, 4096), (torch.randn(1, 4096),)),
            "silu": lambda: (Silu(), (torch.randn(16 << 20), torch.randn(16 << 20))),
            "softmax": lambda: (nn.Softmax(-1), square),
            "layer_norm": lambda: (nn.LayerNorm(4096), square),
        }[name]()

    return make


bert = part_of("BertConfig", "BertModel", "last_hidden_state")
gpt2 = part_of("GPT2Config", "GPT2LMHeadModel", "logits", use_cache=False)
gpt2_token = part_of("GPT2Config", "GPT2LMHeadModel", "logits", 1, use_cache=False)

LLAMA = dict(hidden_size=2048, intermediate_size=5632, num_hidden_layers=6, num_attention_heads=32, num_key_value_heads=4)
t5 = part_of("T5Config", "T5EncoderModel", "last_hidden_state")
llama = part_of("LlamaConfig", "LlamaForCausalLM", "logits", sizes=LLAMA, use_cache=False)
llama_token = part_of("LlamaConfig", "LlamaForCausalLM", "logits", 1, sizes=LLAMA, use_cache=False)

WORKLOADS = [
    Workload("mlp", "MLP, 64x784", perceptron),
    Workload("mobilenet", "MobileNetV3-small, 2x3x224x224", vision("mobilenet_v3_small", 2, 3, 224, 224), ("torchvision",)),
    Workload("resnet", "ResNet-50, 2x3x224x224", vision("resnet50", 2, 3, 224, 224), ("torchvision",)),
    Workload("densenet", "DenseNet-121, 4x3x128x128", vision("densenet121", 4, 3, 128, 128), ("torchvision",)),
    Workload("bert", "BERT-base, 1x128", bert, ("transformers",)),
    Workload("gpt2", "GPT-2, 1x128", gpt2, ("transformers",)),
    Workload("vit", "ViT-B/16, 2x3x224x224", vision("vit_b_16", 2, 3, 224, 224), ("torchvision",)),
    Workload("mobilenet_large", "MobileNetV3-large, 2x3x224x224", vision("mobilenet_v3_large", 2, 3, 224, 224), ("torchvision",)),
    Workload("efficientnet", "EfficientNet-B0, 2x3x224x224", vision("efficientnet_b0", 2, 3, 224, 224), ("torchvision",)),
    Workload("convnext", "ConvNeXt-tiny, 2x3x224x224", vision("convnext_tiny", 2, 3, 224, 224), ("torchvision",)),
    Workload("resnext", "ResNeXt-50 32x4d, 2x3x224x224", vision("resnext50_32x4d", 2, 3, 224, 224), ("torchvision",)),
    Workload("vgg", "VGG-11, 2x3x224x224", vision("vgg11", 2, 3, 224, 224), ("torchvision",)),
    Workload("squeezenet", "SqueezeNet 1.1, 2x3x224x224", vision("squeezenet1_1", 2, 3, 224, 224), ("torchvision",)),
    Workload("t5", "T5-small's encoder, 1x128", t5, ("transformers",)),
    Workload("llama", "LLaMA, 6 layers of 2,048, 1x128", llama, ("transformers",)),
    Workload("llama_token", "LLaMA, 6 layers of 2,048, one token", llama_token, ("transformers",)),
    Workload("mlp_bf16", "MLP, 64x784, autocast to bfloat16", perceptron, half="autocast"),
    Workload("bert_bf16", "BERT-base, 1x128, autocast to bfloat16", bert, ("transformers",), half="autocast"),
    Workload("resnet_bf16", "ResNet-50, 2x3x224x224, autocast to bfloat16", vision("resnet50", 2, 3, 224, 224), ("torchvision",), half="autocast"),
    Workload("gpt2_token", "GPT-2, one token", gpt2_token, ("transformers",)),
    Workload("gpt2_token_bf16", "GPT-2, one token, bfloat16 weights", gpt2_token, ("transformers",), half="weights"),
    Workload("linear_row_bf16", "linear 1x4096x4096, bfloat16 weights", operator("row"), half="weights"),
    Workload("encoder", "encoder, 12 layers, 1x128", encoder(12, 1)),
    Workload("matmul", "linear 1024x1024x1024", operator("matmul")),
    Workload("silu", "silu(x)*x+y, 64 MB", operator("silu")),
    Workload("softmax", "softmax 4096x4096", operator("softmax")),
    Workload("layer_norm", "layer_norm 4096x4096", operator("layer_norm")),
    Workload("train_mlp", "step: MLP, 64x784, Adam", classes(perceptron), (), "Adam"),
    Workload("train_mlp_whole", "step as one graph: MLP, 64x784, Adam", classes(perceptron), (), "Adam"),
    Workload("train_encoder", "step: encoder, 4 layers, 4x128, AdamW", encoder(4, 4, True), (), "AdamW"),
    Workload("train_resnet18", "step: ResNet-18, 4x3x128x128, SGD", classes(vision("resnet18", 4, 3, 128, 128)), ("torchvision",), "SGD"),
    Workload("train_resnet", "step: ResNet-50, 2x3x224x224, Adam", classes(vision("resnet50", 2, 3, 224, 224)), ("torchvision",), "Adam"),
    Workload("train_mobilenet", "step: MobileNetV3-small, 8x3x128x128, Adam", classes(vision("mobilenet_v3_small", 8, 3, 128, 128)), ("torchvision",), "Adam"),
    Workload("train_convnext", "step: ConvNeXt-tiny, 2x3x128x128, Adam", classes(vision("convnext_tiny", 2, 3, 128, 128)), ("torchvision",), "Adam"),
    Workload("train_resnext", "step: ResNeXt-50 32x4d, 2x3x128x128, Adam", classes(vision("resnext50_32x4d", 2, 3, 128, 128)), ("torchvision",), "Adam"),
    Workload("train_vit", "step: ViT-B/16, 2x3x224x224, Adam", classes(vision("vit_b_16", 2, 3, 224, 224)), ("torchvision",), "Adam"),
    Workload("train_densenet", "step: DenseNet-121, 4x3x128x128, Adam", classes(vision("densenet121", 4, 3, 128, 128)), ("torchvision",), "Adam"),
    Workload("train_gpt2", "step: GPT-2, 1x128, Adam", next_tokens(gpt2), ("transformers",), "Adam"),
    Workload("train_gpt2_whole", "step as one graph: GPT-2, 1x128, Adam", next_tokens(gpt2), ("transformers",), "Adam"),
]


def step_of(module, inputs, optimizer):
    """One step of training: gradients set aside, forward, backward, the optimizer's step."""
    import torch
    from torch.nn import functional as F

    *given, want = inputs
    options = {"lr": 0.01, "momentum": 0.9} if optimizer == "SGD" else {"lr": 1e-3}
    opt = getattr(torch.optim, optimizer)(module.parameters(), **options)

    def step():
        opt.zero_grad()
        out = module(*given)
        if want.dtype == torch.long:
            F.cross_entropy(out.reshape(-1, out.shape[-1]), want).backward()
        else:
            F.mse_loss(out, want).backward()
        opt.step()

    return step
