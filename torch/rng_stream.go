package torch

import (
	"cmp"
	"math"
	"slices"
	"unsafe"

	"tcdbg/ops"
	"tcdbg/torch/internal/parallel"
	"tcdbg/torch/internal/simd"
)

// This file draws many numbers at once. The words of the generator's state follow from
// each other one by one, but cheaply; they are made a block at a time, and what takes
// long, distributions, is computed of a block's words on all threads. The numbers are
// those that would come one by one.

// streamWords is about how many words are made at once: they stay in the caches.
const streamWords = 256 << 10

// stream calls use for the next n words, some at a time and in their order: words[i] is
// word at+i, as it is in the state. But for the last time it is given a multiple of
// step words, a divisor of 64. The caller holds the lock.
func (g *Generator) stream(n int, use func(at int, words []uint32)) {
	const size = simd.TwisterSize
	room := min((n+2*size-1)/size*size, streamWords/size*size)
	if len(g.line) < size+room {
		g.line = make([]uint32, size+room)
	}
	line := g.line[:size+room]
	copy(line, g.state[:])
	pos := g.next
	if g.left <= 1 { // all words of the state were drawn, or there are none yet
		pos = size
	}
	for at := 0; at < n; {
		take := n - at
		if most := len(line) - pos; take > most {
			take = most &^ 63
		}
		end := (pos + take + size - 1) / size * size
		simd.Active().Twist(line[:end])
		use(at, line[pos:pos+take])
		at += take
		pos += take - (end - size)
		copy(line[:size], line[end-size:end])
	}
	copy(g.state[:], line)
	g.next, g.left = pos, size+1-pos
}

// draw makes n numbers, each of so many words, on all threads: use gets the words of
// numbers from on.
func (g *Generator) draw(n, each int, use func(from int, words []uint32)) {
	g.stream(n*each, func(at int, words []uint32) {
		const piece = 4096
		count := len(words) / each
		parallel.For((count+piece-1)/piece, 4*len(words), func(from, to int) {
			first, last := from*piece, min(to*piece, count)
			use(at/each+first, words[first*each:last*each])
		})
	})
}

// uniformWords is how many words a uniform number of a type takes.
func uniformWords(d DType) int {
	if d == ops.Float64 {
		return 2
	}
	return 1
}

// uniformOf draws from [0, 1) with the precision of float64, or of float32 for all
// other types.
func uniformOf(d DType, words []uint32) float64 {
	if d == ops.Float64 {
		return simd.Double(words)
	}
	return float64(simd.Temper(words[0])&(1<<24-1)) / (1 << 24)
}

// drawn is room for the numbers of t in type A, and what stores them: t's own memory
// where it has this type and layout.
func drawn[A any](t *Tensor, d DType) (s []A, store func()) {
	t = inMemoryOrder(t)
	if t.dtype == d && t.IsContiguous() {
		return unsafe.Slice((*A)(t.Ptr()), t.Numel()), func() {}
	}
	s = make([]A, t.Numel())
	return s, func() { finish(t, s, d) }
}

// inMemoryOrder is t with its dimensions from the largest stride to the smallest, the
// order in which PyTorch fills a tensor.
func inMemoryOrder(t *Tensor) *Tensor {
	if t.IsContiguous() {
		return t
	}
	order := make([]int, len(t.shape))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(t.stride[b], t.stride[a]) })
	v := FromStorage(t.storage, t.dtype, nil, nil, t.offset)
	for _, i := range order {
		v.shape, v.stride = append(v.shape, t.shape[i]), append(v.stride, t.stride[i])
	}
	return v
}

// fillUniform fills t with numbers of [from, to).
func (g *Generator) fillUniform(t *Tensor, from, to float64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if t.dtype == ops.Float64 {
		s, store := drawn[float64](t, ops.Float64)
		g.draw(len(s), 2, func(at int, words []uint32) {
			for i := range len(words) / 2 {
				s[at+i] = math.FMA(simd.Double(words[2*i:]), to-from, from)
			}
		})
		store()
		return
	}
	s, store := drawn[float32](t, ops.Float32)
	scale, base := float32(to-from), float32(from)
	if ops.OpMath(t.dtype) == ops.Float32 {
		scale = float32(to) - float32(from)
	}
	end, near := roundTo(t.dtype, float32(to)), float32(math.Inf(1))
	if t.dtype == ops.Float16 || t.dtype == ops.BFloat16 {
		near = roundsTo(end)
	}
	g.draw(len(s), 1, func(at int, words []uint32) {
		part := s[at : at+len(words)]
		simd.Active().Uniforms(part, words, scale, base)
		for i, v := range part {
			if v >= near && roundTo(t.dtype, v) == end { // the end does not belong to them
				part[i] = base
			}
		}
	})
	store()
}

// roundsTo is a number below which none becomes end in half precision, whose normal
// numbers are at most a 128th apart.
func roundsTo(end float32) float32 {
	const normal = 0x1p-14 // of float16; those of bfloat16 begin below
	if math.Abs(float64(end)) < normal {
		return float32(math.Inf(-1))
	}
	return end - float32(math.Abs(float64(end)))/64
}

// fillNormal fills t with normal numbers: small tensors one by one, larger
// ones in blocks of 16, the last of which is drawn again when it is incomplete.
func (g *Generator) fillNormal(t *Tensor, mean, std float64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := t.Numel()
	switch {
	case n < simd.NormalBlock || !t.IsContiguous():
		s, store := drawn[float64](t, ops.Float64)
		for i := range s {
			s[i] = g.gauss()*std + mean
		}
		store()
	case t.dtype == ops.Float64:
		s, store := drawn[float64](t, ops.Float64)
		g.normals(n, n, 2, func(at int, words []uint32) {
			block := s[at : at+len(words)/2]
			for i := range block {
				block[i] = simd.Double(words[2*i:])
			}
			for ; len(block) > 0; block = block[simd.NormalBlock:] {
				blockNormal(block[:simd.NormalBlock], mean, std)
			}
		})
		store()
	default:
		words := n
		if t.dtype != ops.Float32 { // half precision draws whole blocks alone
			words = n / simd.NormalBlock * simd.NormalBlock
		}
		s, store := drawn[float32](t, ops.Float32)
		g.normals(n, words, 1, func(at int, words []uint32) {
			simd.Active().Normals(s[at:at+len(words)], words, float32(mean), float32(std))
		})
		store()
	}
}

// normals has block make n normal numbers, whole blocks of 16 at a time, from each words
// a number, and draws as many numbers as are given. What is drawn of an incomplete block
// is not used; the last 16 numbers then are of the words after it.
func (g *Generator) normals(n, drawn, each int, block func(at int, words []uint32)) {
	g.draw(drawn, each, func(at int, words []uint32) {
		if whole := len(words) / (each * simd.NormalBlock) * each * simd.NormalBlock; whole > 0 {
			block(at, words[:whole])
		}
	})
	if n%simd.NormalBlock != 0 {
		g.stream(simd.NormalBlock*each, func(_ int, words []uint32) { block(n-simd.NormalBlock, words) })
	}
}

// fillIntegers fills t with integers of [low, high).
func (g *Generator) fillIntegers(t *Tensor, low, high int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	s, store := drawn[int64](t, ops.Int64)
	span := uint64(high - low)
	if span >= 1<<28 {
		g.draw(len(s), 2, func(at int, words []uint32) {
			for i := range len(words) / 2 {
				s[at+i] = int64(simd.Word64(words[2*i:])%span) + low
			}
		})
	} else {
		g.draw(len(s), 1, func(at int, words []uint32) {
			for i, w := range words {
				s[at+i] = int64(simd.Temper(w)%uint32(span)) + low
			}
		})
	}
	store()
}

// fillBernoulli fills t with ones of probability p, a double for each element,
// as PyTorch does but on Intel's processors, where it leaves this to MKL.
func (g *Generator) fillBernoulli(t *Tensor, p float64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	s, store := drawn[float32](t, ops.Float32)
	g.draw(len(s), 2, func(at int, words []uint32) {
		simd.Active().Bernoullis(s[at:at+len(words)/2], words, p)
	})
	store()
}

// fillEachBernoulli draws each element with its own probability.
func (g *Generator) fillEachBernoulli(t, chance *Tensor) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if t.dtype == ops.Float32 && chance.dtype == ops.Float32 && t.IsContiguous() && chance.IsContiguous() {
		s, _ := drawn[float32](t, ops.Float32)
		p, _ := drawn[float32](chance, ops.Float32)
		g.draw(len(s), 1, func(at int, words []uint32) {
			for i, w := range words {
				s[at+i] = simd.Below(w, p[at+i])
			}
		})
		return
	}
	p := chance.Float64s()
	s, each := make([]float32, len(p)), uniformWords(t.dtype)
	g.draw(len(p), each, func(at int, words []uint32) {
		for i := range len(words) / each {
			if uniformOf(t.dtype, words[i*each:]) < p[at+i] {
				s[at+i] = 1
			}
		}
	})
	finish(t, s, ops.Float32)
}

// fillExponential fills t with exponentially distributed numbers of a rate, a double
// for each element, as PyTorch does but on Intel's processors, where it leaves this
// to MKL.
func (g *Generator) fillExponential(t *Tensor, rate float64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if t.dtype == ops.Float32 {
		exponentials[float32](g, t, ops.Float32, rate)
	} else {
		exponentials[float64](g, t, ops.Float64, rate)
	}
}

func exponentials[A float32 | float64](g *Generator, t *Tensor, d DType, rate float64) {
	s, store := drawn[A](t, d)
	g.draw(len(s), 2, func(at int, words []uint32) {
		for i := range len(words) / 2 {
			s[at+i] = A((0 - logUnit(1-simd.Double(words[2*i:]))) / rate)
		}
	})
	store()
}

// permute makes s, of n numbers, a random order of 0..n-1.
func (g *Generator) permute(s []int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := len(s)
	for i := range s {
		s[i] = int64(i)
	}
	g.stream(max(n-1, 0), func(at int, words []uint32) {
		for k, w := range words {
			i := at + k
			z := int(simd.Temper(w) % uint32(n-i))
			s[i], s[i+z] = s[i+z], s[i]
		}
	})
}
