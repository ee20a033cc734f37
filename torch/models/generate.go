package models

import (
	"tcdbg/torch"
	"tcdbg/torch/kw"
)

// This file is text generation: a model reads the prompt once, then one new
// token a step, with the keys and values of what came before in a cache.

// CausalLM is a model that predicts the next token and can go on from a cache.
type CausalLM interface {
	// ForwardCached takes int64[batch, time] tokens that follow those in the
	// cache to logits, float32[batch, time, vocabulary].
	ForwardCached(ids *torch.Tensor, cache *KVCache) *torch.Tensor
}

// Generate returns the prompt, int64[batch, time], followed by count tokens,
// each the likeliest one. Options: kw.K(k) draws each from the k likeliest
// instead, by their probabilities.
func Generate(m CausalLM, prompt *torch.Tensor, count int, opts ...torch.Option) *torch.Tensor {
	k := 1
	for _, o := range opts {
		if o.Name != "k" {
			panic(&torch.Error{Op: "generate", Kind: "TypeError", Msg: "generate() got an unexpected keyword argument '" + o.Name + "'"})
		}
		k = o.Value.(int)
	}
	all := []*torch.Tensor{prompt}
	torch.NoGrad(func() {
		cache := NewKVCache()
		ids := prompt
		for range count {
			logits := m.ForwardCached(ids, cache)
			ids = pick(logits.Select(1, logits.Size(1)-1), k)
			all = append(all, ids)
		}
	})
	return torch.Cat(all, kw.Dim(1))
}

// pick chooses a token for each row of float32[batch, vocabulary].
func pick(logits *torch.Tensor, k int) *torch.Tensor {
	if k <= 1 {
		return logits.Argmax(kw.Dim(-1), kw.Keepdim(true))
	}
	values, tokens := logits.Topk(k)
	return tokens.Gather(1, sample(values.Softmax(-1)))
}

// sample draws one column of each row of probabilities: the first at which
// their sum passes a uniform number.
func sample(p *torch.Tensor) *torch.Tensor {
	sums := p.Cumsum(-1)
	drawn := torch.Rand(p.Size(0), 1).Mul(sums.Narrow(1, p.Size(1)-1, 1))
	return sums.Le(drawn).Sum(kw.Dim(1), kw.Keepdim(true)).Clamp(kw.Max(p.Size(1) - 1))
}
