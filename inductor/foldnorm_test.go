package inductor

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tcdbg/graph"
	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// This file tests what goes into a convolution's weight, and what does not.

// normed is a convolution and what follows it, of which a test changes a part.
type normed struct {
	*build
	x, weight, mean, variance, gamma, beta *graph.Node
}

func newNormed() *normed {
	b := newBuild("normed")
	return &normed{
		b, b.input(2, 3, 8, 8), b.param(16, 3, 3, 3), b.param(16), b.param(16), b.param(16), b.param(16),
	}
}

func (b *normed) conv(bias ops.Arg) ops.Value {
	one, none := sym.Consts([]int{1, 1}), sym.Consts([]int{0, 0})
	return b.Emit(ops.Convolution, b.x, b.weight, bias, one, one, one, false, none, sym.C(1))
}

// transposed is a transposed convolution to 16 channels.
func (b *normed) transposed(groups int) ops.Value {
	one, none := sym.Consts([]int{1, 1}), sym.Consts([]int{0, 0})
	b.weight, b.x = b.param(4, 16/groups, 3, 3), b.input(2, 4, 8, 8)
	return b.Emit(ops.Convolution, b.x, b.weight, nil, one, one, one, true, none, sym.C(groups))
}

func (b *normed) norm(y ops.Value) ops.Value {
	return b.Emit(ops.BatchNorm, y, b.mean, b.variance, b.gamma, b.beta, false, 0.1, 1e-5)
}

// afterFolding is how many convolutions took something up, and the operators that are left.
func (b *normed) afterFolding(t *testing.T, out ...ops.Value) (int, []string) {
	t.Helper()
	args := make([]ops.Arg, len(out))
	for i, o := range out {
		args[i] = o
	}
	b.G.SetOutput(args)
	c := &compiler{given: b.G, graph: b.G, opt: Options{Params: b.params}}
	before := b.G.Code()
	if _, err := c.widen(); err != nil {
		t.Fatal(err)
	}
	n, err := c.foldNorm()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.graph.Check(); err != nil {
		t.Fatalf("%v:\n%s", err, c.graph.Code())
	}
	if b.G.Code() != before {
		t.Error("the graph that runs as its operators was changed")
	}
	return n, c.graph.OpNames()
}

// TestNormsAreFolded: a norm goes into weight and bias wholly, what is between two of them
// too, and what follows the last factor.
func TestNormsAreFolded(t *testing.T) {
	for name, make := range map[string]func(b *normed) ops.Value{
		"norm":       func(b *normed) ops.Value { return b.norm(b.conv(nil)) },
		"bias":       func(b *normed) ops.Value { return b.norm(b.conv(b.beta)) },
		"two norms":  func(b *normed) ops.Value { return b.norm(b.norm(b.conv(nil))) },
		"transposed": func(b *normed) ops.Value { return b.norm(b.transposed(1)) },
		"quotient": func(b *normed) ops.Value {
			return b.Emit(ops.Div, b.conv(b.beta), b.Emit(ops.View, b.gamma, sym.Consts([]int{16, 1, 1})))
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newNormed()
			n, left := b.afterFolding(t, b.Emit(ops.Relu, make(b)))
			at := slices.Index(left, "convolution")
			if n != 1 || at < 0 || strings.Join(left[at:], " ") != "convolution relu" {
				t.Errorf("%d foldings, operators %v; want one, and nothing between convolution and relu", n, left)
			}
		})
	}
}

// inHalf is the same as autocast has it: image and weight in bfloat16, the norm's own in float32.
func (b *normed) inHalf() *normed {
	b.x = b.Emit(ops.To, b.x, ops.BFloat16).(*graph.Node)
	b.weight = b.Emit(ops.To, b.weight, ops.BFloat16).(*graph.Node)
	return b
}

// TestNormsInHalfPrecision: a convolution of half precision is one of float32, and a norm goes into its weight although what it
// reads was rounded; what somebody else reads is rounded as before.
func TestNormsInHalfPrecision(t *testing.T) {
	b := newNormed().inHalf()
	n, left := b.afterFolding(t, b.Emit(ops.Relu, b.norm(b.conv(nil))))
	at := slices.Index(left, "convolution")
	if n != 1 || at < 0 || strings.Join(left[at:], " ") != "convolution to relu" {
		t.Errorf("%d foldings, operators %v; want one, and nothing but a rounding between convolution and relu", n, left)
	}
	b = newNormed().inHalf()
	y := b.conv(nil)
	if n, left := b.afterFolding(t, b.norm(y), y); n != 0 {
		t.Errorf("%d foldings although the convolution is a result; left is %v", n, left)
	}
}

// TestNormsThatStay: where somebody else reads the convolution, where a call may change what
// scales it, and where it is not scaled by channels, all stays as it was.
func TestNormsThatStay(t *testing.T) {
	for name, make := range map[string]func(b *normed) []ops.Value{
		"second reader": func(b *normed) []ops.Value {
			y := b.conv(nil)
			return []ops.Value{b.norm(y), b.Emit(ops.Relu, y)}
		},
		"result": func(b *normed) []ops.Value {
			y := b.conv(nil)
			return []ops.Value{b.norm(y), y}
		},
		"weight changes": func(b *normed) []ops.Value {
			b.weight = b.input(16, 3, 3, 3)
			return []ops.Value{b.norm(b.conv(nil))}
		},
		"statistics change": func(b *normed) []ops.Value {
			b.mean, b.variance, b.gamma = b.input(16), b.input(16), b.input(16)
			return []ops.Value{b.norm(b.conv(nil))}
		},
		"transposed in groups": func(b *normed) []ops.Value { return []ops.Value{b.norm(b.transposed(2))} },
		"bias changes":         func(b *normed) []ops.Value { return []ops.Value{b.norm(b.conv(b.input(16)))} },
		"by columns":           func(b *normed) []ops.Value { return []ops.Value{b.Emit(ops.Mul, b.conv(nil), b.param(8))} },
		"by a number":          func(b *normed) []ops.Value { return []ops.Value{b.Emit(ops.Mul, b.conv(nil), 0.5)} },
		"shift alone": func(b *normed) []ops.Value {
			return []ops.Value{b.Emit(ops.Add, b.conv(nil), b.Emit(ops.View, b.beta, sym.Consts([]int{16, 1, 1})))}
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newNormed()
			if n, left := b.afterFolding(t, make(b)...); n != 0 {
				t.Errorf("%d foldings; left is %v", n, left)
			}
		})
	}
}

// TestScaledWeightPasses: the scaled weight is needed until it is packed.
func TestScaledWeightPasses(t *testing.T) {
	b := newNormed()
	p := b.compile(t, b.norm(b.conv(nil)))
	var names []string
	for _, i := range p.Passing {
		names = append(names, fmt.Sprint(p.Buffers[i].Shape))
	}
	if !slices.Contains(names, "[16 3 3 3]") {
		t.Errorf("buffers that pass are %v; want the scaled weight among them", names)
	}
}

// TestScaledWeightsPassInTurn: the memory of a scaled weight that is packed is that of later ones, where buffers may share any.
func TestScaledWeightsPassInTurn(t *testing.T) {
	const layers, bytes = 6, 4 * 512 * 512 * 9
	passing := func(noReuse bool) int64 {
		b := newNormed()
		b.noReuse = noReuse
		y, one := ops.Value(b.input(1, 512, 16, 16)), sym.Consts([]int{1, 1})
		for range layers {
			b.weight, b.mean, b.variance, b.gamma, b.beta = b.param(512, 512, 3, 3), b.param(512), b.param(512), b.param(512), b.param(512)
			y = b.norm(b.Emit(ops.Convolution, y, b.weight, nil, one, one, one, false, sym.Consts([]int{0, 0}), sym.C(1)))
		}
		return b.compile(t, y).PassingBytes
	}
	if n := passing(false); n < bytes || n >= 2*bytes {
		t.Errorf("%d weights of %d bytes each pass through %d bytes", layers, bytes, n)
	}
	if n := passing(true); n < layers*bytes {
		t.Errorf("none has the memory of another, and they pass through %d bytes", n)
	}
}
