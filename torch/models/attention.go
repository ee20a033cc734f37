package models

import (
	"math"

	"tcdbg/torch"
	"tcdbg/torch/kw"
	"tcdbg/torch/nn"
	F "tcdbg/torch/nn/functional"
)

// This file is what the transformers share: heads, masks, attention, the cache
// of keys and values.

// lowest is the most negative finite number of a type. Masks use it in place of minus infinity, as
// Hugging Face's transformers do, so that a row with every key masked does not become NaN.
func lowest(d torch.DType) float64 {
	switch d {
	case torch.Float16:
		return -65504
	case torch.Bfloat16:
		return -0x1.fep127
	}
	return -math.MaxFloat32
}

// splitHeads turns [batch, time, heads*dim] into [batch, heads, time, dim].
func splitHeads(x *torch.Tensor, heads int) *torch.Tensor {
	batch, time, width := x.Size(0), x.Size(1), x.Size(2)
	return x.View(batch, time, heads, width/heads).Transpose(1, 2)
}

// joinHeads undoes splitHeads.
func joinHeads(x *torch.Tensor) *torch.Tensor {
	batch, heads, time, dim := x.Size(0), x.Size(1), x.Size(2), x.Size(3)
	return x.Transpose(1, 2).Contiguous().View(batch, time, heads*dim)
}

// causalMask is true where a query may look at a key: the last queries of keys
// positions, each at itself and what came before.
func causalMask(queries, keys int) *torch.Tensor {
	q := torch.Arange(keys-queries, keys).Unsqueeze(1)
	return torch.Arange(keys).Unsqueeze(0).Le(q)
}

// attend is softmax(q k^T * scale) v over [batch, heads, time, dim]. A mask
// (bool, broadcast over batch and heads) and a bias (added) may be nil.
func attend(q, k, v, mask, bias *torch.Tensor, scale float64, dropout *nn.Dropout) *torch.Tensor {
	scores := q.Matmul(k.Transpose(2, 3))
	if scale != 1 {
		scores = scores.Mul(scale)
	}
	if bias != nil {
		scores = scores.Add(bias)
	}
	if mask != nil {
		scores = torch.Where(mask, scores, lowest(scores.DType()))
	}
	p := scores.Softmax(-1)
	if dropout != nil {
		p = dropout.Forward(p)
	}
	return p.Matmul(v)
}

// KVCache keeps the keys and values of past positions, one pair a layer, so
// that a model reads only new tokens.
type KVCache struct {
	Keys, Values []*torch.Tensor
}

// NewKVCache makes an empty cache.
func NewKVCache() *KVCache { return &KVCache{} }

// Len is the number of positions held.
func (c *KVCache) Len() int {
	if c == nil || len(c.Keys) == 0 {
		return 0
	}
	return c.Keys[0].Size(2)
}

// update adds the keys and values of new positions to a layer and returns all.
// A nil cache keeps nothing.
func (c *KVCache) update(layer int, k, v *torch.Tensor) (keys, values *torch.Tensor) {
	if c == nil {
		return k, v
	}
	if layer == len(c.Keys) {
		c.Keys, c.Values = append(c.Keys, k), append(c.Values, v)
		return k, v
	}
	c.Keys[layer] = torch.Cat([]*torch.Tensor{c.Keys[layer], k}, kw.Dim(2))
	c.Values[layer] = torch.Cat([]*torch.Tensor{c.Values[layer], v}, kw.Dim(2))
	return c.Keys[layer], c.Values[layer]
}

// activation returns an activation by transformers' name; def stands for "".
func activation(class, name, def string) func(*torch.Tensor) *torch.Tensor {
	if name == "" {
		name = def
	}
	switch name {
	case "gelu":
		return func(x *torch.Tensor) *torch.Tensor { return F.Gelu(x) }
	case "gelu_new", "gelu_pytorch_tanh":
		return func(x *torch.Tensor) *torch.Tensor { return F.Gelu(x, kw.Approximate("tanh")) }
	case "relu":
		return F.Relu
	case "silu", "swish":
		return func(x *torch.Tensor) *torch.Tensor { return F.Silu(x) }
	case "tanh":
		return F.Tanh
	}
	refuse(class, "KeyError", "there is no activation %q; there are gelu, gelu_new, gelu_pytorch_tanh, relu, silu, swish and tanh", name)
	return nil
}
