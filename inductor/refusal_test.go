package inductor

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"tcdbg/logs"
	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// This file takes away, one by one, what the scheduler names as the reason why two
// nodes are not fused, and wants them fused.

// refused is a graph in which a pair is refused, and the same without the reason.
type refused struct {
	reason, why string // why: a part of the scheduler's sentence
	make        func(b *build, with bool) []ops.Value
}

func dims(d ...int) []sym.Int { return sym.Consts(d) }

// choose is with where the reason is there, else without.
func choose[T any](there bool, with, without T) T {
	if there {
		return with
	}
	return without
}

var refusals = []refused{
	{"node2 is extern or nop", "an extern kernel is called between kernels", func(b *build, with bool) []ops.Value {
		if with {
			return []ops.Value{b.Emit(ops.Sin, b.Emit(ops.Rand, dims(8)))}
		}
		return []ops.Value{b.Emit(ops.Sin, b.Emit(ops.Cos, b.input(8)))}
	}},
	{"runs once", "one depends on parameters and constants alone", func(b *build, with bool) []ops.Value {
		w := b.add(ops.Float32, with, dims(8)...)
		return []ops.Value{b.Emit(ops.Mul, b.Emit(ops.Sin, w), b.input(8))}
	}},
	{"template epilogue not satisfied", "the option epilogue_fusion is off", func(b *build, with bool) []ops.Value {
		b.noEpilogue = with
		return []ops.Value{b.Emit(ops.Relu, b.Emit(ops.Mm, b.input(8, 8), b.input(8, 8)))}
	}},
	{"prologue fusion turned off", "the template reads its operands", func(b *build, with bool) []ops.Value {
		if with {
			return []ops.Value{b.Emit(ops.Mm, b.Emit(ops.Relu, b.input(8, 8)), b.input(8, 8))}
		}
		return []ops.Value{b.Emit(ops.Relu, b.Emit(ops.Mm, b.input(8, 8), b.input(8, 8)))}
	}},
	{"template epilogue not satisfied", "both are templates", func(b *build, with bool) []ops.Value {
		x := b.input(8, 8)
		y := b.Emit(ops.Mm, x, b.input(8, 8))
		return []ops.Value{y, b.Emit(choose(with, ops.Mm, ops.Mul), choose[ops.Value](with, x, y), b.input(8, 8))}
	}},
	{"template epilogue not satisfied", "both are templates", func(b *build, with bool) []ops.Value {
		x := b.input(8, 8)
		y, z := b.Emit(ops.Mm, x, b.input(8, 8)), ops.Value(x)
		if with {
			z = b.Emit(ops.Mm, x, b.input(8, 8)) // of which the sum is an epilogue that reads the first product
		}
		return []ops.Value{y, b.Emit(ops.Add, z, y)}
	}},
	{"template epilogue not satisfied", "an epilogue must read the template's result", func(b *build, with bool) []ops.Value {
		x := b.input(8, 8)
		y := b.Emit(ops.Mm, x, b.input(8, 8))
		return []ops.Value{y, b.Emit(ops.Sin, choose[ops.Value](with, x, y))}
	}},
	{"node1 must go before node2", "the second feeds the first", func(b *build, with bool) []ops.Value {
		x := b.input(8)
		p, q := b.Emit(ops.Mul, x, b.input(8)), b.Emit(ops.Cos, x)
		return []ops.Value{q, b.Emit(ops.Mul, p, choose[ops.Value](with, q, x))}
	}},
	{"exceeds max fusion", "nodes together, the limit is", func(b *build, with bool) []ops.Value {
		x := b.Emit(ops.Sin, b.input(8))
		var outs []ops.Value
		for range choose(with, 200, 20) {
			x = b.Emit(ops.Sin, x)
			outs = append(outs, x)
		}
		return outs
	}},
	{"intermediate nodes between node1 & node2", "another kernel needs the result", func(b *build, with bool) []ops.Value {
		x := b.Emit(ops.Exp, b.input(8, 8))
		y := b.Emit(ops.Cos, x)
		if with {
			y = b.EmitN(ops.Sort, x)[0]
		}
		return []ops.Value{b.Emit(ops.Add, x, y)}
	}},
	{"Nodes are too far away", "nodes lie between their ends", func(b *build, with bool) []ops.Value {
		x := b.input(8, 8)
		first := b.Emit(ops.Sin, x)
		var v ops.Value = b.input(4, 4)
		for range choose(with, 70, 3) {
			v = b.Emit(ops.Mm, v, b.input(4, 4))
		}
		return []ops.Value{first, v, b.Emit(ops.Exp, x)}
	}},
	{"template epilogue not satisfied", "the epilogue reduces", func(b *build, with bool) []ops.Value {
		y := b.Emit(ops.Mm, b.input(8, 8), b.input(8, 8))
		if with {
			return []ops.Value{b.Emit(ops.Sum, y, dims(1))}
		}
		return []ops.Value{b.Emit(ops.Sin, y)}
	}},
	{"template epilogue not satisfied", "the update of an argument runs through memory", func(b *build, with bool) []ops.Value {
		w, y := b.input(8, 8), b.Emit(ops.Mm, b.input(8, 8), b.input(8, 8))
		if with {
			b.replaces = map[int]int{1: 0}
		}
		return []ops.Value{y, b.Emit(ops.Sub, w, b.Emit(ops.Mul, y, 0.1))}
	}},
	{"template epilogue not satisfied", "the update of an argument runs through memory", func(b *build, with bool) []ops.Value {
		w, y := b.input(8, 8), b.Emit(ops.Mm, b.input(8, 8), b.input(8, 8)) // a weight that decays by itself, as AdamW's
		if with {
			b.replaces = map[int]int{1: 0}
		}
		return []ops.Value{y, b.Emit(ops.Sub, b.Emit(ops.Mul, w, 0.9), b.Emit(ops.Mul, y, 0.1))}
	}},
	{"template epilogue not satisfied", "the epilogue splits the template's columns", func(b *build, with bool) []ops.Value {
		y := b.Emit(ops.Mm, b.input(8, 8), b.input(8, 8))
		if with {
			return []ops.Value{b.Emit(ops.Add, b.Emit(ops.View, y, dims(8, 2, 4)),
				b.Emit(ops.Transpose, b.input(8, 4, 2), sym.C(1), sym.C(2)))}
		}
		return []ops.Value{b.Emit(ops.Add, y, b.input(8, 8))}
	}},
	{"no shared data due to indexing mismatch", "no buffer is addressed by loops of both", func(b *build, with bool) []ops.Value {
		table, i := b.input(9, 4), b.add(ops.Int64, false, dims(3)...)
		j := i
		if with {
			j = b.add(ops.Int64, false, dims(3)...)
		}
		return []ops.Value{b.Emit(ops.Embedding, i, table), b.Emit(ops.Embedding, j, table)}
	}},
	{"no shared data due to indexing mismatch", "do not access", func(b *build, with bool) []ops.Value {
		x := b.input(4, 6)
		return []ops.Value{
			b.Emit(ops.Sin, b.Emit(ops.Slice, x, sym.C(1), sym.C(0), sym.C(4))),
			b.Emit(ops.Cos, b.Emit(ops.Slice, x, sym.C(1), sym.C(0), sym.C(choose(with, 3, 4)))),
		}
	}},
	{"memory deps did not match", "do not access", func(b *build, with bool) []ops.Value {
		y := b.Emit(ops.Sin, b.input(4, 6))
		z := y
		if with {
			z = b.Emit(ops.Slice, y, sym.C(0), sym.C(0), sym.C(2))
		}
		return []ops.Value{y, b.Emit(ops.Cos, z)}
	}},
	{"nodes numel/rnumel incompatibility", "the loops are", func(b *build, with bool) []ops.Value {
		x := b.input(8)
		return []ops.Value{b.Emit(ops.Add, x, b.input(4, 8)), b.Emit(ops.Mul, x, b.input(choose(with, 3, 4), 8))}
	}},
	{"numel/rnumel mismatch (reduce)", "a loop that is reduced in one", func(b *build, with bool) []ops.Value {
		x := b.input(8, 12)
		return []ops.Value{b.Emit(ops.Sum, x, dims(choose(with, 0, 1))), b.Emit(ops.Sum, x, dims(1))}
	}},
	{"prologue fusion only supported for pointwise nodes", "the first reduces", func(b *build, with bool) []ops.Value {
		x := b.images()
		if with {
			return []ops.Value{b.pixels(b.Emit(ops.Softmax, x, sym.C(1)))}
		}
		return []ops.Value{b.pixels(b.Emit(ops.Sigmoid, x))}
	}},
	{"template prologue can only fuse nodes with a single use into template", "is needed in memory", func(b *build, with bool) []ops.Value {
		x := b.images()
		y := b.Emit(ops.Sigmoid, x)
		return []ops.Value{b.pixels(y), b.pixels(choose(with, y, x))}
	}},
	{"prologue fusion not implemented for kernel for these inputs", "do not walk whole blocks", func(b *build, with bool) []ops.Value {
		x := b.images()
		if with {
			return []ops.Value{b.pixels(b.Emit(ops.AvgPool2d, x, dims(2, 2), dims(2, 2), dims(0, 0), false, true, nil))}
		}
		return []ops.Value{b.pixels(b.Emit(ops.Sigmoid, x))}
	}},
	{"memory deps did not match", "is written and read at different addresses", func(b *build, with bool) []ops.Value {
		x, u, v := b.input(8), b.input(8), b.input(8)
		p := b.Emit(ops.Add, b.Emit(ops.Mul, x, u), v)
		q := b.Emit(ops.Mul, b.Emit(ops.Sub, x, u), v)
		r := q
		if with {
			r = b.Emit(ops.Flip, q, dims(0))
		}
		return []ops.Value{p, q, b.Emit(ops.Mul, p, r)}
	}},
}

// images are what two convolutions make, beside each other in blocks of channels.
func (b *build) images() ops.Value {
	one := func() ops.Value {
		return b.Emit(ops.Convolution, b.input(2, 3, 8, 8), b.param(16, 3, 3, 3), nil, dims(1, 1), dims(1, 1), dims(1, 1), false,
			dims(0, 0), sym.C(1))
	}
	return b.Emit(ops.Cat, []ops.Value{one(), one()}, sym.C(1))
}

// pixels are means of the images that a convolution of one pixel makes.
func (b *build) pixels(x ops.Value) ops.Value {
	y := b.Emit(ops.Convolution, x, b.param(16, 32, 1, 1), nil, dims(1, 1), dims(0, 0), dims(1, 1), false, dims(0, 0), sym.C(1))
	return b.Emit(ops.AdaptiveAvgPool2d, y, dims(1, 1))
}

// TestEveryRefusalHasItsReason: with the reason the pair is refused for it; without
// it nothing is refused for it and nodes are fused.
func TestEveryRefusalHasItsReason(t *testing.T) {
	for _, r := range refusals {
		t.Run(r.why, func(t *testing.T) {
			left, fused := map[bool]int{}, 0
			for _, with := range []bool{true, false} {
				b := newBuild("refused")
				p := b.compile(t, r.make(b, with)...)
				left[with] = len(kernels(p))
				for _, f := range p.Fusions {
					if f.Fused && !with {
						fused++
					}
				}
				if got := refusedFor(p.Fusions, r); got != with {
					t.Errorf("reason there: %v; refused for it: %v", with, got)
					for _, f := range p.Fusions {
						t.Logf("%s %s with %s: %v %s (%s)", f.Kind, f.A, f.B, f.Fused, f.Reason, f.Why)
					}
				}
			}
			late := r.reason == "node1 must go before node2" // the other way round the pair is fused
			if fused == 0 || !late && left[false] >= left[true] {
				t.Errorf("%d kernels with the reason, %d without it", left[true], left[false])
			}
		})
	}
}

func refusedFor(steps []logs.FusionStep, r refused) bool {
	for _, f := range steps {
		if !f.Fused && f.Reason == r.reason && strings.Contains(f.Why, r.why) {
			return true
		}
	}
	return false
}

// unreached are sentences of refusals without a graph that meets them, with the
// reason. The list may only become shorter.
var unreached = map[string]string{
	"the epilogue has loops that the template does not have": "loops of one side alone are inner ones, and what has these reduces, " +
		"which is refused before",
}

// TestEveryRefusalHasARow reads the scheduler's source for its refusals.
func TestEveryRefusalHasARow(t *testing.T) {
	files, err := filepath.Glob("sched/*.go")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, src, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(x ast.Node) bool {
			lit, ok := x.(*ast.CompositeLit)
			if !ok {
				return true
			}
			if id, ok := lit.Type.(*ast.Ident); !ok || id.Name != "fusionRefusal" {
				return true
			}
			n++
			text := lastText(lit)
			found := unreached[text] != ""
			for _, r := range refusals {
				found = found || strings.Contains(text, r.why)
			}
			if !found {
				t.Errorf("%s: the refusal %q has no row", name, text)
			}
			return true
		})
	}
	if n < 15 {
		t.Errorf("only %d refusals were read", n)
	}
}

// lastText is the sentence of a refusal: its last string, that of a format included.
func lastText(lit *ast.CompositeLit) string {
	text := ""
	ast.Inspect(lit.Elts[len(lit.Elts)-1], func(x ast.Node) bool {
		if s, ok := x.(*ast.BasicLit); ok && s.Kind == token.STRING && text == "" {
			text, _ = strconv.Unquote(s.Value)
		}
		return true
	})
	return text
}

// TestOneColumn: what reads the result of a product with one column walks its rows alone.
func TestOneColumn(t *testing.T) {
	for name, c := range map[string]struct {
		make    func(b *build, y ops.Value) ops.Value // y is float32[4, 2], of one column and eight rows
		kernels int
		why     string
	}{
		"a product of it":  {func(b *build, y ops.Value) ops.Value { return b.Emit(ops.Mul, y, b.input(4, 2)) }, 1, ""},
		"a larger":         {func(b *build, y ops.Value) ops.Value { return b.Emit(ops.Mul, y, b.input(3, 4, 2)) }, 2, "the loops are"},
		"sums of its rows": {func(b *build, y ops.Value) ops.Value { return b.Emit(ops.Sum, y, dims(1)) }, 2, "the epilogue reduces"},
		"a softmax":        {func(b *build, y ops.Value) ops.Value { return b.Emit(ops.Softmax, y, sym.C(1)) }, 2, "the epilogue reduces"},
		"a scaled": {func(b *build, y ops.Value) ops.Value {
			return b.Emit(ops.Sum, b.Emit(ops.Mul, b.Emit(ops.Unsqueeze, y, sym.C(2)), b.input(4, 2, 8)), dims(1))
		}, 2, ""},
	} {
		b := newBuild("column")
		y := b.Emit(ops.View, b.Emit(ops.Mm, b.input(8, 8), b.input(8, 1)), dims(4, 2))
		p := b.compile(t, c.make(b, y))
		if len(kernels(p)) != c.kernels {
			t.Errorf("%s: %d kernels, want %d", name, len(kernels(p)), c.kernels)
		}
		told := c.why == ""
		for _, f := range p.Fusions {
			told = told || strings.Contains(f.Why, c.why)
			if strings.Contains(f.Why, "alike") {
				t.Errorf("%s: %s", name, f.Why)
			}
		}
		if !told {
			t.Errorf("%s: no refusal says %q: %+v", name, c.why, p.Fusions)
		}
	}
}

// Where the addresses of a buffer do not fit, the reason names the buffer, who writes
// it where, and who reads it where.
func TestMemoryDepsNameTheBuffer(t *testing.T) {
	for name, c := range map[string]struct {
		make func(b *build) []ops.Value
		want []string
	}{
		"loops": {func(b *build) []ops.Value {
			y := b.Emit(ops.Sin, b.input(4, 6))
			return []ops.Value{y, b.Emit(ops.Cos, b.Emit(ops.Slice, y, sym.C(0), sym.C(0), sym.C(2)))}
		}, []string{
			"the loops [4, 6] and [2, 6] do not access buf0 alike: written at [6*i0 + i1] by op0, sin",
			"read at [6*i0 + i1] by op1, cos",
		}},
		"order": {func(b *build) []ops.Value {
			x := b.Emit(ops.Sin, b.input(8))
			return []ops.Value{x, b.Emit(ops.Mul, x, b.Emit(ops.Flip, x, dims(0)))}
		}, []string{"do not access buf0 alike: written at [i0] by op0, sin", "read at [-1*i0 + 7] by op1, flip"}},
	} {
		b := newBuild("refused")
		p := b.compile(t, c.make(b)...)
		found := ""
		for _, f := range p.Fusions {
			if f.Reason == "memory deps did not match" {
				found = f.Why
			}
		}
		for _, w := range c.want {
			if !strings.Contains(found, w) {
				t.Errorf("%s: %q lacks %q", name, found, w)
			}
		}
	}
}
