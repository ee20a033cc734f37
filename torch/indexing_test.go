package torch_test

import (
	"fmt"
	"math"
	"math/rand"
	"slices"
	"testing"

	"tcdbg/torch"
	"tcdbg/torch/kw"
)

// This file compares the operators that pick and place elements with loops over all multi-indices.

// nested is numbers in row-major order.
type nested struct {
	shape []int
	data  []float64
}

func nestedOf(x *torch.Tensor) nested { return nested{x.Shape(), x.Float64s()} }

// place is where a multi-index lies.
func (a nested) place(ix []int) int {
	p := 0
	for d, i := range ix {
		p = p*a.shape[d] + i
	}
	return p
}

// indices are all multi-indices, in order.
func indices(shape []int) [][]int {
	out := [][]int{{}}
	for _, n := range shape {
		var next [][]int
		for _, ix := range out {
			for i := range n {
				next = append(next, append(slices.Clone(ix), i))
			}
		}
		out = next
	}
	return out
}

func with(ix []int, dim, i int) []int {
	ix = slices.Clone(ix)
	ix[dim] = i
	return ix
}

// layouts are x as it is and with strides of several kinds.
func layouts(x *torch.Tensor) []*torch.Tensor {
	last := len(x.Shape()) - 1
	return []*torch.Tensor{
		x, x.Transpose(0, last).Contiguous().Transpose(0, last), torch.Stack([]*torch.Tensor{x, x}, kw.Dim(-1)).Select(-1, 1),
	}
}

func small(r *rand.Rand, d torch.DType, shape ...int) *torch.Tensor {
	n := 1
	for _, s := range shape {
		n *= s
	}
	data := make([]float64, n)
	for i := range data {
		data[i] = float64(r.Intn(9))
		if d.IsFloat() && r.Intn(30) == 0 {
			data[i] = math.NaN()
		}
	}
	return torch.NewTensor(data).Reshape(shape...).To(d)
}

func below(r *rand.Rand, n int, shape ...int) *torch.Tensor {
	x := small(r, torch.Float64, shape...)
	data := make([]int64, x.Numel())
	for i := range data {
		data[i] = int64(r.Intn(n))
	}
	return torch.NewTensor(data).Reshape(shape...)
}

// eachIndexing calls f with arrays of every dtype and layout, and each of their dimensions.
func eachIndexing(t *testing.T, f func(r *rand.Rand, x *torch.Tensor, dim int) (got *torch.Tensor, want []float64)) {
	r := rand.New(rand.NewSource(11))
	for _, d := range []torch.DType{torch.Float32, torch.Float64, torch.Bfloat16, torch.Int64, torch.Int32, torch.Uint8} {
		for _, shape := range [][]int{{7}, {1, 6}, {5, 1}, {4, 5}, {3, 4, 5}} {
			for dim := range shape {
				for layout, x := range layouts(small(r, d, shape...)) {
					got, want := f(r, x, dim)
					if !sameNumbers(got.Float64s(), want) {
						t.Fatalf("%v, dimension %d of %v, layout %d: %v, want %v", d, dim, shape, layout, got.Float64s(), want)
					}
				}
			}
		}
	}
}

// inside is a shape of an index: smaller than x but along dim.
func inside(r *rand.Rand, x *torch.Tensor, dim int) []int {
	shape := x.Shape()
	for d := range shape {
		shape[d] = 1 + r.Intn(shape[d])
		if d == dim {
			shape[d] = 1 + r.Intn(9)
		}
	}
	return shape
}

func TestGatherByIndices(t *testing.T) {
	eachIndexing(t, func(r *rand.Rand, x *torch.Tensor, dim int) (*torch.Tensor, []float64) {
		index := layouts(below(r, x.Size(dim), inside(r, x, dim)...))[r.Intn(3)]
		var want []float64
		a, at := nestedOf(x), nestedOf(index)
		for n, ix := range indices(index.Shape()) {
			want = append(want, a.data[a.place(with(ix, dim, int(at.data[n])))])
		}
		return x.Gather(dim, index), want
	})
}

func TestIndexSelectBySlabs(t *testing.T) {
	eachIndexing(t, func(r *rand.Rand, x *torch.Tensor, dim int) (*torch.Tensor, []float64) {
		index := below(r, x.Size(dim), 6)
		var want []float64
		a := nestedOf(x)
		for _, ix := range indices(with(x.Shape(), dim, 6)) {
			want = append(want, a.data[a.place(with(ix, dim, int(index.Int64s()[ix[dim]])))])
		}
		return x.IndexSelect(dim, index), want
	})
}

// placed folds src into a copy of x where index says.
func placed(x, index, src *torch.Tensor, dim int, f func(old, new float64) float64) []float64 {
	a, at, s := nestedOf(x), nestedOf(index), nestedOf(src)
	for n, ix := range indices(index.Shape()) {
		p := a.place(with(ix, dim, int(at.data[n])))
		a.data[p] = f(a.data[p], s.data[s.place(ix)])
	}
	return a.data
}

func TestScatterByIndices(t *testing.T) {
	for name, op := range map[string]struct {
		call func(x *torch.Tensor, dim int, index, src *torch.Tensor) *torch.Tensor
		fold func(old, new float64) float64
	}{
		"scatter": {
			func(x *torch.Tensor, dim int, index, src *torch.Tensor) *torch.Tensor {
				return x.Scatter(dim, index, src)
			},
			func(_, new float64) float64 { return new },
		},
		"scatter of a number": {
			func(x *torch.Tensor, dim int, index, _ *torch.Tensor) *torch.Tensor { return x.Scatter(dim, index, 3) },
			func(_, _ float64) float64 { return 3 },
		},
		"scatter_add": {
			func(x *torch.Tensor, dim int, index, src *torch.Tensor) *torch.Tensor {
				return x.ScatterAdd(dim, index, src)
			},
			func(old, new float64) float64 { return old + new },
		},
		"amax": {
			func(x *torch.Tensor, dim int, index, src *torch.Tensor) *torch.Tensor {
				return x.ScatterReduce(dim, index, src, "amax")
			},
			func(old, new float64) float64 { return max(old, new) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachIndexing(t, func(r *rand.Rand, x *torch.Tensor, dim int) (*torch.Tensor, []float64) {
				index := layouts(below(r, x.Size(dim), inside(r, x, dim)...))[r.Intn(3)]
				src := layouts(small(r, x.DType(), index.Shape()...))[r.Intn(3)]
				return op.call(x, dim, index, src), placed(x, index, src, dim, op.fold)
			})
		})
	}
}

// TestScatterMean: a place with none of the source stays, and what was there counts if it is asked for.
func TestScatterMean(t *testing.T) {
	x, src := torch.NewTensor([]float32{1, 2, 3}), torch.NewTensor([]float32{5, 7, 9})
	index := torch.NewTensor([]int64{0, 0, 2})
	near(t, x.ScatterReduce(0, index, src, "mean"), 13./3, 2, 6)
	near(t, x.ScatterReduce(0, index, src, "mean", kw.IncludeSelf(false)), 6, 2, 9)
	near(t, x.ScatterReduce(0, index, src, "sum", kw.IncludeSelf(false)), 12, 2, 9)
}

func TestIndexAddBySlabs(t *testing.T) {
	for _, alpha := range []int{1, 2} {
		eachIndexing(t, func(r *rand.Rand, x *torch.Tensor, dim int) (*torch.Tensor, []float64) {
			ids := below(r, x.Size(dim), 5)
			shape := with(x.Shape(), dim, 5)
			src := layouts(small(r, x.DType(), shape...))[r.Intn(3)]
			wide := make([]int, len(shape))
			for d := range wide {
				wide[d] = 1
			}
			index := ids.Reshape(with(wide, dim, 5)...).Expand(shape...)
			want := placed(x, index, src, dim, func(old, new float64) float64 { return old + float64(alpha)*new })
			return x.IndexAdd(dim, ids, src, kw.Alpha(alpha)), want
		})
	}
}

// TestIndexByTensors: positions of one and of two dimensions are read, stored and added to, in order.
func TestIndexByTensors(t *testing.T) {
	for name, op := range map[string]func(x *torch.Tensor, at []*torch.Tensor, src *torch.Tensor) *torch.Tensor{
		"index": func(x *torch.Tensor, at []*torch.Tensor, _ *torch.Tensor) *torch.Tensor { return x.Index(at) },
		"index_put": func(x *torch.Tensor, at []*torch.Tensor, src *torch.Tensor) *torch.Tensor {
			return x.IndexPut(at, src)
		},
		"index_put, adding": func(x *torch.Tensor, at []*torch.Tensor, src *torch.Tensor) *torch.Tensor {
			return x.IndexPut(at, src, kw.Accumulate(true))
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachIndexing(t, func(r *rand.Rand, x *torch.Tensor, dim int) (*torch.Tensor, []float64) {
				second := (dim + 1) % len(x.Shape())
				at := make([]*torch.Tensor, len(x.Shape()))
				at[dim] = below(r, x.Size(dim), 2, 3)
				at[second] = below(r, x.Size(second), 3)
				src := layouts(small(r, x.DType(), x.Index(at).Shape()...))[r.Intn(3)]
				got := op(x, at, src)
				a, s := nestedOf(x), src.Float64s()
				if name == "index" {
					s = got.Float64s()
				}
				n := 0
				for _, ix := range pickedIndices(x.Shape(), at) {
					p := a.place(ix)
					switch name {
					case "index":
						if !sameNumbers(s[n:n+1], a.data[p:p+1]) {
							t.Fatalf("%v is %v, want %v", ix, s[n], a.data[p])
						}
					case "index_put":
						a.data[p] = s[n]
					default:
						a.data[p] += s[n]
					}
					n++
				}
				if name == "index" {
					return got, s
				}
				return got, a.data
			})
		})
	}
}

// pickedIndices are the multi-indices of x that at picks, in the order of the result: the picked dimensions stand
// together, where the first of them is, or in front where another one lies between them.
func pickedIndices(shape []int, at []*torch.Tensor) [][]int {
	wide := make([][]int64, len(at))
	first, last, count := -1, -1, 0
	var picked []int
	for d, a := range at {
		if a == nil {
			continue
		}
		if first < 0 {
			first = d
		}
		last = d
		count++
		if len(a.Shape()) > len(picked) {
			picked = a.Shape()
		}
	}
	for d, a := range at {
		if a != nil {
			wide[d] = a.Expand(picked...).Int64s()
		}
	}
	if last-first+1 != count {
		first = 0
	}
	var rest []int
	for d, a := range at {
		if a == nil {
			rest = append(rest, d)
		}
	}
	var order []int // dimensions of the result: -1 is all picked places
	for _, d := range rest {
		if len(order) == first {
			order = append(order, -1)
		}
		order = append(order, d)
	}
	if len(order) <= first || !slices.Contains(order, -1) {
		order = append(order, -1)
	}
	sizes := make([]int, len(order))
	for i, d := range order {
		if d < 0 {
			for _, w := range wide {
				sizes[i] = max(sizes[i], len(w))
			}
			continue
		}
		sizes[i] = shape[d]
	}
	var out [][]int
	for _, ix := range indices(sizes) {
		full := make([]int, len(shape))
		for i, d := range order {
			if d >= 0 {
				full[d] = ix[i]
				continue
			}
			for e, w := range wide {
				if w != nil {
					full[e] = int(w[ix[i]])
				}
			}
		}
		out = append(out, full)
	}
	return out
}

// TestNonzeroByIndices: positions, columns and masks come in row-major order.
func TestNonzeroByIndices(t *testing.T) {
	eachIndexing(t, func(_ *rand.Rand, x *torch.Tensor, _ int) (*torch.Tensor, []float64) {
		var want []float64
		a := nestedOf(x)
		for n, ix := range indices(x.Shape()) {
			if a.data[n] != 0 {
				for _, i := range ix {
					want = append(want, float64(i))
				}
			}
		}
		var chosen []float64
		for _, v := range a.data {
			if v > 3 {
				chosen = append(chosen, v)
			}
		}
		if got := x.MaskedSelect(x.Gt(3)).Float64s(); !sameNumbers(got, chosen) {
			t.Fatalf("masked_select: %v, want %v", got, chosen)
		}
		return x.Nonzero(), want
	})
}

// TestPositionsOutside: each operator refuses a position behind the end, by its name for it, also where it is not the first of a line.
func TestPositionsOutside(t *testing.T) {
	x, index := torch.Ones(3, 4), torch.NewTensor([][]int64{{0, 1}, {2, 4}})
	ids := torch.NewTensor([]int64{0, 4})
	for name, c := range map[string]struct {
		f    func()
		want string
	}{
		"gather":      {func() { x.Gather(1, index) }, "index 4 is out of bounds for dimension 1 with size 4"},
		"scatter":     {func() { x.Scatter(1, index, 1.0) }, "index 4 is out of bounds for dimension 1 with size 4"},
		"scatter_add": {func() { x.ScatterAdd(1, index, x) }, "index 4 is out of bounds for dimension 1 with size 4"},
		"select":      {func() { x.IndexSelect(1, ids) }, "index out of range in self"},
		"index_add":   {func() { x.IndexAdd(1, ids, torch.Ones(3, 2)) }, "index out of range in self"},
		"index":       {func() { x.Index([]*torch.Tensor{nil, ids}) }, "index 4 is out of bounds for dimension 1 with size 4"},
	} {
		if got := refusedWith(c.f); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func refusedWith(f func()) (text string) {
	defer func() { text = fmt.Sprint(recover()) }()
	f()
	return ""
}
