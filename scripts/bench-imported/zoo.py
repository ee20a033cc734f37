"""The models that are exported: the thirteen of the records, others that are written in Go as well, and others."""

import numpy
import torch
import torchvision.models as tv
import transformers as tr

tr.logging.set_verbosity_error()


class Wrapped(torch.nn.Module):
    """A model of transformers whose result is one tensor."""

    def __init__(self, model, call):
        super().__init__()
        self.wrapped, self.call = model, call

    def forward(self, x):
        return self.call(self.wrapped, x)


def hidden(model):
    return Wrapped(model, lambda m, x: m(input_ids=x).last_hidden_state)


def logits(model):
    return Wrapped(model, lambda m, x: m(input_ids=x, use_cache=False).logits)


def both(model):
    return Wrapped(model, lambda m, x: m(input_ids=x, decoder_input_ids=x, use_cache=False).logits)


def part(model, name):
    return Wrapped(model, lambda m, x: m(x)[name])


def uniform(k, n):
    """n numbers in [-1, 1), drawn by splitmix64 for tensor k, as the records' weights are."""
    with numpy.errstate(over="ignore"):
        z = (numpy.uint64(k) << numpy.uint64(32)) + numpy.arange(n, dtype=numpy.uint64) + numpy.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
        z = z ^ (z >> numpy.uint64(31))
    return torch.from_numpy(((z >> numpy.uint64(40)).astype(numpy.float64) / float(1 << 23) - 1.0).astype(numpy.float32))


def scaled(name, t, u):
    """The numbers u as a weight of that name; None where it keeps what it has."""
    for end, value in (("running_mean", 0.1 * u), ("running_var", 1 + 0.5 * u.abs()), ("bias", 0.1 * u)):
        if name.endswith(end):
            return value
    if t.dim() >= 2:
        return u / (t.numel() / t.shape[0]) ** 0.5
    return 1 + 0.1 * u if name.endswith("weight") else None


@torch.no_grad()
def fill(model):
    for k, (name, t) in enumerate(model.state_dict().items()):
        if t.is_floating_point():
            value = scaled(name, t, uniform(k, t.numel()).reshape(t.shape))
            if value is not None:
                t.copy_(value)


def image(size, batch=2):
    return lambda: uniform(1000, batch * 3 * size * size).reshape(batch, 3, size, size)


def words(vocabulary, length=16):
    return lambda: ((uniform(1000, 2 * length) + 1) / 2 * vocabulary).long().reshape(2, length)


def vision(name, size=64, **options):
    return lambda: getattr(tv, name)(**options), image(size)


small = dict(hidden_size=256, num_hidden_layers=2, num_attention_heads=8, intermediate_size=512, vocab_size=1000)
no_ids = dict(bos_token_id=None, eos_token_id=None, pad_token_id=None)

# Of the records; each is written in Go.
RECORDED = {
    **{name: vision(name) for name in ("resnet18", "resnet50", "densenet121", "mobilenet_v3_small", "vgg11", "efficientnet_b0",
                                       "squeezenet1_1", "convnext_tiny")},
    "vit_b_16": vision("vit_b_16", 224),
    "bert_base_2l": (lambda: hidden(tr.BertModel(tr.BertConfig(num_hidden_layers=2))), words(30522)),
    "gpt2_2l": (lambda: logits(tr.GPT2LMHeadModel(tr.GPT2Config(n_layer=2))), words(50257)),
    "llama_tiny": (lambda: logits(tr.LlamaForCausalLM(tr.LlamaConfig(
        hidden_size=128, intermediate_size=352, num_hidden_layers=2, num_attention_heads=8, num_key_value_heads=4,
        vocab_size=1000))), words(1000)),
    "t5_tiny": (lambda: hidden(tr.T5EncoderModel(tr.T5Config(
        num_layers=2, d_model=64, d_ff=128, d_kv=16, num_heads=4, vocab_size=500))), words(500)),
}

# Others that are written in Go.
WRITTEN = {
    **{name: vision(name) for name in ("resnet34", "resnext50_32x4d", "wide_resnet50_2", "densenet169", "mobilenet_v3_large",
                                       "vgg13_bn", "efficientnet_b1", "squeezenet1_0", "convnext_small")},
    "vit_b_32": vision("vit_b_32", 224),
    "mistral": (lambda: logits(tr.MistralForCausalLM(tr.MistralConfig(num_key_value_heads=4, **small))), words(1000)),
    "t5_gated": (lambda: hidden(tr.T5EncoderModel(tr.T5Config(
        num_layers=2, d_model=256, d_ff=512, d_kv=32, num_heads=8, vocab_size=500, feed_forward_proj="gated-gelu"))), words(500)),
}

# Others, whose numbers alone are compared.
OTHERS = {
    **{name: vision(name) for name in ("mobilenet_v2", "mnasnet1_0", "shufflenet_v2_x1_0", "regnet_y_400mf", "regnet_x_400mf",
                                       "efficientnet_v2_s", "alexnet", "swin_t", "swin_v2_t")},
    "googlenet": vision("googlenet", init_weights=False),
    "inception_v3": vision("inception_v3", 96, init_weights=False),
    "maxvit_t": vision("maxvit_t", 224),
    "deeplabv3_mobilenet": (lambda: part(tv.segmentation.deeplabv3_mobilenet_v3_large(weights_backbone=None), "out"), image(64)),
    "fcn_resnet50": (lambda: part(tv.segmentation.fcn_resnet50(weights_backbone=None), "out"), image(64)),
    "lraspp": (lambda: part(tv.segmentation.lraspp_mobilenet_v3_large(weights_backbone=None), "out"), image(64)),
    "resnet50_fpn": (lambda: part(tv.detection.backbone_utils.resnet_fpn_backbone(backbone_name="resnet50", weights=None), "0"), image(64)),
    "r3d_18": (lambda: tv.video.r3d_18(), lambda: uniform(1000, 2 * 3 * 4 * 32 * 32).reshape(2, 3, 4, 32, 32)),
    "distilbert": (lambda: hidden(tr.DistilBertModel(tr.DistilBertConfig(
        vocab_size=1000, dim=256, n_layers=2, n_heads=8, hidden_dim=512))), words(1000)),
    "roberta": (lambda: hidden(tr.RobertaModel(tr.RobertaConfig(**small))), words(1000)),
    "albert": (lambda: hidden(tr.AlbertModel(tr.AlbertConfig(embedding_size=64, **small))), words(1000)),
    "electra": (lambda: hidden(tr.ElectraModel(tr.ElectraConfig(embedding_size=64, **small))), words(1000)),
    "deberta_v2": (lambda: hidden(tr.DebertaV2Model(tr.DebertaV2Config(
        relative_attention=True, pos_att_type=["p2c", "c2p"], position_buckets=32, norm_rel_ebd="layer_norm", **small))), words(1000)),
    "mpnet": (lambda: hidden(tr.MPNetModel(tr.MPNetConfig(**small))), words(1000)),
    "fnet": (lambda: hidden(tr.FNetModel(tr.FNetConfig(**{**small, "vocab_size": 1000}))), words(1000)),
    "opt": (lambda: logits(tr.OPTForCausalLM(tr.OPTConfig(
        vocab_size=1000, hidden_size=256, num_hidden_layers=2, num_attention_heads=8, ffn_dim=512, word_embed_proj_dim=256))), words(1000)),
    "gpt_neo": (lambda: logits(tr.GPTNeoForCausalLM(tr.GPTNeoConfig(
        vocab_size=1000, hidden_size=256, num_layers=2, num_heads=8, attention_types=[[["global", "local"], 1]], **no_ids))), words(1000)),
    "gpt_neox": (lambda: logits(tr.GPTNeoXForCausalLM(tr.GPTNeoXConfig(**small))), words(1000)),
    "bloom": (lambda: logits(tr.BloomForCausalLM(tr.BloomConfig(vocab_size=1000, hidden_size=256, n_layer=2, n_head=8))), words(1000)),
    "falcon": (lambda: logits(tr.FalconForCausalLM(tr.FalconConfig(
        vocab_size=1000, hidden_size=256, num_hidden_layers=2, num_attention_heads=8))), words(1000)),
    "qwen2": (lambda: logits(tr.Qwen2ForCausalLM(tr.Qwen2Config(num_key_value_heads=4, **small))), words(1000)),
    "qwen3": (lambda: logits(tr.Qwen3ForCausalLM(tr.Qwen3Config(num_key_value_heads=4, head_dim=32, **small))), words(1000)),
    "gemma2": (lambda: logits(tr.Gemma2ForCausalLM(tr.Gemma2Config(num_key_value_heads=4, head_dim=32, **small))), words(1000)),
    "phi3": (lambda: logits(tr.Phi3ForCausalLM(tr.Phi3Config(num_key_value_heads=4, **{**small, **no_ids}))), words(1000)),
    "mamba": (lambda: logits(tr.MambaForCausalLM(tr.MambaConfig(vocab_size=1000, hidden_size=128, num_hidden_layers=2, state_size=8))), words(1000)),
    "t5": (lambda: both(tr.T5ForConditionalGeneration(tr.T5Config(
        vocab_size=1000, d_model=256, d_kv=32, num_layers=2, num_heads=8, d_ff=512))), words(1000)),
    "bart": (lambda: both(tr.BartForConditionalGeneration(tr.BartConfig(
        vocab_size=1000, d_model=256, encoder_layers=2, decoder_layers=2, encoder_attention_heads=8, decoder_attention_heads=8,
        encoder_ffn_dim=512, decoder_ffn_dim=512))), words(1000)),
    "whisper_encoder": (lambda: Wrapped(tr.WhisperModel(tr.WhisperConfig(
        d_model=256, encoder_layers=2, decoder_layers=2, encoder_attention_heads=8, decoder_attention_heads=8, encoder_ffn_dim=512,
        decoder_ffn_dim=512, max_source_positions=64)).encoder, lambda m, x: m(x).last_hidden_state),
        lambda: uniform(1000, 2 * 80 * 128).reshape(2, 80, 128)),
    "wav2vec2": (lambda: Wrapped(tr.Wav2Vec2Model(tr.Wav2Vec2Config(
        hidden_size=128, num_hidden_layers=2, num_attention_heads=4, intermediate_size=256)), lambda m, x: m(x).last_hidden_state),
        lambda: uniform(1000, 2 * 4000).reshape(2, 4000)),
    "clip_text": (lambda: hidden(tr.CLIPTextModel(tr.CLIPTextConfig(**{**small, "eos_token_id": 999}))), words(1000)),
    "clip_vision": (lambda: Wrapped(tr.CLIPVisionModel(tr.CLIPVisionConfig(
        hidden_size=256, num_hidden_layers=2, num_attention_heads=8, intermediate_size=512, image_size=64, patch_size=16)),
        lambda m, x: m(pixel_values=x).last_hidden_state), image(64)),
    "segformer": (lambda: logits_of_image(tr.SegformerForSemanticSegmentation(tr.SegformerConfig())), image(64)),
    "lstm": (lambda: Wrapped(torch.nn.LSTM(64, 128, 2, batch_first=True, bidirectional=True), lambda m, x: m(x)[0]),
             lambda: uniform(1000, 4 * 20 * 64).reshape(4, 20, 64)),
    "gru": (lambda: Wrapped(torch.nn.GRU(64, 128, 2, batch_first=True), lambda m, x: m(x)[0]),
            lambda: uniform(1000, 4 * 20 * 64).reshape(4, 20, 64)),
}


def logits_of_image(model):
    return Wrapped(model, lambda m, x: m(pixel_values=x).logits)


MODELS = {**RECORDED, **WRITTEN, **OTHERS}
