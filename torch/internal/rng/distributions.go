package rng

import (
	"math"
	"sort"

	"tcdbg/torch/internal/simd"
)

// This file fills slices with numbers of a distribution, as PyTorch's CPU kernels do.

// Uniforms fills s with doubles of [from, to).
func (g *Source) Uniforms(s []float64, from, to float64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.draw(len(s), 2, func(at int, words []uint32) {
		for i := range len(words) / 2 {
			s[at+i] = math.FMA(simd.Double(words[2*i:]), to-from, from)
		}
	})
}

// Units fills s with doubles of [0, 1).
func (g *Source) Units(s []float64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.draw(len(s), 2, func(at int, words []uint32) {
		for i := range len(words) / 2 {
			s[at+i] = simd.Double(words[2*i:])
		}
	})
}

// UniformFloats fills s with numbers from base on, less than scale above. What isEnd says of a
// number from near on does not belong to them and becomes base.
func (g *Source) UniformFloats(s []float32, scale, base, near float32, isEnd func(float32) bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.drawCheap(len(s), 1, func(at int, words []uint32) {
		part := s[at : at+len(words)]
		simd.Active().Uniforms(part, words, scale, base)
		for i, v := range part {
			if v >= near && isEnd(v) {
				part[i] = base
			}
		}
	})
}

// NormalsOneByOne fills s with normal numbers, each drawn for itself.
func (g *Source) NormalsOneByOne(s []float64, mean, std float64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := range s {
		s[i] = g.gauss()*std + mean
	}
}

// Normals fills s, of at least a block, with normal numbers, in blocks of 16, the last of
// which is drawn again when it is incomplete.
func (g *Source) Normals(s []float64, mean, std float64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.normals(len(s), len(s), 2, func(at int, words []uint32) {
		block := s[at : at+len(words)/2]
		for i := range block {
			block[i] = simd.Double(words[2*i:])
		}
		for ; len(block) > 0; block = block[simd.NormalBlock:] {
			blockNormal(block[:simd.NormalBlock], mean, std)
		}
	})
}

// NormalFloats is Normals of float32; whole says that whole blocks alone are drawn, as for
// half precision.
func (g *Source) NormalFloats(s []float32, mean, std float32, whole bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	words := len(s)
	if whole {
		words = len(s) / simd.NormalBlock * simd.NormalBlock
	}
	g.normals(len(s), words, 1, func(at int, words []uint32) {
		simd.Active().Normals(s[at:at+len(words)], words, mean, std)
	})
}

// normals has block make n normal numbers, whole blocks of 16 at a time, from each words
// a number, and draws as many numbers as are given. What is drawn of an incomplete block
// is not used; the last 16 numbers then are of the words after it.
func (g *Source) normals(n, drawn, each int, block func(at int, words []uint32)) {
	g.draw(drawn, each, func(at int, words []uint32) {
		if whole := len(words) / (each * simd.NormalBlock) * each * simd.NormalBlock; whole > 0 {
			block(at, words[:whole])
		}
	})
	if n%simd.NormalBlock != 0 {
		g.stream(simd.NormalBlock*each, streamWords, func(_ int, words []uint32) { block(n-simd.NormalBlock, words) })
	}
}

// Integers fills s with integers of [low, high).
func (g *Source) Integers(s []int64, low, high int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	span := uint64(high - low)
	if span >= 1<<28 {
		g.draw(len(s), 2, func(at int, words []uint32) {
			for i := range len(words) / 2 {
				s[at+i] = int64(simd.Word64(words[2*i:])%span) + low
			}
		})
		return
	}
	g.draw(len(s), 1, func(at int, words []uint32) {
		for i, w := range words {
			s[at+i] = int64(simd.Temper(w)%uint32(span)) + low
		}
	})
}

// Bernoullis fills s with ones of probability p, a double for each element,
// as PyTorch does but on Intel's processors, where it leaves this to MKL.
func (g *Source) Bernoullis(s []float32, p float64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.drawCheap(len(s), 2, func(at int, words []uint32) {
		simd.Active().Bernoullis(s[at:at+len(words)/2], words, p)
	})
}

// BernoulliFloats draws each element of s with its own probability, from one word.
func (g *Source) BernoulliFloats(s, p []float32) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.draw(len(s), 1, func(at int, words []uint32) {
		for i, w := range words {
			s[at+i] = simd.Below(w, p[at+i])
		}
	})
}

// BernoulliEach draws a one for each probability in p, with the precision of a double or
// of a float; s is zero before.
func (g *Source) BernoulliEach(s []float32, p []float64, double bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	each, uniform := 1, func(words []uint32) float64 { return float64(simd.Temper(words[0])&(1<<24-1)) / (1 << 24) }
	if double {
		each, uniform = 2, simd.Double
	}
	g.draw(len(p), each, func(at int, words []uint32) {
		for i := range len(words) / each {
			if uniform(words[i*each:]) < p[at+i] {
				s[at+i] = 1
			}
		}
	})
}

// Exponentials fills s with exponentially distributed numbers of a rate, a double
// for each element, as PyTorch does but on Intel's processors, where it leaves this
// to MKL.
func Exponentials[A float32 | float64](g *Source, s []A, rate float64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.draw(len(s), 2, func(at int, words []uint32) {
		for i := range len(words) / 2 {
			s[at+i] = A((0 - logUnit(1-simd.Double(words[2*i:]))) / rate)
		}
	})
}

// Permute makes s, of n numbers, a random order of 0..n-1.
func (g *Source) Permute(s []int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := len(s)
	for i := range s {
		s[i] = int64(i)
	}
	g.stream(max(n-1, 0), streamWords, func(at int, words []uint32) {
		for k, w := range words {
			i := at + k
			z := int(simd.Temper(w) % uint32(n-i))
			s[i], s[i+z] = s[i+z], s[i]
		}
	})
}

// Categories draws places with replacement, by the sums of their weights.
func (g *Source) Categories(sums []float64, samples int) []int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	drawn := make([]int64, samples)
	for i := range drawn {
		u := g.double()
		drawn[i] = int64(sort.Search(len(sums), func(j int) bool { return sums[j] >= u }))
	}
	return drawn
}
