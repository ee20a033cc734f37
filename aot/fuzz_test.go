package aot

import (
	"flag"
	"fmt"
	"math/rand"
	"testing"

	"tcdbg/graph"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
)

// This file compares random graphs of views and operators in place, on inputs
// that may share memory, with their interpretation by the eager operators:
// outputs, inputs afterwards, who shares memory with whom, gradients.
//
//	go test ./aot -run TestRandomGraphs -fuzz.n 20000

var (
	fuzzN    = flag.Int("fuzz.n", 600, "number of random graphs")
	fuzzFrom = flag.Int64("fuzz.from", 1, "seed of the first random graph")
)

func TestRandomGraphs(t *testing.T) {
	ran, trained := 0, 0
	for i := range *fuzzN {
		seed := *fuzzFrom + int64(i)
		for _, train := range []bool{false, true} {
			ok, text := randomGraph(t, seed, train)
			if text != "" {
				t.Errorf("seed %d, gradients %v: %s", seed, train, text)
				return
			}
			if ok && train {
				trained++
			} else if ok {
				ran++
			}
		}
	}
	if ran < *fuzzN/2 || trained < *fuzzN/4 {
		t.Errorf("only %d of %d graphs ran, %d with gradients: the generator makes too many that eager refuses", ran, *fuzzN, trained)
	}
}

// TestRandomGraphsThatDiffered repeats the seeds that once found something.
func TestRandomGraphsThatDiffered(t *testing.T) {
	for _, seed := range []int64{
		104329, // a chain of expanded operators, of which the first lies otherwise than what it replaces
		515235, // a sum of a scatter and itself
	} {
		if ok, text := randomGraph(t, seed, true); !ok {
			t.Errorf("seed %d: %s", seed, text)
		}
	}
}

// randomGraph runs one graph both ways; ok is false where eager refuses it.
func randomGraph(t *testing.T, seed int64, train bool) (ok bool, diff string) {
	leafA, a := fuzzInputs(seed, train)
	leafB, b := fuzzInputs(seed, train)
	g := fuzzGraph(seed, a)
	want, err := attempt(func() []torch.Value { return g.Run(values(b)) })
	if err != "" {
		return false, ""
	}
	var got []torch.Value
	_, err = attempt(func() []torch.Value {
		budget := float64(seed%4) / 3 // all memory for saved values, none, something between
		compiled, e := Compile(&Request{Graph: g, Example: values(a), Check: true, Compile: interpret(t), MemoryBudget: &budget})
		if e != nil {
			panic(e)
		}
		got = compiled.Run(values(a))
		return got
	})
	if err != "" {
		return false, err + "\n" + g.Code()
	}
	if d := sameState(got, want, a, b); d != "" {
		return false, d + "\n" + g.Code()
	}
	if !train {
		return true, ""
	}
	_, err = attempt(func() []torch.Value { backwardAll(want, b); return nil })
	if err != "" {
		return false, ""
	}
	if _, err = attempt(func() []torch.Value { backwardAll(got, a); return nil }); err != "" {
		return false, "backward: " + err + "\n" + g.Code()
	}
	for i := range leafA {
		x, y := leafA[i].Grad(), leafB[i].Grad()
		if (x == nil) != (y == nil) || x != nil && !near(x, y) {
			return false, fmt.Sprintf("gradient %d is\n%v\nwant\n%v\n%s", i, x, y, g.Code())
		}
	}
	return true, ""
}

func near(x, y *torch.Tensor) bool {
	return torch.Allclose(x.Detach(), y.Detach(), torch.Option{Name: "rtol", Value: 1e-4}, torch.Option{Name: "atol", Value: 1e-5},
		torch.Option{Name: "equal_nan", Value: true}).Bool()
}

// backwardAll differentiates a sum over all outputs and inputs.
func backwardAll(outs []torch.Value, in []*torch.Tensor) {
	sum := torch.Zeros(1).Sum()
	all := append([]*torch.Tensor(nil), in...)
	for _, o := range outs {
		all = append(all, o.(*torch.Tensor))
	}
	for i, x := range all {
		sum = sum.Add(x.Mul(x).Mul(i + 1).Sum())
	}
	if sum.RequiresGrad() {
		sum.Backward()
	}
}

// sameState compares outputs and inputs, and which of them share memory.
func sameState(got, want []torch.Value, a, b []*torch.Tensor) string {
	x, y := append([]torch.Value(nil), got...), append([]torch.Value(nil), want...)
	for i := range a {
		x, y = append(x, a[i]), append(y, b[i])
	}
	name := func(i int) string {
		if i < len(got) {
			return fmt.Sprintf("output %d", i)
		}
		return fmt.Sprintf("input %d", i-len(got))
	}
	for i := range x {
		p, q := x[i].(*torch.Tensor), y[i].(*torch.Tensor)
		if fmt.Sprint(p.Shape()) != fmt.Sprint(q.Shape()) || p.DType() != q.DType() || !near(p, q) {
			return fmt.Sprintf("%s is\n%v\nwant\n%v", name(i), p, q)
		}
		if p.RequiresGrad() != q.RequiresGrad() {
			return fmt.Sprintf("%s requires grad: %v, want %v", name(i), p.RequiresGrad(), q.RequiresGrad())
		}
		for j := range i {
			if s := p.Storage() == x[j].(*torch.Tensor).Storage(); s != (q.Storage() == y[j].(*torch.Tensor).Storage()) {
				return fmt.Sprintf("%s and %s share memory: %v", name(i), name(j), s)
			}
		}
	}
	return ""
}

func attempt(f func() []torch.Value) (out []torch.Value, err string) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Sprint(r)
		}
	}()
	return f(), ""
}

// fuzzInputs makes inputs, some of which are views of each other. With
// gradients they are computed from leaves.
func fuzzInputs(seed int64, train bool) (leaves, in []*torch.Tensor) {
	r := rand.New(rand.NewSource(seed))
	torch.ManualSeed(seed)
	for range 1 + r.Intn(2) {
		x := torch.Randn(3, 4)
		leaves = append(leaves, x)
		if train && r.Intn(4) > 0 {
			x.RequiresGrad_()
		}
		x = x.Mul(1)
		if r.Intn(4) == 0 {
			x = x.T()
		}
		in = append(in, x)
		for range r.Intn(3) {
			v := []func() *torch.Tensor{
				func() *torch.Tensor { return x.Select(0, 1) },
				func() *torch.Tensor { return x.Narrow(1, 1, 2) },
				func() *torch.Tensor { return x.T() },
				func() *torch.Tensor { return x.Unsqueeze(0) },
				func() *torch.Tensor { return x.Diagonal() },
				func() *torch.Tensor { return x.Unfold(1, 2, 1) },
			}[r.Intn(6)]()
			in = append(in, v)
		}
	}
	return leaves, in
}

// fuzzGraph builds a graph over inputs like in.
func fuzzGraph(seed int64, in []*torch.Tensor) *graph.Graph {
	g := graph.New("g", &sym.Env{})
	f := &grapher{r: rand.New(rand.NewSource(seed + 1_000_000)), g: g}
	for i, x := range in {
		name := fmt.Sprintf("x%d", i)
		f.all = append(f.all, g.Input(name, name, "L['"+name+"']", x.TensorMeta()))
	}
	for range 3 + f.r.Intn(8) {
		f.step()
	}
	var outs []ops.Arg
	for range 1 + f.r.Intn(3) {
		outs = append(outs, f.pick())
	}
	g.SetOutput(outs)
	g.EliminateDead()
	if err := g.Check(); err != nil {
		panic(err)
	}
	return g
}

// grapher appends random calls.
type grapher struct {
	r   *rand.Rand
	g   *graph.Graph
	all []*graph.Node
}

func (f *grapher) pick() *graph.Node { return f.all[f.r.Intn(len(f.all))] }

func (f *grapher) step() {
	b := &graph.Builder{G: f.g, NoGrad: f.r.Intn(8) == 0}
	x := f.pick()
	defer func() { _ = recover() }() // arguments that do not fit: no call
	var out []ops.Value
	switch k := f.r.Intn(10); {
	case k < 5:
		b.NoGrad = false // PyTorch refuses to change a view that was taken without gradients
		out = f.view(b, x)
	case k < 8:
		f.inPlace(b, x)
		return
	default:
		out = []ops.Value{f.pure(b, x)}
	}
	for _, v := range out {
		f.all = append(f.all, v.(*graph.Node))
	}
}

func (f *grapher) pure(b *graph.Builder, x *graph.Node) ops.Value {
	switch f.r.Intn(6) {
	case 0:
		return b.Emit(ops.Add, x, f.pick())
	case 1:
		return b.Emit(ops.Mul, x, f.pick())
	case 2:
		return b.Emit(ops.Clone, x)
	case 3:
		return b.Emit(ops.Sum, x)
	}
	return b.Emit([]ops.ID{ops.Sin, ops.Tanh, ops.Exp, ops.Neg}[f.r.Intn(4)], x)
}

func (f *grapher) inPlace(b *graph.Builder, x *graph.Node) {
	names := []string{"add_", "mul_", "copy_", "sub_", "tanh_", "zero_", "fill_", "sin_", "neg_"}
	row, _ := ops.Lookup(names[f.r.Intn(len(names))])
	args := []ops.Arg{x}
	if len(row.Params()) > 1 {
		args = append(args, f.pick())
		if f.r.Intn(3) == 0 && row.Name != "copy_" || row.Name == "fill_" {
			args[1] = 0.5
		}
	}
	if !overlapping(x.TensorMeta()) {
		b.Emit(row.ID, args...)
	}
}

// overlapping reports whether two elements lie in one place: what a write does
// then is nobody's promise.
func overlapping(m *ops.TensorMeta) bool {
	seen := map[int64]bool{}
	at := []int64{0}
	for i := range m.Shape {
		var next []int64
		for _, p := range at {
			for k := range m.Shape[i].Hint() {
				next = append(next, p+k*m.Stride[i].Hint())
			}
		}
		at = next
	}
	for _, p := range at {
		if seen[p] {
			return true
		}
		seen[p] = true
	}
	return false
}

func (f *grapher) view(b *graph.Builder, x *graph.Node) []ops.Value {
	rank := len(x.TensorMeta().Shape)
	d := f.r.Intn(rank + 1)
	c := func(v int) sym.Int { return sym.C(v) }
	one := func(op ops.ID, args ...ops.Arg) []ops.Value {
		return []ops.Value{b.Emit(op, append([]ops.Arg{x}, args...)...)}
	}
	n := 1
	if d < rank {
		n = int(x.TensorMeta().Shape[d].Hint())
	}
	switch f.r.Intn(20) {
	case 0:
		return one(ops.Select, c(d), c(f.r.Intn(n)))
	case 1:
		return one(ops.Narrow, c(d), c(f.r.Intn(n)), c(1))
	case 2:
		return one(ops.Slice, c(d), c(f.r.Intn(n)), nil, c(1+f.r.Intn(2)))
	case 3:
		return one(ops.Transpose, c(0), c(d))
	case 4:
		return one(ops.T)
	case 5:
		return one(ops.View, []sym.Int{c(-1)})
	case 6:
		return one(ops.Reshape, []sym.Int{c(-1)})
	case 7:
		return one(ops.Unsqueeze, c(d))
	case 8:
		return one(ops.Squeeze)
	case 9:
		return one(ops.Expand, append([]sym.Int{c(2)}, x.TensorMeta().Shape...))
	case 10:
		return one(ops.Diagonal)
	case 11:
		return b.EmitN(ops.Split, x, []sym.Int{c(2)}, c(d))
	case 12:
		return b.EmitN(ops.Chunk, x, c(2), c(d))
	case 13:
		return b.EmitN(ops.Unbind, x, c(d))
	case 14:
		return one(ops.Detach)
	case 15: // gradients of what the argument does not show would be lost in eager mode too
		if sym.Product(x.TensorMeta().Shape).Hint() < 12 || overlapping(x.TensorMeta()) {
			return nil
		}
		return one(ops.AsStrided, []sym.Int{c(2), c(2)}, []sym.Int{c(2 + f.r.Intn(2)), c(1)})
	case 16:
		return one(ops.Unfold, c(d), c(2), c(1+f.r.Intn(2)))
	case 17:
		return one(ops.Movedim, []sym.Int{c(0)}, []sym.Int{c(d)})
	case 18:
		return one(ops.Flatten)
	}
	return b.EmitN(ops.TensorSplit, x, []sym.Int{c(2)}, c(d))
}
