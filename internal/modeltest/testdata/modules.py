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
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

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
    if not t.dtype.is_floating_point:
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

# Containers.
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
