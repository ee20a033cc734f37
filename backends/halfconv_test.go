package backends

import (
	"strings"
	"testing"

	"tcdbg/inductor"
	"tcdbg/inductor/codegen/cpp"
	"tcdbg/inductor/tune"
	"tcdbg/internal/test"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
	"tcdbg/tracer"
)

// This file tests convolutions of half precision, which are computed in float32 and rounded once.

// TestHalfConvolutions compares convolutions and their gradients with those of float64, rounded once; none is an eager call.
func TestHalfConvolutions(t *testing.T) {
	cases := append(test.Some(t, 4, convCases), test.Some(t, 3, gradCases)...)
	for _, c := range cases {
		t.Run(c.String(), func(t *testing.T) {
			for _, d := range []ops.DType{ops.BFloat16, ops.Float16} {
				c.inHalf(t, d)
			}
		})
	}
}

func (c convCase) inHalf(t *testing.T, d ops.DType) {
	t.Helper()
	half := func(seed int, shape ...int) *torch.Tensor { return filled(ops.Float32, seed, shape...).To(d) }
	x, w, bias := half(1, c.n, c.in, c.h, c.w), half(2, c.out, c.in/c.groups, c.kh, c.kw), half(3, c.out)
	how := []ops.Arg{c.stride, c.pad, c.dil, false, ints(0, 0), sym.C(c.groups)}
	exact := func(op ops.ID, in ...*torch.Tensor) []*torch.Tensor {
		var args []ops.Arg
		for _, v := range in {
			args = append(args, v.To(torch.Float64))
		}
		if op == ops.Convolution && len(in) == 2 {
			args = append(args, nil)
		}
		args = append(args, how...)
		if op == ops.ConvolutionBackward {
			args = append(args, []bool{true, true})
		}
		var out []*torch.Tensor
		for _, v := range torch.CallUntaped(op, args) {
			out = append(out, v.(*torch.Tensor))
		}
		return out
	}
	plain := exact(ops.Convolution, x, w)[0]
	dy := half(4, plain.Shape()...)
	want := append([]*torch.Tensor{plain, exact(ops.Convolution, x, w, bias)[0].Relu()}, exact(ops.ConvolutionBackward, dy, x, w)...)
	sums := []int{c.in * c.kh * c.kw, c.in * c.kh * c.kw, c.out * c.kh * c.kw, c.n * dy.Shape()[2] * dy.Shape()[3]}

	g := newTestGraph("halfconv")
	px, pw, pdy := g.input(x), g.param(w), g.input(dy)
	call := func(bias ops.Arg) ops.Value {
		return g.Emit(ops.Convolution, append([]ops.Arg{px, pw, bias}, how...)...)
	}
	outs := []ops.Value{call(nil), g.Emit(ops.Relu, call(g.param(bias)))}
	outs = append(outs, g.EmitN(ops.ConvolutionBackward, append(append([]ops.Arg{pdy, px, pw}, how...), []bool{true, true})...)...)
	m := g.outputs(outs...)
	if _, externs := calls(programOf(t, m)); externs > 1 || externs == 1 && c.groups == 1 {
		t.Errorf("%s: %d eager calls", d.Short(), externs)
	}
	eachExecutor(t, func(t *testing.T, b tracer.Backend) {
		run, err := b.Compile(&tracer.Request{Module: m, Example: g.in})
		if err != nil {
			t.Fatal(err)
		}
		for i, got := range run(g.in) {
			if err := roundedOnce(got.(*torch.Tensor), want[i], sums[i]); err != nil {
				t.Errorf("%s, result %d: %v", d.Short(), i, err)
			}
		}
	})
}

// TestHalfImagesInBlocks: what lies between convolutions of half precision, a sum with the image before them among it, has its
// channels side by side, as the images do that they read, and relu rounds nothing that is rounded.
func TestHalfImagesInBlocks(t *testing.T) {
	g := newTestGraph("residual")
	conv := func(x ops.Value, seed, in, out int) ops.Value {
		w := g.param(filled(ops.BFloat16, seed, out, in, 1, 1))
		return g.Emit(ops.Convolution, x, w, nil, ints(1, 1), ints(0, 0), ints(1, 1), false, ints(0, 0), sym.C(1))
	}
	x := g.Emit(ops.Relu, conv(g.input(filled(ops.BFloat16, 1, 2, 32, 9, 9)), 2, 32, 64))
	y := g.Emit(ops.Relu, g.Emit(ops.Add, conv(conv(x, 3, 64, 32), 4, 32, 64), x))
	m := g.outputs(conv(y, 5, 64, 32))
	opt := inductor.Options{Machine: cpp.Machine{Lanes: 16, Cache: 1 << 20}, Cores: 1, Params: paramInputs(m.G, nil, nil)}
	opt.Tuned.Layout = tune.LayoutBlocks
	p, err := inductor.Compile(m.G, opt)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(p.Shards, "")
	at := strings.Index(text, "fused_convolution_to_add_relu")
	if at < 0 {
		t.Fatalf("no kernel of the sum:\n%s", text)
	}
	text = text[at:]
	text = text[:strings.Index(text, "\n}\n")]
	if strings.Contains(text, "lds_h16") || strings.Contains(text, "sts_h16") || strings.Count(text, "round_bfloat16") != 2 {
		t.Errorf("the sum reads or writes planes, or does not round twice:\n%s", text)
	}
	everywhere(t, m, g.in, 0.02)
}
