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

// choice is how the next token is chosen.
type choice struct {
	k           int     // of the k likeliest; 0: of all
	p           float64 // of the fewest that together have probability p
	temperature float64 // above 1 evens probabilities out, below 1 sharpens them
	greedy      bool
}

// choiceOf reads the options of Generate.
func choiceOf(opts []torch.Option) choice {
	s := read("generate", opts, "k", "top_p", "temperature", "eos_token_id", "pad_token_id")
	greedy := s.value("k") == nil && s.value("top_p") == nil && s.value("temperature") == nil
	c := choice{s.whole("k", 0), s.number("top_p", 1), s.number("temperature", 1), greedy}
	switch {
	case c.k < 0:
		refuse("generate", "ValueError", "`top_k` has to be a strictly positive integer, but is %d", c.k)
	case !(c.p > 0 && c.p <= 1):
		refuse("generate", "ValueError", "`top_p` has to be a float > 0 and <= 1, but is %v", c.p)
	case !(c.temperature > 0):
		refuse("generate", "ValueError", "`temperature` has to be a strictly positive float, but is %v", c.temperature)
	}
	return c
}

// Generate returns the prompt, int64[batch, time], followed by count tokens,
// each the likeliest one. Any of these options draws them instead, by their
// probabilities: kw.K(k), from the k likeliest; kw.TopP(p), from the fewest that
// together have probability p; kw.Temperature(t), which divides the logits.
//
// kw.EosTokenId, an int or []int, are tokens that end a row; kw.PadTokenId (the
// first of them) fills it up from there, and when all rows have ended there are no
// further tokens.
func Generate(m CausalLM, prompt *torch.Tensor, count int, opts ...torch.Option) *torch.Tensor {
	how, ends := choiceOf(opts), endsOf(opts)
	all := []*torch.Tensor{prompt}
	torch.NoGrad(func() {
		cache := NewKVCache()
		ids := prompt
		for range count {
			logits := m.ForwardCached(ids, cache)
			ids = ends.apply(how.pick(logits.Select(1, logits.Size(1)-1)))
			all = append(all, ids)
			if ends.reached() {
				break
			}
		}
	})
	return torch.Cat(all, kw.Dim(1))
}

// ending knows which rows have come to an end.
type ending struct {
	tokens []int
	pad    int
	ended  *torch.Tensor // bool[batch, 1]; nil before the first token
}

// endsOf reads kw.EosTokenId and kw.PadTokenId.
func endsOf(opts []torch.Option) *ending {
	s := read("generate", opts, "k", "top_p", "temperature", "eos_token_id", "pad_token_id")
	e := &ending{}
	switch v := s.value("eos_token_id").(type) {
	case nil:
		if s.value("pad_token_id") != nil {
			refuse("generate", "ValueError", "`pad_token_id` fills up what `eos_token_id` ends: give that too")
		}
		return e
	case int:
		e.tokens = []int{v}
	case []int:
		e.tokens = v
	default:
		refuse("generate", "TypeError", "keyword eos_token_id must be int or []int, not %T", v)
	}
	if len(e.tokens) == 0 {
		refuse("generate", "ValueError", "`eos_token_id` names no token")
	}
	e.pad = s.whole("pad_token_id", e.tokens[0])
	return e
}

// apply puts the filling in place of the tokens of rows that have ended.
func (e *ending) apply(ids *torch.Tensor) *torch.Tensor {
	if e.tokens == nil {
		return ids
	}
	if e.ended == nil {
		e.ended = torch.ZerosLike(ids, kw.Dtype(torch.Bool))
	}
	ids = ids.MaskedFill(e.ended, e.pad)
	for _, token := range e.tokens {
		e.ended = e.ended.LogicalOr(ids.Eq(token))
	}
	return ids
}

// reached reports whether every row has ended.
func (e *ending) reached() bool { return e.ended != nil && e.ended.All().Bool() }

// pick chooses a token for each row of float32[batch, vocabulary].
func (c choice) pick(logits *torch.Tensor) *torch.Tensor {
	if c.greedy || c.k == 1 {
		return logits.Argmax(kw.Dim(-1), kw.Keepdim(true))
	}
	k := logits.Size(-1)
	if c.k > 0 {
		k = min(k, c.k)
	}
	values, tokens := logits.Div(c.temperature).Topk(k)
	p := values.Softmax(-1)
	if c.p < 1 { // the likeliest come first; one is out when those before it have enough
		before := p.Cumsum(-1).Sub(p)
		p = p.Mul(before.Lt(c.p))
	}
	return tokens.Gather(1, sample(p))
}

// sample draws one column of each row of probabilities: the first at which
// their sum passes a uniform number.
func sample(p *torch.Tensor) *torch.Tensor {
	sums := p.Cumsum(-1)
	drawn := torch.Rand(p.Size(0), 1).Mul(sums.Narrow(1, p.Size(1)-1, 1))
	return sums.Le(drawn).Sum(kw.Dim(1), kw.Keepdim(true)).Clamp(kw.Max(p.Size(1) - 1))
}
