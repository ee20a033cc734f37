package backends

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"tcdbg/graph"
	"tcdbg/internal/test"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
	"tcdbg/tracer"
)

// This file compares generated graphs with eager: a seed gives a graph, a graph
// runs on one width (or the interpreter of kernels) and as the eager backend runs it.

var (
	seeds = flag.Int("seeds", 0, "generated graphs to compare with eager (0: 60, or 20 in the short form)")
	seed0 = flag.Int("seed", 1, "first seed")
)

// generator grows a graph at random. Values that may differ from eager's in the
// last bits are not exact: they must not decide comparisons or roundings.
type generator struct {
	*testGraph
	r     *rand.Rand
	nodes []*graph.Node
	exact map[*graph.Node]bool
}

func generate(seed int) (*graph.Module, []torch.Value) {
	g := &generator{
		testGraph: newTestGraph(fmt.Sprintf("random_%d", seed)), r: rand.New(rand.NewPCG(uint64(seed), 7)),
		exact: map[*graph.Node]bool{},
	}
	base := g.shape()
	for range 2 + g.r.IntN(3) {
		d := []ops.DType{ops.Float32, ops.Float32, ops.Float32, ops.Float64, ops.Int64, ops.Int32, ops.Bool, ops.Uint8}[g.r.IntN(8)]
		n := g.input(filled(d, g.r.IntN(1000), g.vary(base)...))
		g.nodes, g.exact[n] = append(g.nodes, n), true
	}
	inputs := len(g.nodes)
	for tries := 0; len(g.nodes) < inputs+6+g.r.IntN(12) && tries < 200; tries++ {
		g.step()
	}
	var outs []ops.Value
	for _, n := range g.nodes[inputs:] {
		if n.NumUsers() == 0 || g.r.IntN(4) == 0 {
			outs = append(outs, n)
		}
	}
	return g.outputs(outs...), g.in
}

func (g *generator) shape() []int {
	sizes := []int{1, 2, 3, 5, 8, 16, 33, 64}
	out := make([]int, g.r.IntN(4))
	for i := range out {
		out[i] = sizes[g.r.IntN(len(sizes))]
	}
	return out
}

// vary makes a shape that broadcasts with base.
func (g *generator) vary(base []int) []int {
	out := append([]int{}, base...)
	for i := range out {
		if g.r.IntN(5) == 0 {
			out[i] = 1
		}
	}
	if len(out) > 0 && g.r.IntN(6) == 0 {
		out = out[1:]
	}
	return out
}

func (g *generator) pick() *graph.Node {
	if g.r.IntN(2) == 0 {
		return g.nodes[len(g.nodes)-1-g.r.IntN(min(4, len(g.nodes)))]
	}
	return g.nodes[g.r.IntN(len(g.nodes))]
}

// call adds an operator where the arguments fit and the result is small.
func (g *generator) call(exact bool, id ops.ID, args ...ops.Arg) {
	defer func() { _ = recover() }() // a rule refused the arguments
	row := ops.Get(id)
	bound, err := ops.Bind(row, args, nil)
	if err != nil {
		return
	}
	n, err := g.Call(row, bound, graph.CallFunction)
	if err != nil {
		return
	}
	m, ok := n.Meta.(*ops.TensorMeta)
	if !ok {
		return
	}
	size := 1
	for _, s := range sym.Hints(m.Shape) {
		size *= s
	}
	if size > 20000 || size == 0 {
		g.G.Erase(n)
		return
	}
	for _, in := range n.Inputs() {
		exact = exact && g.exact[in]
	}
	g.nodes, g.exact[n] = append(g.nodes, n), exact
}

var (
	smoothUnary = []ops.ID{
		ops.Sin, ops.Cos, ops.Tanh, ops.Sigmoid, ops.Erf, ops.Gelu, ops.Silu, ops.Atan, ops.Expm1, ops.Softplus,
		ops.Mish, ops.Elu, ops.Exp2,
	}
	exactUnary = []ops.ID{ops.Neg, ops.Abs, ops.Relu, ops.Square, ops.LeakyRelu, ops.Relu6, ops.Hardtanh}
	stepUnary  = []ops.ID{ops.Floor, ops.Ceil, ops.Trunc, ops.Round, ops.Sign, ops.LogicalNot, ops.Isnan, ops.Isfinite, ops.NanToNum}
	arithmetic = []ops.ID{ops.Add, ops.Sub, ops.Mul, ops.Maximum, ops.Minimum, ops.Rsub}
	stepBinary = []ops.ID{ops.Lt, ops.Le, ops.Gt, ops.Ge, ops.Eq, ops.Ne, ops.LogicalAnd, ops.LogicalOr, ops.LogicalXor}
	bitBinary  = []ops.ID{ops.BitwiseAnd, ops.BitwiseOr, ops.BitwiseXor}
	foldAll    = []ops.ID{ops.Sum, ops.Mean, ops.Amax, ops.Amin, ops.Prod, ops.Any, ops.AllOf, ops.Var, ops.Logsumexp}
)

func one[T any](g *generator, xs []T) T { return xs[g.r.IntN(len(xs))] }

// step tries one operator.
func (g *generator) step() {
	x := g.pick()
	m := x.TensorMeta()
	rank := len(m.Shape)
	dim := func() sym.Int { return sym.C(g.r.IntN(max(rank, 1))) }
	switch g.r.IntN(18) {
	case 0, 1:
		if m.DType.IsFloat() || g.r.IntN(3) == 0 {
			g.call(false, one(g, smoothUnary), x)
		}
	case 2:
		g.call(true, one(g, exactUnary), x)
	case 3:
		if g.exact[x] {
			g.call(true, one(g, stepUnary), x)
		}
	case 4, 5, 6:
		g.call(true, one(g, arithmetic), x, g.operand())
	case 7:
		if m.DType.IsFloat() {
			g.call(true, ops.Div, x, g.call1(ops.Add, g.call1(ops.Abs, g.pick()), sym.C(1)))
		}
	case 8:
		if y := g.pick(); g.exact[x] && g.exact[y] {
			g.call(true, one(g, stepBinary), x, y)
		}
	case 9:
		if y := g.pick(); !m.DType.IsFloat() && !y.TensorMeta().DType.IsFloat() {
			g.call(true, one(g, bitBinary), x, y)
		}
	case 10:
		if c := g.pick(); c.TensorMeta().DType == ops.Bool {
			g.call(true, ops.Where, c, x, g.operand())
		}
	case 11, 12:
		g.fold(x, rank)
	case 13:
		g.view(x, rank)
	case 14:
		g.call(false, ops.Softmax, x, dim())
	case 15:
		if m.DType.IsFloat() {
			g.call(false, ops.Matmul, x, g.pick())
		}
	case 16:
		g.call(true, ops.Cat, []ops.Value{x, g.pick(), x}, dim())
	case 17:
		to := one(g, []ops.DType{ops.Float32, ops.Float64, ops.Int64, ops.Bool})
		if g.exact[x] || to.IsFloat() {
			g.call(true, ops.To, x, to)
		}
	}
}

// operand is a tensor or a number.
func (g *generator) operand() ops.Arg {
	switch g.r.IntN(4) {
	case 0:
		return sym.C(g.r.IntN(5) - 2)
	case 1:
		return 0.5 + g.r.Float64()
	}
	return g.pick()
}

// call1 adds an operator that is sure to fit and returns it.
func (g *generator) call1(id ops.ID, args ...ops.Arg) *graph.Node {
	n := g.Emit(id, args...).(*graph.Node)
	exact := true
	for _, in := range n.Inputs() {
		exact = exact && g.exact[in]
	}
	g.nodes, g.exact[n] = append(g.nodes, n), exact
	return n
}

func (g *generator) fold(x *graph.Node, rank int) {
	id := one(g, foldAll)
	var dims []sym.Int
	for d := range rank {
		if g.r.IntN(2) == 0 {
			dims = append(dims, sym.C(d))
		}
	}
	keep := g.r.IntN(2) == 0
	exact := id == ops.Amax || id == ops.Amin || id == ops.Any || id == ops.AllOf
	switch {
	case id == ops.Prod || g.r.IntN(5) == 0 && g.exact[x]:
		if rank == 0 {
			return
		}
		if id != ops.Prod {
			id = one(g, []ops.ID{ops.Argmax, ops.Argmin})
		}
		g.call(id != ops.Prod, id, x, sym.C(g.r.IntN(rank)), keep)
	case id == ops.Var:
		g.call(false, id, x, dims, sym.C(0), keep)
	case len(dims) == 0 && id != ops.Logsumexp:
		g.call(exact, id, x)
	default:
		g.call(exact, id, x, dims, keep)
	}
}

func (g *generator) view(x *graph.Node, rank int) {
	shape := sym.Hints(x.TensorMeta().Shape)
	switch g.r.IntN(7) {
	case 0:
		if rank > 1 {
			g.call(true, ops.Transpose, x, sym.C(g.r.IntN(rank)), sym.C(g.r.IntN(rank)))
		}
	case 1:
		n := 1
		for _, s := range shape {
			n *= s
		}
		if n%2 == 0 && n > 2 {
			g.call(true, ops.Reshape, x, ints(n/2, 2))
		} else {
			g.call(true, ops.Reshape, x, ints(-1))
		}
	case 2:
		g.call(true, ops.Unsqueeze, x, sym.C(g.r.IntN(rank+1)))
	case 3:
		g.call(true, ops.Expand, x, ints(append([]int{2}, shape...)...))
	case 4:
		if rank > 0 {
			d := g.r.IntN(rank)
			g.call(true, ops.Slice, x, sym.C(d), sym.C(g.r.IntN(shape[d])), sym.C(shape[d]), sym.C(1+g.r.IntN(2)))
		}
	case 5:
		if rank > 0 {
			d := g.r.IntN(rank)
			g.call(true, ops.Select, x, sym.C(d), sym.C(g.r.IntN(shape[d])))
		}
	case 6:
		if rank > 0 {
			g.call(true, ops.Flip, x, ints(g.r.IntN(rank)))
		}
	}
}

// TestRandomGraphs compares generated graphs with eager, each on one width.
func TestRandomGraphs(t *testing.T) {
	n := *seeds
	switch {
	case n == 0 && test.IsLong():
		n = 60
	case n == 0:
		n = 20
	}
	for i := range n {
		seed := *seed0 + i
		m, in := generate(seed)
		w := widths[seed%len(widths)]
		want := m.Run(in)
		run, err := inductorAt(t, w).Compile(&tracer.Request{Module: m, Example: in})
		if err != nil {
			t.Errorf("seed %d, %d lanes: %v\n%s", seed, w, err, m.Code())
			continue
		}
		if err := sameValues(run(in), want, 2e-4); err != nil {
			t.Errorf("seed %d, %d lanes: %v\n%s", seed, w, err, m.Code())
		}
	}
}
