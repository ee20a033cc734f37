"""Writes states.json.gz: names and shapes of the states of torchvision's and
transformers' models in sizes that no other record has.

    python states.py states.json.gz
"""

import gzip
import json
import sys

import torch
import torchvision.models as tv
import transformers as tf

with torch.device("meta"):
    MODELS = {
        "vit_l_16": tv.vit_l_16(),
        "vit_b_32": tv.vit_b_32(),
        "vgg16": tv.vgg16(),
        "vgg19_bn": tv.vgg19_bn(),
        "resnet101": tv.resnet101(),
        "densenet161": tv.densenet161(),
        "densenet169": tv.densenet169(),
        "densenet201": tv.densenet201(),
        "convnext_small": tv.convnext_small(),
        "convnext_base": tv.convnext_base(),
        "efficientnet_b4": tv.efficientnet_b4(),
        "llama_7b": tf.LlamaForCausalLM(tf.LlamaConfig()),
        "t5_base": tf.T5EncoderModel(tf.T5Config(d_model=768, d_ff=3072, num_layers=12, num_heads=12)),
    }

states = {name: [[key, list(t.shape), str(t.dtype).removeprefix("torch.")] for key, t in m.state_dict().items()] for name, m in MODELS.items()}
with open(sys.argv[1], "wb") as f:
    f.write(gzip.compress(json.dumps({"torch": torch.__version__.split("+")[0], "states": states}).encode(), mtime=0))
print({name: len(s) for name, s in states.items()})
