package numerics

import (
	"os"
	"strings"
	"testing"

	"tcdbg/backends"
	"tcdbg/graph"
	"tcdbg/inductor"
	"tcdbg/inductor/ir"
	"tcdbg/inductor/sched"
	"tcdbg/logs"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
	"tcdbg/torch/kw"
	"tcdbg/tracer"
)

// This file plants a fault in each stage and wants it found there, at its node.

var cache string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "numerics")
	if err != nil {
		panic(err)
	}
	cache = dir
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

type sink struct{}

func (sink) Emit(logs.Out)          {}
func (sink) Stack([]logs.Frame) any { return nil }

// sample is y = softplus(x * w) and z = (y.tanh() + x).sum(1), each on a line of its own.
func sample(t *testing.T) (*graph.Graph, []torch.Value) {
	t.Helper()
	g := graph.New("__compiled_fn_0", nil)
	meta := func(grad bool) *ops.TensorMeta {
		shape := []sym.Int{sym.C(6), sym.C(40)}
		return &ops.TensorMeta{DType: ops.Float32, Device: ops.CPU, Shape: shape, Stride: ops.ContiguousStrides(shape), RequiresGrad: grad}
	}
	x, w := g.Input("x", "x", "L['x']", meta(false)), g.Input("w", "w", "L['w']", meta(true))
	line := 10
	call := func(id ops.ID, args ...ops.Arg) *graph.Node {
		row := ops.Get(id)
		bound, err := ops.Bind(row, args, nil)
		if err != nil {
			t.Fatal(err)
		}
		line++
		b := &graph.Builder{G: g, Stack: []graph.Frame{{File: "model.go", Line: line, Func: "f", Code: row.Name}}}
		n, err := b.Call(row, bound, graph.CallFunction)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	mul := call(ops.Mul, x, w)
	y := call(ops.Softplus, mul)
	th := call(ops.Tanh, y)
	add := call(ops.Add, th, x)
	sum := call(ops.Sum, add, []int{1})
	g.SetOutput([]ops.Arg{y, sum})
	return g, []torch.Value{torch.Randn(6, 40), torch.Randn(6, 40, kw.RequiresGrad(true))}
}

// found compiles the sample with faults and runs it under a checker.
func found(t *testing.T, faults *inductor.Faults, calls int) *logs.Numerics {
	t.Helper()
	set := backends.NewSet(backends.Config{CacheDir: cache, Threads: 1, Stderr: t.Output(), Faults: faults})
	b, err := set.Get("inductor")
	if err != nil {
		t.Fatal(err)
	}
	return foundBy(t, set, b, calls)
}

func foundBy(t *testing.T, set *backends.Set, b tracer.Backend, calls int) *logs.Numerics {
	t.Helper()
	torch.ManualSeed(3)
	g, in := sample(t)
	c := New(Config{Set: set, Sink: sink{}})
	run, err := c.Wrap(b).Compile(&tracer.Request{Module: graph.NewModule(g), Example: in})
	if err != nil {
		t.Fatal(err)
	}
	for range calls {
		out := run(in)
		if len(out) != 2 {
			t.Fatalf("%d results", len(out))
		}
	}
	return &c.graphs[0].record
}

func wantFault(t *testing.T, n *logs.Numerics, stage, part, op string) {
	t.Helper()
	if n.Result != logs.NumericsDiffers || n.Fault == nil {
		t.Fatalf("%s (%s %v), want a fault in %s", n.Result, n.Why, n.NotCompared, stage)
	}
	f := n.Fault
	if f.Stage != stage || f.Part != part || f.Op != op {
		t.Errorf("found %s of %q at %s, want %s of %q at %s\n%s", f.Stage, f.Part, f.Op, stage, part, op, strings.Join(f.Ran, "\n"))
	}
	if f.Pos == nil || f.Pos.Code != f.Op && part != "backward" {
		t.Errorf("its line is %v", f.Pos)
	}
}

func needCompiler(t *testing.T) {
	t.Helper()
	if _, err := os.Stat("/usr/bin/cc"); err != nil {
		t.Skip("no C compiler")
	}
}

func TestNothingPlanted(t *testing.T) {
	n := found(t, nil, 20)
	if n.Result != logs.NumericsEqual || n.Calls != 20 || n.Compared != 6 {
		t.Errorf("%s, %d of %d calls; want equal, 6 of 20\n%+v", n.Result, n.Compared, n.Calls, n)
	}
	want := []string{"output 0", "output 1", "gradient of w"}
	for i, v := range n.Values {
		if i >= len(want) || v.What != want[i] {
			t.Errorf("compared %s", v.What)
		}
	}
}

func TestWrongDecomposition(t *testing.T) {
	row := ops.Get(ops.Softplus)
	right := row.Decompose
	defer func() { row.Decompose = right }()
	row.Decompose = func(b ops.Builder, c *ops.Call) []ops.Value {
		vals := right(b, c)
		if _, compiles := b.(*graph.Builder); !compiles {
			return vals // eager execution uses the same decomposition
		}
		return []ops.Value{b.Emit(ops.Mul, vals[0], 1.001)}
	}
	wantFault(t, found(t, nil, 1), "decomposition", "forward and backward", "softplus")
}

// swap makes every value of one operation of a node another.
func swap(nodes []*ir.Node, origin string, from, to ir.Op) {
	for _, n := range nodes {
		for _, o := range n.Origins {
			if !strings.HasPrefix(o.Node, origin) {
				continue
			}
			for i := range n.Body {
				if n.Body[i].Op == from {
					n.Body[i].Op = to
				}
			}
		}
	}
}

func TestWrongLowering(t *testing.T) {
	wrong := &inductor.Faults{Loops: func(p *ir.Program) { swap(p.Nodes, "tanh", ir.Tanh, ir.Sin) }}
	wantFault(t, found(t, wrong, 1), "lowering", "forward", "tanh")
}

func TestWrongFusion(t *testing.T) {
	wrong := &inductor.Faults{Fused: func(groups []*sched.Group) {
		for _, g := range groups {
			for _, it := range g.Items {
				for i := range it.Body {
					if it.Body[i].Op == ir.Tanh {
						it.Body[i].Op = ir.Sin
					}
				}
			}
		}
	}}
	n := found(t, wrong, 1)
	wantFault(t, n, "fusion", "forward", "tanh")
	if n.Fault.Kernel == "" {
		t.Error("no kernel is named")
	}
}

func TestWrongCode(t *testing.T) {
	needCompiler(t)
	n := found(t, &inductor.Faults{Code: wrongTanh}, 1)
	wantFault(t, n, "code", "forward", "tanh")
	if !n.Fault.Alone {
		t.Error("the node does not differ alone")
	}
	if n.Fault.Kernel == "" || len(n.Fault.Nodes) == 0 {
		t.Errorf("kernel %q, %d kernels beside the interpreter", n.Fault.Kernel, len(n.Fault.Nodes))
	}
}

func wrongTanh(c string) string { return strings.ReplaceAll(c, "1.0f - 2.0f / (", "1.0f - 2.1f / (") }

// TestWrongBackend has a backend of the program's own that is wrong.
func TestWrongBackend(t *testing.T) {
	set := backends.NewSet(backends.Config{CC: "none", Stderr: t.Output()})
	n := foundBy(t, set, doubled{}, 1)
	if n.Fault == nil || n.Fault.Stage != "the program's own backend" {
		t.Errorf("found %+v", n.Fault)
	}
}

type doubled struct{}

func (doubled) Name() string { return "custom" }

func (doubled) Compile(r *tracer.Request) (tracer.Runnable, error) {
	return func(in []torch.Value) []torch.Value {
		out := r.Module.G.Run(in)
		out[1] = out[1].(*torch.Tensor).Mul(2)
		return out
	}, nil
}

// The derivative of an operator is wrong where graphs are differentiated.
func TestWrongDerivative(t *testing.T) {
	row := ops.Get(ops.Tanh)
	right := row.Backward
	defer func() { row.Backward = right }()
	row.Backward = func(b ops.Builder, c *ops.BackwardCall) []ops.Value {
		ds := right(b, c)
		if _, compiles := b.(*graph.Builder); !compiles {
			return ds
		}
		return []ops.Value{b.Emit(ops.Mul, ds[0], 1.01)}
	}
	n := found(t, nil, 1)
	wantFault(t, n, "AOT", "forward and backward", "tanh")
	if n.Fault.Value.What != "gradient of w" {
		t.Errorf("%s differs", n.Fault.Value.What)
	}
}

// A kernel of the backward graph is wrong: the forward graph is not named.
func TestWrongBackwardLoop(t *testing.T) {
	wrong := &inductor.Faults{Loops: func(p *ir.Program) {
		for _, b := range p.Inputs {
			if b != nil && strings.HasPrefix(b.Name, "tangents") {
				swap(p.Nodes, "mul", ir.Mul, ir.Add)
			}
		}
	}}
	n := found(t, wrong, 1)
	if n.Fault == nil || n.Fault.Stage != "lowering" || n.Fault.Part != "backward" || n.Fault.Op != "mul" {
		t.Errorf("found %+v", n.Fault)
	}
}
