package backends

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"tcdbg/graph"
	"tcdbg/inductor"
	"tcdbg/internal/test"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
	"tcdbg/tracer"
)

// This file compares transposed convolutions and those of three dimensions, which the template
// computes as convolutions of images, with eager.

// spaceCase is a convolution over any number of dimensions: sizes of image and kernel, then a number for each dimension.
type spaceCase struct {
	n, in, out                       int
	size, kernel                     []int
	stride, pad, dilation, outputPad []int
	transposed                       bool
}

var spaceCases = []spaceCase{
	// transposed: steps of one, with no padding, some, and more than the kernel reaches
	{2, 6, 9, []int{5, 7}, []int{4, 4}, []int{1, 1}, []int{0, 0}, []int{1, 1}, []int{0, 0}, true},
	{2, 34, 40, []int{12, 13}, []int{3, 3}, []int{1, 1}, []int{1, 1}, []int{1, 1}, []int{0, 0}, true},
	{1, 5, 4, []int{6, 7}, []int{2, 3}, []int{1, 1}, []int{2, 3}, []int{1, 1}, []int{0, 0}, true},
	{1, 3, 5, []int{6, 5}, []int{1, 1}, []int{1, 1}, []int{0, 0}, []int{1, 1}, []int{0, 0}, true},
	// steps: every phase has taps, some have none; the last rows are reached by no tap
	{2, 20, 17, []int{6, 5}, []int{4, 4}, []int{2, 2}, []int{1, 1}, []int{1, 1}, []int{0, 0}, true},
	{2, 33, 70, []int{9, 8}, []int{3, 3}, []int{2, 2}, []int{1, 1}, []int{1, 1}, []int{1, 1}, true},
	{1, 7, 6, []int{5, 4}, []int{2, 2}, []int{2, 2}, []int{0, 0}, []int{1, 1}, []int{0, 1}, true},
	{1, 3, 4, []int{4, 5}, []int{2, 1}, []int{3, 4}, []int{0, 0}, []int{1, 1}, []int{2, 3}, true},
	{2, 3, 4, []int{4, 5}, []int{5, 6}, []int{3, 2}, []int{4, 2}, []int{1, 1}, []int{0, 1}, true},
	// dilation, which shares a factor with the step or not
	{1, 4, 5, []int{6, 7}, []int{3, 2}, []int{1, 1}, []int{1, 0}, []int{2, 3}, []int{0, 0}, true},
	{1, 4, 5, []int{5, 6}, []int{3, 4}, []int{2, 3}, []int{1, 2}, []int{3, 2}, []int{1, 2}, true},
	{2, 4, 5, []int{5, 6}, []int{3, 3}, []int{4, 2}, []int{3, 0}, []int{6, 4}, []int{5, 3}, true},
	// so many phases that they are loops, with some positions that only the first have
	{2, 3, 4, []int{4, 3}, []int{5, 6}, []int{5, 4}, []int{0, 0}, []int{1, 1}, []int{0, 0}, true},
	{1, 3, 5, []int{4, 3}, []int{7, 5}, []int{5, 5}, []int{2, 0}, []int{1, 1}, []int{1, 2}, true},
	{1, 3, 40, []int{2, 3}, []int{10, 11}, []int{9, 8}, []int{3, 1}, []int{1, 1}, []int{4, 0}, true},
	// one dimension
	{2, 6, 5, []int{20}, []int{4}, []int{2}, []int{1}, []int{1}, []int{1}, true},
	{1, 40, 33, []int{17}, []int{3}, []int{1}, []int{2}, []int{2}, []int{0}, true},
	{2, 6, 5, []int{20}, []int{4}, []int{2}, []int{1}, []int{3}, nil, false},
	// three dimensions: padded or not, more than the kernel reaches, steps, dilation, layers of one
	{2, 3, 18, []int{6, 7, 8}, []int{3, 3, 3}, []int{1, 1, 1}, []int{1, 1, 1}, []int{1, 1, 1}, nil, false},
	{2, 16, 33, []int{5, 12, 13}, []int{3, 3, 3}, []int{1, 1, 1}, []int{1, 1, 1}, []int{1, 1, 1}, nil, false},
	{1, 2, 5, []int{9, 6, 7}, []int{3, 2, 3}, []int{2, 1, 2}, []int{0, 1, 0}, []int{1, 2, 1}, nil, false},
	{2, 4, 3, []int{4, 5, 6}, []int{2, 3, 1}, []int{3, 2, 1}, []int{4, 2, 0}, []int{2, 1, 1}, nil, false},
	{2, 5, 6, []int{4, 5, 6}, []int{1, 1, 1}, []int{1, 1, 1}, []int{0, 0, 0}, []int{1, 1, 1}, nil, false},
	{1, 5, 6, []int{6, 4, 4}, []int{6, 4, 4}, []int{1, 1, 1}, []int{0, 0, 0}, []int{1, 1, 1}, nil, false},
	{1, 3, 4, []int{8, 8, 6}, []int{4, 2, 2}, []int{4, 2, 2}, []int{0, 0, 0}, []int{1, 1, 1}, nil, false},
	{1, 2, 3, []int{20, 4, 4}, []int{18, 2, 2}, []int{1, 1, 1}, []int{3, 0, 0}, []int{1, 1, 1}, nil, false},
	// both
	{2, 4, 5, []int{4, 5, 3}, []int{3, 3, 3}, []int{1, 1, 1}, []int{1, 0, 1}, []int{1, 1, 1}, []int{0, 0, 0}, true},
	{1, 4, 5, []int{4, 5, 3}, []int{2, 4, 3}, []int{2, 2, 2}, []int{0, 1, 1}, []int{1, 1, 1}, []int{1, 0, 1}, true},
	{2, 3, 4, []int{3, 4, 3}, []int{2, 1, 3}, []int{3, 1, 2}, []int{1, 0, 2}, []int{1, 1, 3}, []int{2, 0, 1}, true},
}

func (c spaceCase) String() string {
	kind := "plain"
	if c.transposed {
		kind = "transposed"
	}
	return fmt.Sprintf("%s %dx%dx%v by %dx%v stride %v pad %v dilation %v output padding %v", kind, c.n, c.in, c.size, c.out, c.kernel,
		c.stride, c.pad, c.dilation, c.outputPad)
}

// how are the arguments after the tensors.
func (c spaceCase) how() []ops.Arg {
	extra := c.outputPad
	if extra == nil {
		extra = make([]int, len(c.size))
	}
	return []ops.Arg{ints(c.stride...), ints(c.pad...), ints(c.dilation...), c.transposed, ints(extra...), sym.C(1)}
}

// operands are an image and a weight.
func (c spaceCase) operands(d ops.DType) (x, w *torch.Tensor) {
	first, second := c.out, c.in
	if c.transposed {
		first, second = c.in, c.out
	}
	x = filled(ops.Float32, 1, append([]int{c.n, c.in}, c.size...)...).To(d)
	return x, filled(ops.Float32, 2, append([]int{first, second}, c.kernel...)...).To(d)
}

// graph has the convolution with and without bias, and its gradients.
func (c spaceCase) graph(d ops.DType, param, grads bool) (g *testGraph, outs []ops.Value, positions int) {
	g = newTestGraph("space")
	add := g.input
	if param {
		add = g.param
	}
	xs, ws := c.operands(d)
	x, w := g.input(xs), add(ws)
	how := c.how()
	plain := g.Emit(ops.Convolution, append([]ops.Arg{x, w, nil}, how...)...)
	biased := g.Emit(ops.Convolution, append([]ops.Arg{x, w, add(filled(ops.Float32, 3, c.out).To(d))}, how...)...)
	outs = []ops.Value{plain, g.Emit(ops.Relu, biased)}
	shape := constants(plain.TensorMeta().Shape)
	positions = c.n
	for i := range c.size {
		positions *= max(shape[2+i], c.size[i])
	}
	if grads {
		dy := g.input(filled(ops.Float32, 4, shape...).To(d))
		outs = append(outs, g.EmitN(ops.ConvolutionBackward, append(append([]ops.Arg{dy, x, w}, how...), []bool{true, true})...)...)
	}
	return g, outs, positions
}

func constants(shape []sym.Int) []int {
	out := make([]int, len(shape))
	for i, s := range shape {
		n, _ := s.IsConst()
		out[i] = int(n)
	}
	return out
}

// TestConvolutionsAsImages: none of them is an eager call, nor are their gradients.
func TestConvolutionsAsImages(t *testing.T) {
	for _, c := range test.Some(t, 8, spaceCases) {
		t.Run(c.String(), func(t *testing.T) {
			for _, param := range []bool{true, false} {
				g, outs, positions := c.graph(ops.Float32, param, !param)
				m := g.outputs(outs...)
				if p := programOf(t, m); hasExterns(p) {
					t.Fatalf("eager calls:\n%s", p.Wrapper)
				}
				everywhere(t, m, g.in, 1e-4+1e-5*math.Sqrt(float64(positions)))
			}
		})
	}
}

// TestHalfConvolutionsAsImages: in half precision they are computed in float32 and rounded once.
func TestHalfConvolutionsAsImages(t *testing.T) {
	for _, c := range test.Some(t, 3, spaceCases) {
		t.Run(c.String(), func(t *testing.T) {
			g, outs, positions := c.graph(ops.BFloat16, false, true)
			m := g.outputs(outs...)
			if p := programOf(t, m); hasExterns(p) {
				t.Fatalf("eager calls:\n%s", p.Wrapper)
			}
			exact, wanted, _ := c.graph(ops.Float64, false, true)
			for i, v := range g.in {
				exact.in[i] = v.(*torch.Tensor).To(ops.Float64)
			}
			want := exact.outputs(wanted...).Run(exact.in)
			eachExecutor(t, func(t *testing.T, b tracer.Backend) {
				run, err := b.Compile(&tracer.Request{Module: m, Example: g.in})
				if err != nil {
					t.Fatal(err)
				}
				for i, got := range run(g.in) {
					if err := roundedOnce(got.(*torch.Tensor), want[i].(*torch.Tensor), positions+c.in*9+c.out*9); err != nil {
						t.Errorf("result %d: %v", i, err)
					}
				}
			})
		})
	}
}

// TestVolumesInGroupsStayEager: they are eager calls, forward and backward, for a reason.
func TestVolumesInGroupsStayEager(t *testing.T) {
	for _, transposed := range []bool{true, false} {
		g := newTestGraph("groups")
		one, none := ints(1, 1, 1), ints(0, 0, 0)
		x, w := g.input(filled(ops.Float32, 1, 2, 4, 3, 4, 5)), g.input(filled(ops.Float32, 2, 4, 2, 2, 2, 2))
		y := g.Emit(ops.Convolution, x, w, nil, one, none, one, transposed, none, sym.C(2))
		dy := g.input(filled(ops.Float32, 3, constants(y.TensorMeta().Shape)...))
		grads := g.EmitN(ops.ConvolutionBackward, dy, x, w, one, none, one, transposed, none, sym.C(2), []bool{true, true})
		m := g.outputs(append(grads, y)...)
		p := programOf(t, m)
		if _, externs := calls(p); externs != 2 || strings.Count(p.Wrapper, "in groups, convolutions of three dimensions") != 2 {
			t.Errorf("transposed %v: %d eager calls:\n%s", transposed, externs, p.Wrapper)
		}
		everywhere(t, m, g.in, 1e-4)
	}
}

// TestConvolutionsAsImagesBNReLU: a norm in evaluation goes into the weight, whose channels are its second dimension where the
// convolution is transposed, and what follows runs in few kernels.
func TestConvolutionsAsImagesBNReLU(t *testing.T) {
	for _, c := range []struct {
		spaceCase
		kernels int
	}{
		{spaceCase{2, 6, 9, []int{5, 7}, []int{3, 3}, []int{1, 1}, []int{1, 1}, []int{1, 1}, []int{0, 0}, true}, 1},
		{spaceCase{2, 6, 40, []int{5, 7}, []int{4, 4}, []int{2, 2}, []int{1, 1}, []int{1, 1}, []int{0, 0}, true}, 6},
		{spaceCase{2, 6, 3, []int{5, 7}, []int{4, 4}, []int{2, 2}, []int{1, 1}, []int{1, 1}, []int{0, 0}, true}, 3},
		{spaceCase{2, 6, 9, []int{5, 4, 7}, []int{3, 3, 3}, []int{1, 1, 1}, []int{1, 1, 1}, []int{1, 1, 1}, nil, false}, 8},
	} {
		g := newTestGraph("block")
		xs, ws := c.operands(ops.Float32)
		variance := filled(ops.Float32, 4, c.out)
		for i := range c.out {
			putElement(variance.Storage().Bytes(), ops.Float32, i, 0.5+float64(i))
		}
		x, w, gamma, v := g.input(xs), g.param(ws), g.param(filled(ops.Float32, 5, c.out)), g.param(variance)
		y := g.Emit(ops.Convolution, append([]ops.Arg{x, w, gamma}, c.how()...)...)
		m := g.outputs(g.Emit(ops.Relu, g.Emit(ops.BatchNorm, y, gamma, v, gamma, gamma, false, 0.1, 1e-5)))
		p := programOf(t, m, false, true, true, true)
		var names []string
		for _, k := range p.Provenance.Kernels {
			if !k.Hoisted {
				names = append(names, k.Name)
			}
		}
		if kernels := len(names); kernels > c.kernels {
			t.Errorf("%v: %d kernels, want %d:\n%s", c, kernels, c.kernels, strings.Join(names, " "))
		}
		everywhere(t, m, g.in, 1e-4)
	}
}

// TestConvolutionsAsImagesOfViews reads images and weights through strides, of pixels whose channels lie side by side too, and of
// any number of images.
func TestConvolutionsAsImagesOfViews(t *testing.T) {
	g := newTestGraph("views")
	order := func(v ops.Value, dims ...int) ops.Value { return g.Emit(ops.Permute, v, ints(dims...)) }
	last := order(g.input(filled(ops.Float32, 1, 2, 5, 6, 4)), 0, 3, 1, 2)
	w := order(g.input(filled(ops.Float32, 2, 3, 4, 3, 2)), 1, 0, 3, 2)
	up := g.Emit(ops.Convolution, last, w, nil, ints(2, 1), ints(1, 0), ints(1, 1), true, ints(0, 0), sym.C(1))
	volume := order(g.input(filled(ops.Float32, 3, 2, 5, 6, 4, 7)), 0, 3, 1, 2, 4)
	v := order(g.input(filled(ops.Float32, 4, 2, 3, 4, 3, 2)), 1, 2, 3, 4, 0)
	deep := g.Emit(ops.Convolution, volume, v, nil, ints(1, 1, 1), ints(1, 1, 1), ints(1, 1, 1), false, ints(0, 0, 0), sym.C(1))
	m := g.outputs(up, deep)
	if p := programOf(t, m); hasExterns(p) {
		t.Fatalf("eager calls:\n%s", p.Wrapper)
	}
	everywhere(t, m, g.in, 1e-4)
}

// TestConvolutionsAsImagesOfAnyBatch: one program serves every batch.
func TestConvolutionsAsImagesOfAnyBatch(t *testing.T) {
	for _, c := range []spaceCase{spaceCases[4], spaceCases[18]} {
		g := newDynamicGraph(2, 9)
		shape := func(first sym.Int, rest ...int) []sym.Int { return append([]sym.Int{first}, sym.Consts(rest)...) }
		_, ws := c.operands(ops.Float32)
		x := g.input(false, shape(g.s0, append([]int{c.in}, c.size...)...)...)
		w := g.input(true, sym.Consts(ws.Shape())...)
		g.G.SetOutput([]ops.Arg{g.Emit(ops.Convolution, append([]ops.Arg{x, w, nil}, c.how()...)...)})
		m := graph.NewModule(g.G)
		if p := programOf(t, m); hasExterns(p) {
			t.Fatalf("eager calls:\n%s", p.Wrapper)
		}
		for _, lanes := range widthsOf(t) {
			run, err := inductorAt(t, lanes).Compile(&tracer.Request{Module: m})
			if err != nil {
				t.Fatal(err)
			}
			for _, batch := range []int{2, 1, 5} {
				in := []torch.Value{filled(ops.Float32, batch, append([]int{batch, c.in}, c.size...)...), ws}
				if err := sameValues(run(in), m.Run(in), 1e-4); err != nil {
					t.Errorf("%v, %d lanes, batch %d: %v", c, lanes, batch, err)
				}
			}
		}
	}
}

func hasExterns(p *inductor.Program) bool {
	_, externs := calls(p)
	return externs > 0
}
