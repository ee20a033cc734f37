package data

import (
	"fmt"

	"tcdbg/torch"
)

// This file is the order in which samples are taken.

// Sampler says which samples one pass takes.
type Sampler interface {
	// Len is how many samples a pass has.
	Len() int
	// Order lists them, drawn again for each pass.
	Order() []int
}

// BatchSampler says which samples each batch of one pass has.
type BatchSampler interface {
	// Len is how many batches a pass has.
	Len() int
	// Batches lists them, drawn again for each pass.
	Batches() [][]int
}

// SequentialSampler takes the samples in their order.
type SequentialSampler struct{ n int }

// NewSequentialSampler makes a SequentialSampler.
func NewSequentialSampler(d Dataset) *SequentialSampler { return &SequentialSampler{d.Len()} }

// Len is how many samples a pass has.
func (s *SequentialSampler) Len() int { return s.n }

// Order lists the samples.
func (s *SequentialSampler) Order() []int {
	out := make([]int, s.n)
	for i := range out {
		out[i] = i
	}
	return out
}

// RandomSampler takes samples at random.
type RandomSampler struct {
	n, count    int
	replacement bool
	generator   *torch.Generator
}

// NewRandomSampler makes a RandomSampler. Options: kw.Replacement(false),
// kw.NumSamples (all), kw.Generator.
func NewRandomSampler(d Dataset, opts ...torch.Option) *RandomSampler {
	s := &RandomSampler{n: d.Len(), count: d.Len()}
	for _, o := range opts {
		switch o.Name {
		case "replacement":
			s.replacement = o.Value.(bool)
		case "num_samples":
			s.count = o.Value.(int)
		case "generator":
			s.generator = o.Value.(*torch.Generator)
		default:
			panic(&torch.Error{
				Op: "RandomSampler", Kind: "TypeError",
				Msg: fmt.Sprintf("RandomSampler.__init__() got an unexpected keyword argument '%s'", o.Name),
			})
		}
	}
	if s.count <= 0 {
		panic(&torch.Error{
			Op: "RandomSampler", Kind: "ValueError",
			Msg: fmt.Sprintf("num_samples should be a positive integer value, but got num_samples=%d", s.count),
		})
	}
	return s
}

// Len is how many samples a pass has.
func (s *RandomSampler) Len() int { return s.count }

// replaced is how many samples PyTorch draws at once with replacement.
const replaced = 32

// Order draws the samples as PyTorch does: from a generator with a seed of its
// own unless there is one.
func (s *RandomSampler) Order() []int {
	g := s.generator
	if g == nil {
		g = torch.NewGenerator(torch.DefaultGenerator().Int63())
	}
	var out []int
	if s.replacement {
		for len(out) < s.count {
			out = append(out, g.Integers(0, s.n, min(replaced, s.count-len(out)))...)
		}
		return out
	}
	for range s.count / s.n {
		out = append(out, g.Perm(s.n)...)
	}
	return append(out, g.Perm(s.n)[:s.count%s.n]...)
}

// SubsetRandomSampler takes given samples in a random order.
type SubsetRandomSampler struct {
	indices   []int
	generator *torch.Generator
}

// NewSubsetRandomSampler makes a SubsetRandomSampler; the generator may be nil.
func NewSubsetRandomSampler(indices []int, generator *torch.Generator) *SubsetRandomSampler {
	return &SubsetRandomSampler{indices, generator}
}

// Len is how many samples a pass has.
func (s *SubsetRandomSampler) Len() int { return len(s.indices) }

// Order draws the samples.
func (s *SubsetRandomSampler) Order() []int {
	g := s.generator
	if g == nil {
		g = torch.DefaultGenerator()
	}
	out := make([]int, len(s.indices))
	for i, k := range g.Perm(len(s.indices)) {
		out[i] = s.indices[k]
	}
	return out
}

// batchedSampler cuts the order of a sampler into batches.
type batchedSampler struct {
	sampler  Sampler
	size     int
	dropLast bool
}

// NewBatchSampler cuts the order of a sampler into batches of a size; the last
// one may be smaller, or left out.
func NewBatchSampler(s Sampler, size int, dropLast bool) BatchSampler {
	if size <= 0 {
		panic(&torch.Error{
			Op: "BatchSampler", Kind: "ValueError",
			Msg: fmt.Sprintf("batch_size should be a positive integer value, but got batch_size=%d", size),
		})
	}
	return &batchedSampler{s, size, dropLast}
}

// Len is how many batches a pass has.
func (b *batchedSampler) Len() int {
	if b.dropLast {
		return b.sampler.Len() / b.size
	}
	return (b.sampler.Len() + b.size - 1) / b.size
}

// Batches lists them.
func (b *batchedSampler) Batches() [][]int {
	order := b.sampler.Order()
	var out [][]int
	for at := 0; at < len(order); at += b.size {
		end := min(at+b.size, len(order))
		if b.dropLast && end-at < b.size {
			break
		}
		out = append(out, order[at:end])
	}
	return out
}
