"""Writes modules.json.gz: what PyTorch's modules hold and answer.

    python modules.py modules.json.gz

For every case: the state's names and shapes and the sums of its values as the
module starts after manual_seed(0); then, for weights and inputs from the formula
of formula.go, the outputs, the gradients of loss = sum of mean squares of the
outputs, and the loss and buffers of one call in training mode.
"""

import gzip
import json
import sys

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils import parametrizations, parametrize
from torch.nn.utils.rnn import pack_padded_sequence, pack_sequence, pad_packed_sequence, pad_sequence, unpack_sequence

M64 = (1 << 64) - 1


def u(k, n):
    j = torch.arange(n, dtype=torch.int64).tolist()
    out = []
    for i in j:
        z = ((k << 32) + i + 0x9E3779B97F4A7C15) & M64
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & M64
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & M64
        z ^= z >> 31
        out.append((z >> 40) / 2**23 - 1)
    return torch.tensor(out, dtype=torch.float32)


def fill(k, name, t):
    if not t.dtype.is_floating_point or name == "_random_samples":
        return
    n = t.numel()
    x = u(k, n).reshape(t.shape)
    if name.endswith("running_mean") or name.endswith("bias"):
        v = 0.1 * x
    elif name.endswith("running_var"):
        v = 1 + 0.5 * x.abs()
    elif t.dim() >= 2:
        v = x / (n / t.shape[0]) ** 0.5
    elif name.endswith("weight"):
        v = 1 + 0.1 * x
    else:
        return
    t.copy_(v)


def floats(i, *shape):
    n = 1
    for s in shape:
        n *= s
    return u(1000 + i, n).reshape(shape).requires_grad_()


def ints(i, below, *shape):
    x = floats(i, *shape).detach()
    return ((x + 1) / 2 * below).floor().clamp(max=below - 1).long()


def causal(n):
    return nn.Transformer.generate_square_subsequent_mask(n)


def packed(m, x, lengths, state=None, **kw):
    p = pack_padded_sequence(x, lengths, **kw)
    out = m(p) if state is None else m(p, state)
    y, n = pad_packed_sequence(out[0], batch_first=kw.get("batch_first", False))
    return [y, out[1], n]


CASES = {}


def case(name, make, call, *inputs):
    CASES[name] = (make, call, inputs)


def simple(name, make, *shape):
    case(name, make, lambda m, x: m(x), floats(0, *shape))


def named(**tensors):
    d = nn.ParameterDict()
    for name, t in tensors.items():  # a dict as a whole would be sorted
        d[name] = nn.Parameter(t)
    return d


def made(m, *shape):
    """A lazy module that has seen an input, without drawing more than its own."""
    with torch.no_grad():
        m.eval()(torch.zeros(shape))
    return m.train()


# Recurrent nets.
simple("rnn", lambda: nn.RNN(5, 7), 4, 3, 5)
simple("rnn_relu", lambda: nn.RNN(5, 7, nonlinearity="relu", num_layers=2, bidirectional=True), 4, 3, 5)
simple("rnn_no_bias", lambda: nn.RNN(5, 7, bias=False, batch_first=True), 4, 3, 5)
simple("gru", lambda: nn.GRU(5, 7), 4, 3, 5)
simple("gru_deep", lambda: nn.GRU(5, 6, num_layers=3, bidirectional=True, batch_first=True), 2, 5, 5)
case("gru_state", lambda: nn.GRU(5, 7, num_layers=2), lambda m, x, h: m(x, h), floats(0, 4, 3, 5), floats(1, 2, 3, 7))
simple("gru_single", lambda: nn.GRU(5, 7), 4, 5)
simple("lstm", lambda: nn.LSTM(5, 7), 4, 3, 5)
simple("lstm_deep", lambda: nn.LSTM(5, 6, num_layers=2, bidirectional=True, batch_first=True), 2, 5, 5)
simple("lstm_proj", lambda: nn.LSTM(5, 8, num_layers=2, proj_size=3, bidirectional=True), 4, 3, 5)
case("lstm_state", lambda: nn.LSTM(5, 7), lambda m, x, h, c: m(x, (h, c)), floats(0, 4, 3, 5), floats(1, 1, 3, 7), floats(2, 1, 3, 7))
case("lstm_single", lambda: nn.LSTM(5, 7, bias=False), lambda m, x, h, c: m(x, (h, c)), floats(0, 4, 5), floats(1, 1, 7), floats(2, 1, 7))
case("gru_packed", lambda: nn.GRU(4, 5, num_layers=2, bidirectional=True), lambda m, x, h: packed(m, x, [6, 4, 4, 1], h), floats(0, 6, 4, 4), floats(1, 4, 4, 5))
case("lstm_packed", lambda: nn.LSTM(4, 5, bidirectional=True, batch_first=True), lambda m, x: packed(m, x, [2, 5, 3], batch_first=True, enforce_sorted=False), floats(0, 3, 5, 4))
case("rnn_cell", lambda: nn.RNNCell(5, 7), lambda m, x, h: m(x, h), floats(0, 3, 5), floats(1, 3, 7))
case("rnn_cell_relu", lambda: nn.RNNCell(5, 7, nonlinearity="relu"), lambda m, x: m(x), floats(0, 5))
case("gru_cell", lambda: nn.GRUCell(5, 7), lambda m, x, h: m(x, h), floats(0, 3, 5), floats(1, 3, 7))
case("lstm_cell", lambda: nn.LSTMCell(5, 7), lambda m, x, h, c: m(x, (h, c)), floats(0, 3, 5), floats(1, 3, 7), floats(2, 3, 7))
case("lstm_cell_zeros", lambda: nn.LSTMCell(5, 7, bias=False), lambda m, x: m(x), floats(0, 3, 5))
case("pad_sequence", lambda: nn.Identity(), lambda m, a, b, c: pad_sequence([a, b, c], padding_value=0.5), floats(0, 2, 3), floats(1, 4, 3), floats(2, 1, 3))

# Attention and transformers.
case("mha", lambda: nn.MultiheadAttention(12, 3), lambda m, x: m(x, x, x), floats(0, 5, 2, 12))
case("mha_cross", lambda: nn.MultiheadAttention(12, 3, kdim=10, vdim=7, batch_first=True), lambda m, q, k, v: m(q, k, v, average_attn_weights=False), floats(0, 2, 5, 12), floats(1, 2, 6, 10), floats(2, 2, 6, 7))
case("mha_bias_kv", lambda: nn.MultiheadAttention(12, 3, add_bias_kv=True, add_zero_attn=True), lambda m, q, k: m(q, k, k), floats(0, 5, 2, 12), floats(1, 4, 2, 12))
case("mha_no_bias", lambda: nn.MultiheadAttention(12, 4, bias=False), lambda m, x: m(x, x, x, need_weights=False)[0], floats(0, 5, 12))
case("mha_mask", lambda: nn.MultiheadAttention(12, 3, batch_first=True), lambda m, x: m(x, x, x, attn_mask=torch.ones(5, 5).triu(1).bool(), key_padding_mask=torch.tensor([[False] * 5, [False] * 3 + [True] * 2])), floats(0, 2, 5, 12))
case("mha_mask3", lambda: nn.MultiheadAttention(12, 3, batch_first=True), lambda m, x, a: m(x, x, x, attn_mask=a, need_weights=False)[0], floats(0, 2, 5, 12), floats(1, 6, 5, 5))
case("encoder_layer", lambda: nn.TransformerEncoderLayer(12, 3, 20, dropout=0.0), lambda m, x: m(x), floats(0, 5, 2, 12))
case("encoder_layer_first", lambda: nn.TransformerEncoderLayer(12, 3, 20, 0.0, "gelu", 1e-3, True, True, bias=False), lambda m, x: m(x, causal(5), is_causal=True), floats(0, 2, 5, 12))
case("decoder_layer", lambda: nn.TransformerDecoderLayer(12, 3, 20, dropout=0.0), lambda m, x, y: m(x, y, causal(5)), floats(0, 5, 2, 12), floats(1, 4, 2, 12))
case("decoder_layer_first", lambda: nn.TransformerDecoderLayer(12, 3, 20, 0.0, "gelu", 1e-3, True, True), lambda m, x, y: m(x, y, memory_key_padding_mask=torch.tensor([[False] * 4, [False, False, True, True]])), floats(0, 2, 5, 12), floats(1, 2, 4, 12))
case("encoder", lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(12, 3, 20, 0.0, batch_first=True), 3, nn.LayerNorm(12), enable_nested_tensor=False), lambda m, x: m(x, mask=causal(5)), floats(0, 2, 5, 12))
case("decoder", lambda: nn.TransformerDecoder(nn.TransformerDecoderLayer(12, 3, 20, 0.0, batch_first=True), 2), lambda m, x, y: m(x, y), floats(0, 2, 5, 12), floats(1, 2, 4, 12))
case("transformer", lambda: nn.Transformer(12, 3, 2, 2, 20, 0.0, batch_first=True), lambda m, x, y: m(x, y, tgt_mask=causal(4), src_key_padding_mask=torch.tensor([[False] * 5, [False] * 4 + [True]])), floats(0, 2, 5, 12), floats(1, 2, 4, 12))
case("transformer_first", lambda: nn.Transformer(12, 2, 1, 2, 16, 0.0, "gelu", norm_first=True), lambda m, x, y: m(x, y), floats(0, 5, 2, 12), floats(1, 4, 2, 12))

# Linear layers, embeddings, convolutions.
simple("linear", lambda: nn.Linear(5, 7), 3, 5)
simple("linear_no_bias", lambda: nn.Linear(5, 7, bias=False), 2, 3, 5)
case("bilinear", lambda: nn.Bilinear(4, 5, 3), lambda m, a, b: m(a, b), floats(0, 6, 4), floats(1, 6, 5))
case("embedding", lambda: nn.Embedding(10, 4, padding_idx=2), lambda m, i: m(i), ints(0, 10, 3, 4))
simple("conv1d", lambda: nn.Conv1d(4, 6, 3, stride=2, padding=1, groups=2), 2, 4, 9)
simple("conv1d_same", lambda: nn.Conv1d(4, 6, 4, padding="same", dilation=2), 2, 4, 9)
simple("conv2d", lambda: nn.Conv2d(3, 5, (3, 2), stride=(2, 1), padding=(1, 0), dilation=(1, 2)), 2, 3, 8, 7)
simple("conv2d_reflect", lambda: nn.Conv2d(3, 5, 3, padding=(1, 2), padding_mode="reflect"), 2, 3, 6, 7)
simple("conv2d_circular_same", lambda: nn.Conv2d(3, 4, (4, 3), padding="same", padding_mode="circular"), 2, 3, 6, 7)
simple("conv2d_valid", lambda: nn.Conv2d(3, 4, 3, padding="valid", bias=False), 3, 6, 7)
simple("conv3d", lambda: nn.Conv3d(2, 4, 3, padding=1, padding_mode="replicate"), 1, 2, 4, 5, 3)
simple("conv_transpose1d", lambda: nn.ConvTranspose1d(4, 6, 3, stride=2, padding=1, output_padding=1, groups=2), 2, 4, 5)
simple("conv_transpose2d", lambda: nn.ConvTranspose2d(4, 3, (3, 2), stride=2, dilation=(1, 2)), 2, 4, 4, 3)
simple("conv_transpose3d", lambda: nn.ConvTranspose3d(2, 3, 2, stride=2, bias=False), 1, 2, 2, 3, 2)

# Normalisation.
simple("batch_norm1d", lambda: nn.BatchNorm1d(5), 4, 5)
simple("batch_norm1d_3d", lambda: nn.BatchNorm1d(5, eps=1e-3, momentum=0.3), 4, 5, 6)
simple("batch_norm2d", lambda: nn.BatchNorm2d(3, affine=False), 2, 3, 4, 5)
simple("batch_norm2d_cumulative", lambda: nn.BatchNorm2d(3, momentum=None), 2, 3, 4, 5)
simple("batch_norm3d", lambda: nn.BatchNorm3d(3, track_running_stats=False), 2, 3, 2, 3, 2)
simple("instance_norm1d", lambda: nn.InstanceNorm1d(4, affine=True), 2, 4, 6)
simple("instance_norm2d", lambda: nn.InstanceNorm2d(3, track_running_stats=True), 2, 3, 4, 5)
simple("instance_norm3d", lambda: nn.InstanceNorm3d(2), 2, 3, 4, 2)
simple("layer_norm", lambda: nn.LayerNorm((3, 4), eps=1e-3), 2, 3, 4)
simple("layer_norm_no_bias", lambda: nn.LayerNorm(4, bias=False), 2, 3, 4)
simple("layer_norm_plain", lambda: nn.LayerNorm(4, elementwise_affine=False), 2, 3, 4)
simple("group_norm", lambda: nn.GroupNorm(2, 6), 2, 6, 3, 3)
simple("rms_norm", lambda: nn.RMSNorm(6), 2, 3, 6)
simple("rms_norm_eps", lambda: nn.RMSNorm((3, 6), eps=1e-2), 2, 3, 6)
simple("local_response_norm", lambda: nn.LocalResponseNorm(3, alpha=0.1, beta=0.5, k=2.0), 2, 5, 4)

# Pooling, padding, resizing.
simple("max_pool1d", lambda: nn.MaxPool1d(3, 2, 1), 2, 3, 9)
simple("max_pool2d", lambda: nn.MaxPool2d((3, 2), ceil_mode=True, dilation=(1, 2)), 2, 3, 8, 9)
simple("max_pool3d", lambda: nn.MaxPool3d(2), 1, 2, 4, 5, 6)
simple("avg_pool1d", lambda: nn.AvgPool1d(3, padding=1, count_include_pad=False), 2, 3, 9)
simple("avg_pool2d", lambda: nn.AvgPool2d(3, 2, divisor_override=5), 2, 3, 8, 9)
simple("avg_pool3d", lambda: nn.AvgPool3d((2, 1, 2), ceil_mode=True), 1, 2, 5, 4, 3)
simple("adaptive_avg_pool1d", lambda: nn.AdaptiveAvgPool1d(4), 2, 3, 9)
simple("adaptive_avg_pool2d", lambda: nn.AdaptiveAvgPool2d((2, 3)), 2, 3, 7, 8)
simple("adaptive_avg_pool3d", lambda: nn.AdaptiveAvgPool3d(2), 1, 2, 4, 5, 3)
simple("adaptive_max_pool1d", lambda: nn.AdaptiveMaxPool1d(4), 2, 3, 9)
simple("adaptive_max_pool2d", lambda: nn.AdaptiveMaxPool2d((2, 3)), 2, 3, 7, 8)
simple("adaptive_max_pool3d", lambda: nn.AdaptiveMaxPool3d(2), 1, 2, 4, 5, 3)
simple("constant_pad1d", lambda: nn.ConstantPad1d((1, 2), 0.5), 2, 3, 4)
simple("constant_pad3d", lambda: nn.ConstantPad3d(1, -1.0), 1, 2, 2, 3, 2)
simple("zero_pad2d", lambda: nn.ZeroPad2d((1, -1, 2, 0)), 2, 3, 4, 4)
simple("reflection_pad1d", lambda: nn.ReflectionPad1d(2), 2, 3, 5)
simple("reflection_pad2d", lambda: nn.ReflectionPad2d((1, 2, 0, 1)), 2, 3, 4, 4)
simple("replication_pad2d", lambda: nn.ReplicationPad2d((1, 2, 0, 1)), 3, 4, 4)
simple("replication_pad3d", lambda: nn.ReplicationPad3d(1), 1, 2, 3, 2, 3)
simple("circular_pad1d", lambda: nn.CircularPad1d((2, 1)), 2, 3, 4)
simple("circular_pad2d", lambda: nn.CircularPad2d(1), 2, 3, 4, 3)
simple("upsample", lambda: nn.Upsample(scale_factor=2), 1, 2, 3, 4)
simple("upsample_size", lambda: nn.Upsample(size=(5, 7), mode="bilinear"), 1, 2, 3, 4)
simple("upsampling_bilinear2d", lambda: nn.UpsamplingBilinear2d(scale_factor=2), 1, 2, 3, 4)
simple("upsampling_nearest2d", lambda: nn.UpsamplingNearest2d(size=(5, 6)), 1, 2, 3, 4)
simple("pixel_shuffle", lambda: nn.PixelShuffle(2), 1, 8, 2, 3)
simple("pixel_unshuffle", lambda: nn.PixelUnshuffle(2), 1, 2, 4, 6)
simple("channel_shuffle", lambda: nn.ChannelShuffle(2), 1, 6, 2, 3)
simple("flatten", lambda: nn.Flatten(), 2, 3, 4)
simple("unflatten", lambda: nn.Unflatten(1, (2, 3)), 2, 6, 4)

# Activations.
for name, make in {
    "relu": lambda: nn.ReLU(), "relu6": lambda: nn.ReLU6(), "silu": lambda: nn.SiLU(), "mish": lambda: nn.Mish(),
    "hardswish": lambda: nn.Hardswish(), "hardsigmoid": lambda: nn.Hardsigmoid(), "hardtanh": lambda: nn.Hardtanh(-0.5, 0.3),
    "leaky_relu": lambda: nn.LeakyReLU(), "leaky_relu_slope": lambda: nn.LeakyReLU(0.2), "elu": lambda: nn.ELU(0.7), "celu": lambda: nn.CELU(1.3),
    "selu": lambda: nn.SELU(), "threshold": lambda: nn.Threshold(0.1, 2.0), "gelu": lambda: nn.GELU(), "gelu_tanh": lambda: nn.GELU("tanh"),
    "softplus": lambda: nn.Softplus(), "softplus_beta": lambda: nn.Softplus(2.0, 0.5), "softshrink": lambda: nn.Softshrink(), "hardshrink": lambda: nn.Hardshrink(0.3),
    "glu": lambda: nn.GLU(), "glu_dim": lambda: nn.GLU(1), "softmax": lambda: nn.Softmax(1), "log_softmax": lambda: nn.LogSoftmax(-1), "softmin": lambda: nn.Softmin(0),
    "softmax2d": lambda: nn.Softmax2d(), "sigmoid": lambda: nn.Sigmoid(), "log_sigmoid": lambda: nn.LogSigmoid(), "tanh": lambda: nn.Tanh(),
    "tanhshrink": lambda: nn.Tanhshrink(), "softsign": lambda: nn.Softsign(), "prelu": lambda: nn.PReLU(), "prelu_channels": lambda: nn.PReLU(4, 0.1),
}.items():
    simple(name, make, 3, 4, 2, 6)
for name, make in {
    "silu_inplace": lambda: nn.SiLU(True), "elu_inplace": lambda: nn.ELU(inplace=True), "relu_inplace": lambda: nn.ReLU(True), "hardtanh_inplace": lambda: nn.Hardtanh(inplace=True),
}.items():
    case(name, make, lambda m, x: (lambda y: [m(y), y])(x * 2), floats(0, 3, 4))

# Losses.
for name, make in {
    "mse_loss": lambda: nn.MSELoss(), "mse_loss_sum": lambda: nn.MSELoss(reduction="sum"), "l1_loss": lambda: nn.L1Loss(), "smooth_l1_loss": lambda: nn.SmoothL1Loss(beta=0.5),
    "huber_loss": lambda: nn.HuberLoss(delta=0.3), "kl_div_loss": lambda: nn.KLDivLoss(reduction="batchmean", log_target=True), "soft_margin_loss": lambda: nn.SoftMarginLoss(),
    "hinge_embedding_loss": lambda: nn.HingeEmbeddingLoss(0.7), "poisson_nll_loss": lambda: nn.PoissonNLLLoss(), "bce_with_logits_loss": lambda: nn.BCEWithLogitsLoss(),
}.items():
    case(name, make, lambda m, x, y: m(x, y), floats(0, 4, 5), floats(1, 4, 5).detach())
case("multi_label_soft_margin_loss", lambda: nn.MultiLabelSoftMarginLoss(), lambda m, x, y: m(x, y), floats(0, 4, 5), ints(1, 2, 4, 5))
case("bce_loss", lambda: nn.BCELoss(), lambda m, x, y: m(x.sigmoid(), y.sigmoid()), floats(0, 4, 5), floats(1, 4, 5).detach())
case("cross_entropy_loss", lambda: nn.CrossEntropyLoss(label_smoothing=0.1), lambda m, x, y: m(x, y), floats(0, 4, 5), ints(1, 5, 4))
case("nll_loss", lambda: nn.NLLLoss(ignore_index=1), lambda m, x, y: m(x.log_softmax(1), y), floats(0, 6, 5), ints(1, 5, 6))
case("gaussian_nll_loss", lambda: nn.GaussianNLLLoss(full=True), lambda m, x, y, v: m(x, y, v.exp()), floats(0, 4, 5), floats(1, 4, 5), floats(2, 4, 5))
case("cosine_embedding_loss", lambda: nn.CosineEmbeddingLoss(0.1), lambda m, x, y, z: m(x, y, z * 2 - 1), floats(0, 4, 5), floats(1, 4, 5), ints(2, 2, 4))
case("margin_ranking_loss", lambda: nn.MarginRankingLoss(0.1), lambda m, x, y, z: m(x, y, z * 2 - 1), floats(0, 6), floats(1, 6), ints(2, 2, 6))
case("triplet_margin_loss", lambda: nn.TripletMarginLoss(swap=True), lambda m, x, y, z: m(x, y, z), floats(0, 4, 5), floats(1, 4, 5), floats(2, 4, 5))
case("cosine_similarity", lambda: nn.CosineSimilarity(), lambda m, x, y: m(x, y), floats(0, 4, 5), floats(1, 4, 5))
case("pairwise_distance", lambda: nn.PairwiseDistance(p=3.0, keepdim=True), lambda m, x, y: m(x, y), floats(0, 4, 5), floats(1, 4, 5))

# Modules that draw numbers, in training.
simple("dropout", lambda: nn.Dropout(0.3), 5, 7)
simple("dropout_all", lambda: nn.Dropout(1.0), 5, 7)
simple("dropout1d", lambda: nn.Dropout1d(0.4), 3, 8, 4)
simple("dropout1d_single", lambda: nn.Dropout1d(0.4), 8, 4)
simple("dropout2d", lambda: nn.Dropout2d(0.4), 3, 8, 2, 3)
simple("dropout3d", lambda: nn.Dropout3d(0.4), 3, 8, 2, 3, 2)
simple("alpha_dropout", lambda: nn.AlphaDropout(0.3), 5, 7)
simple("alpha_dropout_few", lambda: nn.AlphaDropout(0.6), 3, 4)
simple("feature_alpha_dropout", lambda: nn.FeatureAlphaDropout(0.4), 3, 7, 5)
simple("feature_alpha_dropout_images", lambda: nn.FeatureAlphaDropout(), 2, 9, 3, 2)
simple("rrelu", lambda: nn.RReLU(), 5, 7)
simple("rrelu_range", lambda: nn.RReLU(0.1, 0.7), 2, 3, 4)
case("rrelu_inplace", lambda: nn.RReLU(inplace=True), lambda m, x: (lambda y: [m(y), y])(x * 2), floats(0, 3, 4))
simple("fractional_max_pool2d_drawn", lambda: nn.FractionalMaxPool2d(2, output_size=(4, 3)), 2, 3, 9, 8)
simple("fractional_max_pool3d_drawn", lambda: nn.FractionalMaxPool3d(2, output_ratio=0.5), 1, 2, 8, 7, 6)

# Windows.
simple("unfold", lambda: nn.Unfold(2), 2, 3, 4, 5)
simple("unfold_all", lambda: nn.Unfold((3, 2), dilation=(1, 2), padding=(2, 1), stride=(2, 3)), 2, 3, 7, 8)
simple("fold", lambda: nn.Fold((4, 5), 2), 2, 12, 12)
simple("fold_all", lambda: nn.Fold((7, 8), (3, 2), dilation=(1, 2), padding=(2, 1), stride=(2, 3)), 2, 18, 15)
simple("fold_single", lambda: nn.Fold((5, 6), (2, 3), stride=2), 12, 4)
simple("lp_pool1d", lambda: nn.LPPool1d(2, 3), 2, 3, 9)
simple("lp_pool1d_single", lambda: nn.LPPool1d(4, 2, stride=1, ceil_mode=True), 3, 9)
simple("lp_pool2d", lambda: nn.LPPool2d(2, 3, stride=2), 2, 3, 8, 9)
simple("lp_pool2d_sum", lambda: nn.LPPool2d(1, (2, 3), ceil_mode=True), 2, 3, 5, 7)
simple("lp_pool3d", lambda: nn.LPPool3d(2, (2, 1, 2)), 1, 2, 4, 5, 6)
SAMPLES2 = torch.tensor([[[0.25, 0.75], [0.5, 0.125]], [[0.9, 0.1], [0.0, 0.6]]])
SAMPLES3 = torch.tensor([[[0.25, 0.75, 0.4], [0.5, 0.125, 0.8]]])
simple("fractional_max_pool2d", lambda: nn.FractionalMaxPool2d(2, output_size=(4, 3), _random_samples=SAMPLES2), 2, 2, 9, 8)
case("fractional_max_pool2d_places", lambda: nn.FractionalMaxPool2d((3, 2), output_ratio=(0.5, 0.4), return_indices=True, _random_samples=SAMPLES2), lambda m, x: m(x), floats(0, 2, 2, 9, 11))
simple("fractional_max_pool3d", lambda: nn.FractionalMaxPool3d((2, 3, 2), output_size=3, _random_samples=SAMPLES3), 1, 2, 7, 8, 6)
case("max_unpool1d", lambda: nn.MaxUnpool1d(2), lambda m, x: m(*nn.MaxPool1d(2, return_indices=True)(x)), floats(0, 2, 3, 8))
case("max_unpool2d", lambda: nn.MaxUnpool2d(3, stride=2, padding=1), lambda m, x: m(*nn.MaxPool2d(3, 2, 1, return_indices=True)(x), output_size=x.size()), floats(0, 2, 3, 7, 8))
case("max_unpool3d", lambda: nn.MaxUnpool3d((2, 1, 2)), lambda m, x: m(*nn.MaxPool3d((2, 1, 2), return_indices=True)(x)), floats(0, 1, 2, 4, 3, 6))
case("adaptive_max_pool1d_places", lambda: nn.AdaptiveMaxPool1d(4, return_indices=True), lambda m, x: m(x), floats(0, 2, 3, 9))
case("max_pool3d_places", lambda: nn.MaxPool3d(2, 1, return_indices=True), lambda m, x: m(x), floats(0, 1, 2, 4, 3, 5))
simple("adaptive_avg_pool2d_none", lambda: nn.AdaptiveAvgPool2d((None, 3)), 2, 3, 7, 8)
simple("adaptive_max_pool2d_none", lambda: nn.AdaptiveMaxPool2d((4, None)), 2, 3, 7, 8)

# Tables.
case("embedding_max_norm", lambda: nn.Embedding(10, 4, max_norm=0.8, norm_type=1.0), lambda m, i: m(i), ints(0, 10, 3, 4))
case("embedding_freq", lambda: nn.Embedding(5, 4, scale_grad_by_freq=True, padding_idx=-1), lambda m, i: m(i), ints(0, 5, 3, 4))
case("embedding_pretrained", lambda: nn.Embedding.from_pretrained(torch.eye(5), freeze=False), lambda m, i: m(i), ints(0, 5, 3, 4))
case("embedding_bag", lambda: nn.EmbeddingBag(10, 4), lambda m, i: m(i), ints(0, 10, 3, 4))
case("embedding_bag_offsets", lambda: nn.EmbeddingBag(10, 4, mode="sum", padding_idx=2), lambda m, i: m(i, torch.tensor([0, 3, 3, 7])), ints(0, 10, 12))
case("embedding_bag_max", lambda: nn.EmbeddingBag(10, 4, mode="max", include_last_offset=True), lambda m, i: m(i, torch.tensor([0, 5, 12])), ints(0, 10, 12))
case("embedding_bag_weights", lambda: nn.EmbeddingBag(10, 4, mode="sum", max_norm=0.9), lambda m, i, w: m(i, per_sample_weights=w), ints(0, 10, 3, 4), floats(1, 3, 4))

# Losses with more to say.
case("ctc_loss", lambda: nn.CTCLoss(), lambda m, x, y: m(x.log_softmax(2), y + 1, torch.tensor([9, 7, 8]), torch.tensor([4, 2, 3])), floats(0, 9, 3, 6), ints(1, 5, 3, 4))
case("ctc_loss_sum", lambda: nn.CTCLoss(blank=5, reduction="sum", zero_infinity=True), lambda m, x, y: m(x.log_softmax(2), y, torch.tensor([3, 7, 8]), torch.tensor([4, 2, 3])), floats(0, 9, 3, 6), ints(1, 5, 3, 4))
case("multi_margin_loss", lambda: nn.MultiMarginLoss(), lambda m, x, y: m(x, y), floats(0, 4, 5), ints(1, 5, 4))
case("multi_margin_loss_square", lambda: nn.MultiMarginLoss(p=2, margin=0.5, weight=torch.tensor([0.5, 1, 2, 0.25, 3]), reduction="sum"), lambda m, x, y: m(x, y), floats(0, 4, 5), ints(1, 5, 4))
case("multi_label_margin_loss", lambda: nn.MultiLabelMarginLoss(), lambda m, x: m(x, torch.tensor([[3, 0, -1, 1], [1, -1, 2, 0]])), floats(0, 2, 4))
case("multi_label_margin_loss_none", lambda: nn.MultiLabelMarginLoss(reduction="none"), lambda m, x: m(x, torch.tensor([2, -1, 0, 0])), floats(0, 4))
case("triplet_distance_loss", lambda: nn.TripletMarginWithDistanceLoss(), lambda m, x, y, z: m(x, y, z), floats(0, 4, 5), floats(1, 4, 5), floats(2, 4, 5))
case("triplet_distance_loss_own", lambda: nn.TripletMarginWithDistanceLoss(distance_function=lambda a, b: (a - b).abs().sum(-1), margin=0.3, swap=True, reduction="sum"), lambda m, x, y, z: m(x, y, z), floats(0, 4, 5), floats(1, 4, 5), floats(2, 4, 5))
case("linear_cross_entropy_loss", lambda: nn.LinearCrossEntropyLoss(4, 5), lambda m, x, y: m(x, y), floats(0, 6, 4), ints(1, 5, 6))
case("linear_cross_entropy_loss_bias", lambda: nn.LinearCrossEntropyLoss(4, 5, bias=True, reduction="sum", ignore_index=1, label_smoothing=0.2), lambda m, x, y: m(x, y), floats(0, 6, 4), ints(1, 5, 6))
case("adaptive_log_softmax", lambda: nn.AdaptiveLogSoftmaxWithLoss(16, 20, [4, 9]), lambda m, x, y: list(m(x, y)), floats(0, 8, 16), ints(1, 20, 8))
case("adaptive_log_softmax_bias", lambda: nn.AdaptiveLogSoftmaxWithLoss(10, 12, [3, 5, 8], div_value=2.0, head_bias=True), lambda m, x, y: list(m(x, y)) + [m.log_prob(x), m.predict(x)], floats(0, 6, 10), ints(1, 12, 6))

def classes():
    return torch.tensor([0.5, 1, 2, 0.25, 3])


case("cross_entropy_weight", lambda: nn.CrossEntropyLoss(weight=classes()), lambda m, x, y: m(x, y), floats(0, 4, 5), ints(1, 5, 4))
case("nll_weight", lambda: nn.NLLLoss(weight=classes(), reduction="sum"), lambda m, x, y: m(x.log_softmax(1), y), floats(0, 6, 5), ints(1, 5, 6))
case("bce_weight", lambda: nn.BCELoss(weight=classes()), lambda m, x, y: m(x.sigmoid(), y.sigmoid()), floats(0, 4, 5), floats(1, 4, 5).detach())
case("bce_logits_weights", lambda: nn.BCEWithLogitsLoss(weight=classes(), pos_weight=classes().flip(0)), lambda m, x, y: m(x, y.sigmoid()), floats(0, 4, 5), floats(1, 4, 5).detach())
case("multi_label_soft_margin_weight", lambda: nn.MultiLabelSoftMarginLoss(weight=classes(), reduction="none"), lambda m, x, y: m(x, y), floats(0, 4, 5), ints(1, 2, 4, 5))
case("linear_cross_entropy_weight", lambda: nn.LinearCrossEntropyLoss(4, 5, weight=classes()), lambda m, x, y: m(x, y), floats(0, 6, 4), ints(1, 5, 6))

# Further settings of the layers above.
simple("group_norm_no_bias", lambda: nn.GroupNorm(3, 6, eps=1e-2, bias=False), 2, 6, 4)
simple("group_norm_plain", lambda: nn.GroupNorm(3, 6, affine=False), 2, 6, 4)
simple("batch_norm2d_no_bias", lambda: nn.BatchNorm2d(3, bias=False), 2, 3, 4, 5)
simple("instance_norm2d_no_bias", lambda: nn.InstanceNorm2d(3, affine=True, bias=False), 3, 4, 5)
simple("local_response_norm_default", lambda: nn.LocalResponseNorm(2), 2, 5, 4, 3)
simple("rms_norm_plain", lambda: nn.RMSNorm(6, elementwise_affine=False), 2, 3, 6)
simple("max_pool1d_single", lambda: nn.MaxPool1d(2, dilation=2), 3, 9)
simple("avg_pool1d_ceil", lambda: nn.AvgPool1d(2, stride=3, ceil_mode=True), 2, 3, 9)
simple("conv_transpose2d_groups", lambda: nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1, groups=2), 2, 4, 3, 4)
simple("conv3d_groups", lambda: nn.Conv3d(4, 6, (1, 2, 3), stride=(1, 2, 1), groups=2, bias=False), 1, 4, 3, 4, 5)
simple("conv1d_reflect", lambda: nn.Conv1d(3, 4, 3, padding=2, padding_mode="reflect"), 3, 6)
case("bilinear_no_bias", lambda: nn.Bilinear(4, 5, 3, bias=False), lambda m, a, b: m(a, b), floats(0, 2, 3, 4), floats(1, 2, 3, 5))
simple("pixel_shuffle_single", lambda: nn.PixelShuffle(3), 9, 2, 2)
simple("pixel_unshuffle_three", lambda: nn.PixelUnshuffle(3), 1, 2, 3, 6)
simple("flatten_part", lambda: nn.Flatten(2, -2), 2, 3, 4, 5, 2)
simple("unflatten_last", lambda: nn.Unflatten(-1, (2, 2)), 2, 6, 4)
case("cosine_similarity_dim", lambda: nn.CosineSimilarity(dim=0, eps=0.5), lambda m, x, y: m(x, y), floats(0, 4, 5), floats(1, 4, 5))
case("pairwise_distance_one", lambda: nn.PairwiseDistance(p=1.0, eps=0.1), lambda m, x, y: m(x, y), floats(0, 4, 5), floats(1, 4, 5))
simple("upsample_trilinear", lambda: nn.Upsample(scale_factor=(1, 2, 1.5), mode="trilinear"), 1, 2, 2, 3, 4)
simple("upsample_bicubic", lambda: nn.Upsample(size=(5, 7), mode="bicubic", align_corners=True), 1, 2, 3, 4)

# Modules that learn their input's size.
simple("lazy_linear", lambda: made(nn.LazyLinear(3), 2, 5), 2, 5)
simple("lazy_conv1d", lambda: made(nn.LazyConv1d(4, 3, padding=1), 3, 6), 3, 6)
simple("lazy_conv2d", lambda: made(nn.LazyConv2d(6, 3, groups=3, bias=False), 2, 6, 5, 5), 2, 6, 5, 5)
simple("lazy_conv3d", lambda: made(nn.LazyConv3d(2, 2), 1, 2, 3, 3, 3), 1, 2, 3, 3, 3)
simple("lazy_conv_transpose1d", lambda: made(nn.LazyConvTranspose1d(4, 3, stride=2), 2, 3, 6), 2, 3, 6)
simple("lazy_conv_transpose2d", lambda: made(nn.LazyConvTranspose2d(4, 3), 2, 3, 4, 4), 2, 3, 4, 4)
simple("lazy_conv_transpose3d", lambda: made(nn.LazyConvTranspose3d(2, 2), 1, 2, 3, 3, 3), 1, 2, 3, 3, 3)
simple("lazy_batch_norm1d", lambda: made(nn.LazyBatchNorm1d(eps=1e-3), 4, 5), 4, 5)
simple("lazy_batch_norm2d", lambda: made(nn.LazyBatchNorm2d(affine=False), 2, 3, 4, 4), 2, 3, 4, 4)
simple("lazy_batch_norm3d", lambda: made(nn.LazyBatchNorm3d(), 2, 3, 2, 2, 2), 2, 3, 2, 2, 2)
simple("lazy_instance_norm1d", lambda: made(nn.LazyInstanceNorm1d(affine=True), 2, 4, 6), 2, 4, 6)
simple("lazy_instance_norm2d", lambda: made(nn.LazyInstanceNorm2d(affine=True), 2, 3, 4, 4), 2, 3, 4, 4)
simple("lazy_instance_norm3d", lambda: made(nn.LazyInstanceNorm3d(affine=True), 2, 3, 2, 2, 2), 2, 3, 2, 2, 2)

# Weights that are computed.
class Symmetric(nn.Module):
    """Learns the upper half of a matrix."""

    def forward(self, x):
        return x.triu() + x.triu(1).transpose(-1, -2)

    def right_inverse(self, w):
        return w.triu()


class Scaled(nn.Module):
    """Has a factor of its own."""

    def __init__(self):
        super().__init__()
        self.factor = nn.Parameter(torch.full((1, 1), 2.0))

    def forward(self, x):
        return self.factor * x


def settled(m, x):
    """Calls until the singular vectors are those of the weight."""
    m.train()
    for _ in range(40):
        m(x)
    return m.eval()(x)


def symmetric(*rules, bias=True):
    m = nn.Linear(4, 4, bias)
    for r in rules:
        parametrize.register_parametrization(m, "weight", r)
    return m


simple("weight_norm", lambda: parametrizations.weight_norm(nn.Linear(5, 4)), 3, 5)
simple("weight_norm_dim", lambda: parametrizations.weight_norm(nn.Conv2d(3, 4, 2, bias=False), dim=1), 1, 3, 5, 5)
simple("weight_norm_whole", lambda: parametrizations.weight_norm(nn.ConvTranspose1d(3, 4, 2), dim=None), 2, 3, 5)
case("spectral_norm", lambda: parametrizations.spectral_norm(nn.Linear(5, 4)), settled, floats(0, 3, 5))
case("spectral_norm_conv", lambda: parametrizations.spectral_norm(nn.Conv1d(3, 4, 2), n_power_iterations=3, eps=1e-3), settled, floats(0, 2, 3, 6))
case("spectral_norm_turned", lambda: parametrizations.spectral_norm(nn.ConvTranspose2d(3, 4, 2)), settled, floats(0, 1, 3, 4, 5))
case("weight_norm_embedding", lambda: parametrizations.weight_norm(nn.Embedding(6, 3)), lambda m: m(torch.tensor([[1, 4], [0, 1]])))
simple("parametrized", lambda: symmetric(Symmetric()), 2, 4)
simple("parametrized_twice", lambda: symmetric(Symmetric(), Scaled()), 2, 4)
simple("parametrized_removed", lambda: parametrize.remove_parametrizations(symmetric(Scaled(), bias=False), "weight"), 2, 4)

# Further functions and older modules.
simple("cross_map_lrn", lambda: nn.CrossMapLRN2d(5, alpha=0.5, k=2.0), 2, 7, 3, 4)
simple("cross_map_lrn_even", lambda: nn.CrossMapLRN2d(4, alpha=0.5, beta=0.5), 2, 7, 3, 4)
simple("cross_map_lrn_narrow", lambda: nn.CrossMapLRN2d(3, alpha=0.5, beta=0.5), 2, 5, 3, 4)
simple("sync_batch_norm", lambda: nn.SyncBatchNorm(4), 3, 4, 5)
case("functional_embedding_max_norm", lambda: nn.Embedding(6, 3), lambda m: F.embedding(torch.tensor([[1, 4], [0, 1]]), m.weight, max_norm=0.4, norm_type=1.0))
case("gumbel_softmax", lambda: nn.Identity(), lambda m, x: (torch.manual_seed(5), F.gumbel_softmax(x, tau=0.7))[1], floats(0, 3, 7))
case("gumbel_softmax_hard", lambda: nn.Identity(), lambda m, x, w: (torch.manual_seed(5), w * F.gumbel_softmax(x, hard=True, dim=0))[1], floats(0, 3, 7), floats(1, 3, 7))
case("affine_grid", lambda: nn.Identity(), lambda m, x: F.affine_grid(x, [2, 3, 4, 5], align_corners=False), floats(0, 2, 2, 3))
case("affine_grid_corners", lambda: nn.Identity(), lambda m, x: F.affine_grid(x, [2, 3, 4, 1], align_corners=True), floats(0, 2, 2, 3))
case("affine_grid_volume", lambda: nn.Identity(), lambda m, x: F.affine_grid(x, [2, 1, 2, 3, 4], align_corners=False), floats(0, 2, 3, 4))
case("conv_tbc", lambda: nn.Identity(), lambda m, x, w, b: F.conv_tbc(x, w, b, 1), floats(0, 6, 2, 3), floats(1, 3, 3, 4), floats(2, 4))
case("upsample_names", lambda: nn.Identity(), lambda m, x: [F.upsample(x, size=(5, 6)), F.upsample_nearest(x, scale_factor=2), F.upsample_bilinear(x, size=(4, 7))], floats(0, 1, 2, 3, 4))
case("pack_sequence", lambda: nn.GRU(3, 4), lambda m, a, b, c: unpack_sequence(m(pack_sequence([a, b, c], enforce_sorted=False))[0]), floats(0, 2, 3), floats(1, 4, 3), floats(2, 1, 3))

# Containers.
case("parameter_dict", lambda: named(right=torch.zeros(4), left=torch.ones(2, 1)), lambda m, x: m["left"] * x + m["right"], floats(0, 2, 4))
simple("sequential", lambda: nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Sequential(nn.Linear(5, 3))), 2, 4)
case("module_dict", lambda: nn.ModuleDict({"up": nn.Linear(4, 6), "a.b".replace(".", "_"): nn.Linear(6, 2)}), lambda m, x: m["a_b"](m["up"](x)), floats(0, 2, 4))
case("module_list", lambda: nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)]), lambda m, x: m[1](m[0](x)), floats(0, 2, 4))
case("parameter_list", lambda: nn.ParameterList([nn.Parameter(torch.zeros(2, 4)), nn.Parameter(torch.ones(4))]), lambda m, x: m[0] * x + m[1], floats(0, 2, 4))


def flat(out):
    if torch.is_tensor(out):
        return [out]
    if out is None:
        return []
    return [t for o in out for t in flat(o)]


def loss_of(outs):
    return sum((o.square().mean() for o in outs if o.is_floating_point()), torch.zeros(()))


def norm(t):
    return None if t is None else float(t.double().norm())


def run(make, call, inputs):
    torch.manual_seed(0)
    m = make()
    state = m.state_dict()
    r = {
        "state": [[k, list(v.shape)] for k, v in state.items()],
        "init": [[float(v.double().sum()), float(v.double().abs().sum())] for v in state.values()],
    }
    with torch.no_grad():
        for k, (name, t) in enumerate(state.items()):
            fill(k, name, t)
    m.eval()
    outs = flat(call(m, *inputs))
    r["outs"] = [{"shape": list(o.shape), "sum": float(o.double().sum()), "abs": float(o.double().abs().sum()), "first": [float(x) for x in o.detach().flatten()[:6]]} for o in outs]
    for x in inputs:
        x.grad = None
    loss = loss_of(outs)
    if loss.requires_grad:
        loss.backward()
    r["input_grads"] = [norm(x.grad) for x in inputs]
    r["grads"] = {k: norm(p.grad) for k, p in m.named_parameters()}
    m.train()
    r["train_loss"] = float(loss_of(flat(call(m, *inputs))))
    r["buffers"] = {k: float(b.double().sum()) for k, b in m.named_buffers()}
    return r


if __name__ == "__main__":
    torch.set_num_threads(1)
    out = {name: run(*c) for name, c in CASES.items()}
    text = json.dumps({"torch": torch.__version__.split("+")[0], "cases": out}, sort_keys=True)
    with open(sys.argv[1], "wb") as f:
        f.write(gzip.compress(text.encode(), mtime=0))
    print(len(out), "cases")
