package backends

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"tcdbg/inductor"
	"tcdbg/internal/test"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
	"tcdbg/torch/kw"
	"tcdbg/tracer"
)

// halfShape is a product of rows x k and k x cols.
type halfShape struct{ rows, k, cols int }

// halfShapes have tails in all directions, sums of one slice and of several.
func halfShapes() []halfShape {
	var out []halfShape
	for rows := 1; rows <= 70; rows += 1 + rows/9 {
		out = append(out, halfShape{rows, 1 + (rows*13)%67, 1 + (rows*29)%83})
	}
	return append(out,
		halfShape{1, 1, 1}, halfShape{1, 900, 65}, halfShape{3, 801, 64}, halfShape{14, 32, 32}, halfShape{17, 1537, 33},
		halfShape{29, 770, 96}, halfShape{70, 63, 128},
	)
}

// dotProduct reports whether the processor has the dot product of bfloat16.
func dotProduct() bool {
	cpu := thisCPU()
	return cpu.Lanes == 16 && strings.Contains(cpu.Flags, "avx512_bf16")
}

// halfSets are the ways to compute products of half precision.
func halfSets(t *testing.T, f func(t *testing.T, b tracer.Backend)) {
	eachExecutor(t, f)
	ways := map[BFloatUse]string{Fastest: "as is fastest", AnyDot: "dot product", Widened: "float32", MadeUpTiles: "tiles in C"}
	for use, name := range ways {
		t.Run("this processor, "+name, func(t *testing.T) {
			needCompiler(t)
			if use == MadeUpTiles && !dotProduct() {
				t.Skip("tiles in C need a processor with the dot product of bfloat16")
			}
			f(t, &inductorBackend{NewSet(Config{CacheDir: sharedCache, Threads: 2, BFloat: use, Stderr: t.Output()})})
		})
	}
}

// TestHalfProducts compares products of half precision with sums in float64 that are rounded once: of packed
// weights and of activations, however they lie, alone and with an epilogue.
func TestHalfProducts(t *testing.T) {
	halfSets(t, func(t *testing.T, b tracer.Backend) {
		for _, d := range []ops.DType{ops.BFloat16, ops.Float16} {
			for _, s := range test.Some(t, 12, halfShapes()) {
				if err := halfProducts(b, d, s); err != nil {
					t.Errorf("%s %dx%dx%d: %v", d.Short(), s.rows, s.k, s.cols, err)
				}
			}
		}
	})
}

// TestHalfProductsReadNothingElse: what an earlier call left in memory is no part of a product, of whose rows some
// are fewer than a tile's.
func TestHalfProductsReadNothingElse(t *testing.T) {
	halfSets(t, func(t *testing.T, b tracer.Backend) {
		nan := torch.Full([]int{70, 512}, math.NaN(), kw.Dtype(torch.Bfloat16))
		g := newTestGraph("nan")
		m := g.outputs(g.Emit(ops.Mm, g.input(nan), g.input(nan.Transpose(0, 1).Contiguous())))
		fill, err := b.Compile(&tracer.Request{Module: m, Example: g.in})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range test.Some(t, 2, []halfShape{{3, 40, 5}, {1, 3, 70}, {2, 770, 33}, {4, 65, 64}, {20, 40, 40}}) {
			fill(g.in)
			if err := halfProducts(b, torch.Bfloat16, s); err != nil {
				t.Errorf("%dx%dx%d: %v", s.rows, s.k, s.cols, err)
			}
		}
	})
}

func halfProducts(b tracer.Backend, d ops.DType, s halfShape) error {
	half := func(seed int, shape ...int) *torch.Tensor { return filled(ops.Float32, seed, shape...).To(d) }
	x, w, bias := half(1, s.rows, s.k), half(2, s.cols, s.k), half(3, s.cols)
	plain, turned := half(4, s.k, s.cols), half(5, s.k, s.rows)
	batch, other := half(6, 3, s.rows, s.k), half(7, 3, s.cols, s.k)
	g := newTestGraph("half")
	px := g.input(x)
	turn := func(v ops.Value) ops.Value { return g.Emit(ops.Transpose, v, sym.C(-1), sym.C(-2)) }
	m := g.outputs(
		g.Emit(ops.Relu, g.Emit(ops.Linear, px, g.param(w), g.param(bias))),
		g.Emit(ops.Linear, px, g.input(w), g.input(bias)),
		g.Emit(ops.Mm, px, g.param(plain)),
		g.Emit(ops.Mm, px, g.input(plain)),
		g.Emit(ops.Mm, turn(g.input(turned)), g.param(plain)),
		g.Emit(ops.Bmm, g.input(batch), turn(g.input(other))),
	)
	run, err := b.Compile(&tracer.Request{Module: m, Example: g.in})
	if err != nil {
		return err
	}
	wt, tt := w.Transpose(0, 1), turned.Transpose(0, 1)
	want := []*torch.Tensor{
		exactProduct(x, wt, bias).Relu(), exactProduct(x, wt, bias), exactProduct(x, plain, nil), exactProduct(x, plain, nil),
		exactProduct(tt, plain, nil), exactProduct(batch, other.Transpose(1, 2), nil),
	}
	for range 2 { // the second call finds the weights packed
		for i, got := range run(g.in) {
			if err := roundedOnce(got.(*torch.Tensor), want[i], s.k); err != nil {
				return fmt.Errorf("product %d: %w", i, err)
			}
		}
	}
	return nil
}

// exactProduct is x @ y + bias in float64.
func exactProduct(x, y, bias *torch.Tensor) *torch.Tensor {
	out := x.To(torch.Float64).Matmul(y.To(torch.Float64))
	if bias != nil {
		out = out.Add(bias.To(torch.Float64))
	}
	return out
}

// roundedOnce wants got to be the number of its type next to want, with room for what a sum of k products of
// float32 may be off: the numbers have no more than 3 in front.
func roundedOnce(got, want *torch.Tensor, k int) error {
	step := 0x1p-8
	if got.DType() == ops.Float16 {
		step = 0x1p-11
	}
	xs, ys := elements(got.To(torch.Float64)), elements(want)
	for i, x := range xs {
		y := ys[i]
		if room := math.Abs(y)*step*1.001 + 9*float64(k)*0x1p-23; !(math.Abs(x-y) <= room) {
			return fmt.Errorf("element %d is %v, not %v", i, x, y)
		}
	}
	return nil
}

// TestBFloatIsChosen: where the processor has the dot product of bfloat16, or tiles, products are described by them if
// they are asked for or fast there, and by another type where they are left out.
func TestBFloatIsChosen(t *testing.T) {
	needCompiler(t)
	if !dotProduct() {
		t.Skip("this processor has no AVX512-BF16")
	}
	for _, use := range []BFloatUse{Fastest, AnyDot, Widened, MadeUpTiles} {
		e := NewSet(Config{CacheDir: sharedCache, Threads: 2, BFloat: use}).engine()
		if e.err != nil {
			t.Fatal(e.err)
		}
		if e.rt.bfloat&hasDot == 0 {
			t.Fatal("the runtime library knows of no dot product")
		}
		g := newTestGraph("dot")
		m := g.outputs(g.Emit(ops.Mm, g.input(filled(ops.BFloat16, 1, 20, 30)), g.param(filled(ops.BFloat16, 2, 30, 40))))
		p, err := inductor.Compile(m.G, inductor.Options{Machine: e.machine(), Cores: 1, Params: []bool{false, true}})
		if err != nil {
			t.Fatal(err)
		}
		want := "bfloat16 in float32"
		switch {
		case use == MadeUpTiles, use == Fastest && e.rt.bfloat&hasTiles != 0:
			want = "bfloat16 tiles"
		case use == AnyDot, use == Fastest && e.rt.bfloat&fastDot != 0:
			want = "bfloat16 dot product"
		}
		if n := strings.Count(strings.Join(p.Shards, ""), want); n != 2 { // the packing and the product
			t.Errorf("%q stands %d times in the program, not twice", want, n)
		}
	}
}
