package aot

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"tcdbg/graph"
	"tcdbg/logs"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
)

// interpret compiles a pure graph to its interpretation, without gradients as a
// real compiler's code would be, and refuses graphs that still mutate.
func interpret(t *testing.T) func(Part) (Runnable, error) {
	return func(p Part) (Runnable, error) {
		for _, n := range p.Graph.Nodes() {
			if row := n.OpRow(); row != nil && row.Tags.Has(ops.TagInPlace) {
				t.Errorf("%s graph mutates: %s", p.Stage, n.Name)
			}
		}
		return p.Graph.RunUntaped, nil
	}
}

// capture builds a graph by running f over nodes.
func capture(t *testing.T, in []*torch.Tensor, f func(b *graph.Builder, x []ops.Value) []ops.Value) *graph.Graph {
	t.Helper()
	g := graph.New("g", &sym.Env{})
	var xs []ops.Value
	for i, x := range in {
		name := string(rune('x' + i))
		xs = append(xs, g.Input(name, name, "L['"+name+"']", x.TensorMeta()))
	}
	var outs []ops.Arg
	for _, v := range f(&graph.Builder{G: g}, xs) {
		outs = append(outs, v.(*graph.Node))
	}
	g.SetOutput(outs)
	if err := g.Check(); err != nil {
		t.Fatal(err)
	}
	return g
}

func lookup(t *testing.T, name string) ops.ID {
	t.Helper()
	row, ok := ops.Lookup(name)
	if !ok {
		t.Fatalf("no operator %s", name)
	}
	return row.ID
}

type aotCase struct {
	name string
	in   func() []*torch.Tensor
	f    func(t *testing.T, b *graph.Builder, x []ops.Value) []ops.Value
}

var cases = []aotCase{
	{"pure", two, func(t *testing.T, b *graph.Builder, x []ops.Value) []ops.Value {
		return []ops.Value{b.Emit(ops.Mul, b.Emit(ops.Sin, x[0]), x[1])}
	}},
	{"in place on an intermediate", two, func(t *testing.T, b *graph.Builder, x []ops.Value) []ops.Value {
		y := b.Emit(ops.Sin, x[0])
		b.Emit(lookup(t, "add_"), y, x[1])
		return []ops.Value{b.Emit(ops.Mul, y, y)}
	}},
	{"in place on an input", two, func(t *testing.T, b *graph.Builder, x []ops.Value) []ops.Value {
		b.Emit(lookup(t, "mul_"), x[0], x[1])
		return []ops.Value{b.Emit(ops.Sin, x[0])}
	}},
	{"through a view", two, func(t *testing.T, b *graph.Builder, x []ops.Value) []ops.Value {
		y := b.Emit(ops.Sin, x[0])
		v := b.Emit(ops.Transpose, y, sym.C(0), sym.C(1))
		b.Emit(lookup(t, "add_"), v, sym.C(1))
		return []ops.Value{b.Emit(ops.Mul, y, x[1]), b.Emit(ops.Neg, v)}
	}},
	{"a view read after its base changed", two, func(t *testing.T, b *graph.Builder, x []ops.Value) []ops.Value {
		v := b.Emit(ops.Unsqueeze, x[0], sym.C(0))
		w := b.Emit(ops.Permute, v, []sym.Int{sym.C(2), sym.C(0), sym.C(1)})
		b.Emit(lookup(t, "mul_"), x[0], sym.C(3))
		return []ops.Value{b.Emit(ops.Exp, w)}
	}},
	{"view of an input returned", two, func(t *testing.T, b *graph.Builder, x []ops.Value) []ops.Value {
		return []ops.Value{b.Emit(ops.Transpose, x[0], sym.C(0), sym.C(1)), b.Emit(ops.Mul, x[0], x[1])}
	}},
	{"the old content of a written input is stored in another", two, func(t *testing.T, b *graph.Builder, x []ops.Value) []ops.Value {
		b.Emit(lookup(t, "copy_"), x[1], x[0])
		b.Emit(lookup(t, "add_"), x[0], sym.C(1))
		return []ops.Value{b.Emit(ops.Sin, x[1])}
	}},
	{"a value that an input was copied over is returned", two, func(t *testing.T, b *graph.Builder, x []ops.Value) []ops.Value {
		y := b.Emit(ops.Sin, x[0])
		b.Emit(lookup(t, "copy_"), y, x[1])
		return []ops.Value{y}
	}},
	{"linear layer", three, func(t *testing.T, b *graph.Builder, x []ops.Value) []ops.Value {
		return []ops.Value{b.Emit(ops.Relu, b.Emit(ops.Linear, x[0], x[1], x[2]))}
	}},
	{"softmax and layer norm", two, func(t *testing.T, b *graph.Builder, x []ops.Value) []ops.Value {
		y := b.Emit(ops.Softmax, x[0], sym.C(1))
		return []ops.Value{b.Emit(ops.Mul, b.Emit(ops.LayerNorm, y, []sym.Int{sym.C(4)}), x[1])}
	}},
}

func two() []*torch.Tensor { return []*torch.Tensor{torch.Randn(3, 4), torch.Randn(3, 4)} }
func three() []*torch.Tensor {
	return []*torch.Tensor{torch.Randn(3, 4), torch.Randn(5, 4), torch.Randn(5)}
}

// TestCompileEqualsEager runs each case through aot and through the captured
// graph itself, and compares outputs, mutated inputs and aliases.
func TestCompileEqualsEager(t *testing.T) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			torch.ManualSeed(3)
			a := c.in()
			b := clones(a)
			g := capture(t, a, func(b *graph.Builder, x []ops.Value) []ops.Value { return c.f(t, b, x) })
			compiled, err := Compile(&Request{Graph: g, Example: values(a), Check: true, Compile: interpret(t)})
			if err != nil {
				t.Fatal(err)
			}
			want, got := g.Run(values(b)), compiled.Run(values(a))
			for i := range want {
				same(t, "output", got[i].(*torch.Tensor), want[i].(*torch.Tensor))
				if x, y := sharesWith(got[i], a), sharesWith(want[i], b); x != y {
					t.Errorf("output %d shares memory with input %d, eager with %d", i, x, y)
				}
			}
			for i := range a {
				same(t, "input", a[i], b[i])
			}
		})
	}
}

// TestGradientsEqualTape compares the gradients of the joint graph with those
// of the eager tape.
func TestGradientsEqualTape(t *testing.T) {
	for _, c := range cases {
		if strings.Contains(c.name, "on an input") || strings.Contains(c.name, "base changed") ||
			strings.Contains(c.name, "written input") {
			continue // a leaf that wants gradients must not change in place
		}
		t.Run(c.name, func(t *testing.T) {
			torch.ManualSeed(4)
			a := c.in()
			b := clones(a)
			for i := range a {
				a[i].RequiresGrad_()
				b[i].RequiresGrad_()
			}
			g := capture(t, a, func(b *graph.Builder, x []ops.Value) []ops.Value { return c.f(t, b, x) })
			compiled, err := Compile(&Request{Graph: g, Example: values(a), Check: true, Compile: interpret(t)})
			if err != nil {
				t.Fatal(err)
			}
			total(compiled.Run(values(a))).Backward()
			total(g.Run(values(b))).Backward()
			for i := range a {
				if (a[i].Grad() == nil) != (b[i].Grad() == nil) {
					t.Fatalf("input %d: gradient %v, tape %v", i, a[i].Grad(), b[i].Grad())
				}
				if a[i].Grad() != nil {
					same(t, "gradient", a[i].Grad(), b[i].Grad())
				}
			}
		})
	}
}

// TestOverwrittenGetsZero: what was overwritten has a gradient, zero, where the
// result has one; what only other results show has none.
func TestOverwrittenGetsZero(t *testing.T) {
	in := []*torch.Tensor{torch.Ones(2).RequiresGrad_(), torch.Ones(2).RequiresGrad_(), torch.Ones(2).RequiresGrad_()}
	g := capture(t, in, func(b *graph.Builder, x []ops.Value) []ops.Value {
		return []ops.Value{b.Emit(ops.Copy, b.Emit(ops.Mul, x[0], 2), x[1]), b.Emit(ops.Exp, x[2])}
	})
	compiled, err := Compile(&Request{Graph: g, Example: values(in), Compile: interpret(t)})
	if err != nil {
		t.Fatal(err)
	}
	compiled.Run(values(in))[0].(*torch.Tensor).Sum().Backward()
	if d := in[0].Grad(); d == nil || d.Abs().Sum().Item() != 0 {
		t.Errorf("the overwritten tensor has gradient %v, want zeros", d)
	}
	if d := in[1].Grad(); d == nil || d.Sum().Item() != 2 {
		t.Errorf("the source has gradient %v, want ones", d)
	}
	if d := in[2].Grad(); d != nil {
		t.Errorf("what no gradient reaches has gradient %v", d)
	}
}

// TestBackwardRefuses wants the backward pass of a compiled graph to refuse saved
// values that changed in the meantime.
func TestBackwardRefuses(t *testing.T) {
	build := func() ([]*torch.Tensor, *torch.Tensor) {
		in := two()
		in[0].RequiresGrad_()
		g := capture(t, in, func(b *graph.Builder, x []ops.Value) []ops.Value {
			return []ops.Value{b.Emit(ops.Mul, b.Emit(ops.Mul, x[0], x[0]), x[1])}
		})
		compiled, err := Compile(&Request{Graph: g, Example: values(in), Check: true, Compile: interpret(t)})
		if err != nil {
			t.Fatal(err)
		}
		return in, compiled.Run(values(in))[0].(*torch.Tensor).Sum()
	}
	refused := func(want string, f func()) {
		t.Helper()
		defer func() {
			if r := recover(); !strings.Contains(fmt.Sprint(r), want) {
				t.Errorf("got %v, want %q", r, want)
			}
		}()
		f()
	}
	in, loss := build()
	in[1].Add_(1)
	refused("modified by an inplace operation", func() { loss.Backward() })
}

// TestWrittenInputIsSaved: an input that the graph writes after its gradient
// asked for the old values is kept as it was, in the layout for which the
// backward graph was compiled.
func TestWrittenInputIsSaved(t *testing.T) {
	whole := func() *torch.Tensor { return torch.Randn(6, 9) }
	for name, part := range map[string]func(x *torch.Tensor) *torch.Tensor{
		"whole":              func(x *torch.Tensor) *torch.Tensor { return x },
		"transposed":         func(x *torch.Tensor) *torch.Tensor { return x.T() },
		"rows in the middle": func(x *torch.Tensor) *torch.Tensor { return x.Narrow(0, 2, 3) },
		"columns":            func(x *torch.Tensor) *torch.Tensor { return x.Narrow(1, 3, 4) },
		"every third column": func(x *torch.Tensor) *torch.Tensor { return x.At(torch.Ellipsis, torch.Slice_{Start: 1, Step: 3}).T() },
		"the last element":   func(x *torch.Tensor) *torch.Tensor { return x.Narrow(0, 5, 1).Narrow(1, 8, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			x := part(whole())
			old := x.Clone()
			w := torch.RandnLike(x)
			w.RequiresGrad_()
			in := []*torch.Tensor{x, w}
			g := capture(t, in, func(b *graph.Builder, in []ops.Value) []ops.Value {
				y := b.Emit(ops.Mul, in[0], in[1])
				b.Emit(lookup(t, "mul_"), in[0], sym.C(2))
				return []ops.Value{y}
			})
			var kept []int
			compiled, err := Compile(&Request{
				Graph: g, Example: values(in), Check: true,
				Compile: func(part Part) (Runnable, error) {
					g, stage := part.Graph, part.Stage
					if stage != "backward" {
						return g.RunUntaped, nil
					}
					return func(in []torch.Value) []torch.Value {
						_, kept, _ = in[0].(*torch.Tensor).Layout()
						return g.RunUntaped(in)
					}, nil
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			_, stride, _ := x.Layout()
			compiled.Run(values(in))[0].(*torch.Tensor).Sum().Backward()
			same(t, "input", x, old.Mul(2))
			same(t, "gradient", w.Grad(), old)
			if !slices.Equal(kept, stride) {
				t.Errorf("the backward graph was compiled for strides %v and is given %v", stride, kept)
			}
		})
	}
}

// total is a scalar that depends on every output.
func total(outs []torch.Value) *torch.Tensor {
	sum := torch.Zeros(1).Sum()
	for _, o := range outs {
		x := o.(*torch.Tensor)
		sum = sum.Add(x.Mul(x).Sum())
	}
	return sum
}

func clones(ts []*torch.Tensor) []*torch.Tensor {
	out := make([]*torch.Tensor, len(ts))
	for i, x := range ts {
		out[i] = x.Clone()
	}
	return out
}

func values(ts []*torch.Tensor) []torch.Value {
	out := make([]torch.Value, len(ts))
	for i, x := range ts {
		out[i] = x
	}
	return out
}

func sharesWith(v torch.Value, in []*torch.Tensor) int {
	for i, x := range in {
		if v.(*torch.Tensor).Storage() == x.Storage() {
			return i
		}
	}
	return -1
}

func same(t *testing.T, what string, got, want *torch.Tensor) {
	t.Helper()
	x, y := got.Detach().Contiguous().Data(), want.Detach().Contiguous().Data()
	if len(x) != len(y) {
		t.Fatalf("%s: %v, want %v", what, got, want)
	}
	for i := range x {
		if d := math.Abs(x[i] - y[i]); d > 1e-5+1.3e-6*math.Abs(y[i]) || math.IsNaN(d) {
			t.Fatalf("%s: %v, want %v", what, got, want)
		}
	}
}

// TestDeadAndEqualValues wants cse and dead code elimination to leave one sin.
func TestDeadAndEqualValues(t *testing.T) {
	in := two()
	g := capture(t, in, func(b *graph.Builder, x []ops.Value) []ops.Value {
		b.Emit(ops.Exp, x[1])
		return []ops.Value{b.Emit(ops.Add, b.Emit(ops.Sin, x[0]), b.Emit(ops.Sin, x[0]))}
	})
	var got string
	_, err := Compile(&Request{Graph: g, Example: values(in), Check: true, Compile: func(p Part) (Runnable, error) {
		got = strings.Join(p.Graph.OpNames(), " ")
		return p.Graph.Run, nil
	}})
	if err != nil || got != "sin add" {
		t.Errorf("%q, %v", got, err)
	}
}

// TestSavedValuesKeepTheirLayout wants the backward graph to be compiled for, and
// to get, the strides in which the forward graph saves its values: where a
// decomposition lays them out otherwise than the operator did, and where a view
// that repeats memory is saved of an input that changes.
func TestSavedValuesKeepTheirLayout(t *testing.T) {
	torch.ManualSeed(2)
	for _, c := range []struct {
		name string
		in   []*torch.Tensor
		f    func(b *graph.Builder, x []ops.Value) ops.Value
	}{
		{"cosine_similarity", []*torch.Tensor{
			torch.Randn(3, 2, 1).Transpose(0, 2).Detach(),
			torch.Randn(3, 1, 2).Permute(2, 1, 0).Detach(),
		}, func(b *graph.Builder, x []ops.Value) ops.Value {
			return b.Emit(ops.CosineSimilarity, x[0], x[1], -1)
		}},
		{"cumprod_", []*torch.Tensor{torch.Randn(2, 3), torch.Randn(2, 3)}, func(b *graph.Builder, x []ops.Value) ops.Value {
			y := b.Emit(ops.Mul, x[0], 1.0)
			b.Emit(ops.InPlaceOffset+ops.Cumprod, x[1], 1)
			return b.Emit(ops.Add, y, x[1])
		}},
	} {
		for i, x := range c.in {
			if c.name != "cumprod_" || i == 0 {
				x.RequiresGrad_()
			} else {
				c.in[i] = x.RequiresGrad_().Mul(1)
			}
		}
		g := capture(t, c.in, func(b *graph.Builder, x []ops.Value) []ops.Value { return []ops.Value{c.f(b, x)} })
		compiled, err := Compile(&Request{
			Graph: g, Example: values(c.in), Check: true,
			Compile: func(part Part) (Runnable, error) {
				g, stage := part.Graph, part.Stage
				return func(in []torch.Value) []torch.Value {
					for i, p := range g.Placeholders() {
						shape, stride, _ := in[i].(*torch.Tensor).Layout()
						for d, s := range p.TensorMeta().Stride {
							if want := int(s.Hint()); shape[d] > 1 && stride[d] != want {
								t.Errorf("%s: %s of the %s graph has strides %v, compiled for %v", c.name, p.Name, stage, stride,
									p.TensorMeta().Stride)
							}
						}
					}
					return g.RunUntaped(in)
				}, nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		total(compiled.Run(values(c.in))).Backward()
	}
}

// jointSink keeps the text of the joint graph.
type jointSink struct{ text string }

func (s *jointSink) Emit(o logs.Out) {
	if o.Kind == "aot_joint_graph" {
		s.text = string(o.Payload)
	}
}

func (s *jointSink) Stack(f []logs.Frame) any { return f }

// TestJointGraphReturns: the text of the joint graph ends with what it returns, the
// outputs and then the gradients.
func TestJointGraphReturns(t *testing.T) {
	in := []*torch.Tensor{torch.Ones(2).RequiresGrad_(), torch.Ones(2)}
	g := capture(t, in, func(b *graph.Builder, x []ops.Value) []ops.Value {
		return []ops.Value{b.Emit(ops.Mul, b.Emit(ops.Sin, x[0]), x[1])}
	})
	sink := &jointSink{}
	if _, err := Compile(&Request{Graph: g, Example: values(in), Compile: interpret(t), Log: sink}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(sink.text), "\n")
	last := strings.TrimSpace(lines[len(lines)-1])
	if !strings.HasPrefix(last, "return (") || strings.Count(last, ",") != 2 || !strings.HasSuffix(last, "None)") {
		t.Errorf("the joint graph ends with %q:\n%s", last, sink.text)
	}
}

// TestEveryPassIsChecked wants a check in each row of both tables.
func TestEveryPassIsChecked(t *testing.T) {
	for _, p := range captured.Rows() {
		if p.Check == nil {
			t.Errorf("nothing checks what the pass %s leaves", p.Name)
		}
	}
	for _, p := range pure.Rows() {
		if p.Check == nil {
			t.Errorf("nothing checks what the pass %s leaves", p.Name)
		}
	}
}
