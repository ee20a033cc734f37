package data

import (
	"fmt"
	"math"
	"sort"

	"tcdbg/torch"
)

// This file is samplers that draw by weights, and that share the samples out.

// WeightedRandomSampler takes samples with probabilities that weights stand for.
type WeightedRandomSampler struct {
	weights     []float64
	count       int
	replacement bool
	generator   *torch.Generator
}

// NewWeightedRandomSampler makes a sampler of count samples. Options:
// kw.Replacement(true), kw.Generator.
func NewWeightedRandomSampler(weights []float64, count int, opts ...torch.Option) *WeightedRandomSampler {
	const class = "WeightedRandomSampler"
	s := &WeightedRandomSampler{weights: weights, count: count, replacement: true}
	for _, o := range opts {
		switch o.Name {
		case "replacement":
			s.replacement = asked[bool](o)
		case "generator":
			s.generator = asked[*torch.Generator](o)
		default:
			panic(&torch.Error{
				Op: class, Kind: "TypeError",
				Msg: fmt.Sprintf("%s.__init__() got an unexpected keyword argument '%s'", class, o.Name),
			})
		}
	}
	refused := func(format string, args ...any) {
		panic(&torch.Error{Op: class, Kind: "ValueError", Msg: fmt.Sprintf(format, args...)})
	}
	positive := 0
	for _, w := range weights {
		if !(w >= 0) || math.IsInf(w, 1) {
			refused("weights must be finite and not negative, but one is %v", w)
		}
		if w > 0 {
			positive++
		}
	}
	switch {
	case count <= 0:
		refused("num_samples should be a positive integer value, but got num_samples=%d", count)
	case positive == 0:
		refused("the weights are all zero")
	case !s.replacement && count > positive:
		refused("%d samples cannot be taken without replacement: %d have a weight", count, positive)
	}
	return s
}

// Len is how many samples a pass has.
func (s *WeightedRandomSampler) Len() int { return s.count }

// Order draws the samples as PyTorch does.
func (s *WeightedRandomSampler) Order() []int {
	g := s.generator
	if g == nil {
		g = torch.DefaultGenerator()
	}
	if !s.replacement || s.count == 1 {
		return s.race(g)
	}
	sums := make([]float64, len(s.weights))
	total := 0.0
	for i, w := range s.weights {
		total += w
		sums[i] = total
	}
	for i := range sums {
		sums[i] /= total
	}
	out := make([]int, s.count)
	for i, u := range g.Uniform(s.count) {
		out[i] = min(sort.SearchFloat64s(sums, u), len(sums)-1)
	}
	return out
}

// race gives each sample an exponential time that is shorter the greater its
// weight; those that come first are taken.
func (s *WeightedRandomSampler) race(g *torch.Generator) []int {
	speed := make([]float64, len(s.weights))
	order := make([]int, len(s.weights))
	for i, u := range g.Uniform(len(s.weights)) {
		speed[i] = s.weights[i] / -math.Log1p(-u)
		order[i] = i
	}
	sort.SliceStable(order, func(a, b int) bool { return speed[order[a]] > speed[order[b]] })
	return order[:s.count]
}

// DistributedSampler takes the share of the samples that one of several
// processes has. There are no process groups here: the program says how many
// processes there are and which this is.
type DistributedSampler struct {
	n, replicas, rank, count, epoch int
	seed                            int64
	shuffle, dropLast               bool
}

// NewDistributedSampler makes a DistributedSampler. Options: kw.Shuffle(true),
// kw.Seed(0), kw.DropLast(false), which leaves samples out where the number is no
// multiple; without it some come twice.
func NewDistributedSampler(d Dataset, replicas, rank int, opts ...torch.Option) *DistributedSampler {
	const class = "DistributedSampler"
	s := &DistributedSampler{n: d.Len(), replicas: replicas, rank: rank, shuffle: true}
	for _, o := range opts {
		switch o.Name {
		case "shuffle":
			s.shuffle = asked[bool](o)
		case "seed":
			s.seed = int64(asked[int](o))
		case "drop_last":
			s.dropLast = asked[bool](o)
		default:
			panic(&torch.Error{
				Op: class, Kind: "TypeError",
				Msg: fmt.Sprintf("%s.__init__() got an unexpected keyword argument '%s'", class, o.Name),
			})
		}
	}
	if rank < 0 || rank >= replicas {
		panic(&torch.Error{
			Op: class, Kind: "ValueError",
			Msg: fmt.Sprintf("Invalid rank %d, rank should be in the interval [0, %d]", rank, replicas-1),
		})
	}
	s.count = (s.n + replicas - 1) / replicas
	if s.dropLast {
		s.count = s.n / replicas
	}
	return s
}

// SetEpoch makes the next pass another one, the same in all processes.
func (s *DistributedSampler) SetEpoch(epoch int) { s.epoch = epoch }

// Len is how many samples a pass has.
func (s *DistributedSampler) Len() int { return s.count }

// Order lists the process's share.
func (s *DistributedSampler) Order() []int {
	var all []int
	if s.shuffle {
		all = torch.NewGenerator(s.seed + int64(s.epoch)).Perm(s.n)
	} else {
		all = (&SequentialSampler{s.n}).Order()
	}
	out := make([]int, s.count)
	for i := range out {
		out[i] = all[(s.rank+i*s.replicas)%len(all)]
	}
	return out
}
