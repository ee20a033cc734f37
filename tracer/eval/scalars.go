package eval

import (
	"fmt"
	"go/token"
	"go/types"
	"regexp"
	"strings"

	"tcdbg/graph"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
	"tcdbg/tracer/breaks"
	"tcdbg/tracer/guard"
	"tcdbg/tracer/replay"
	"tcdbg/tracer/value"

	"golang.org/x/tools/go/ssa"
)

// This file is numbers that the program reads out of tensors (Settings.CaptureScalarOutputs):
// each is a symbol of the graph, of whose value nothing is known but what torch.Check says. A
// question that this does not answer breaks the graph, as PyTorch's GuardOnDataDependentSymNode
// does.

// unhinted is the bits that a trace has for such a number, which nothing may be decided by.
const unhinted = 8192

// scalars captures numbers.
type scalars struct{ *Trace }

// capture makes a symbol of a number that is read out of a tensor. It reports false where the
// graph has to break instead.
func (sc scalars) capture(in *ssa.Call, args []ssa.Value, row *ops.Op) bool {
	if row.ID != ops.Item || !sc.env.Scalars() || sc.flowing != nil || sc.applying != nil || !sc.plain() {
		return false
	}
	x := sc.tensorNode(args[0])
	m := x.TensorMeta()
	if k, known := sym.Product(m.Shape).IsConst(); !known || k != 1 || m.DType.IsComplex() || m.Device == ops.Meta {
		return false
	}
	if m.DType.IsFloat() {
		return floats(sc).capture(in, x)
	}
	u := sc.Shapes.NewUnbacked()
	n := sc.Graph.Append(&graph.Node{
		Name: row.Name, Kind: graph.CallMethod, Op: row.ID, Args: []ops.Arg{x}, Meta: u, Stack: sc.stack(), NoGrad: sc.underNoGrad(),
	})
	s, _ := u.AsSymbol()
	sc.remember(s, n)
	if in.Type().Underlying().(*types.Basic).Info()&types.IsFloat != 0 {
		*(*float64)(sc.addr(in)) = unhinted
	} else {
		*(*int)(sc.addr(in)) = unhinted
	}
	sc.skip()
	sc.set(in, sizeTracked(u))
	return true
}

// captureShape captures an operator whose result has as many rows as data says.
func (sc scalars) captureShape(in *ssa.Call, args []ssa.Value, b torch.Binding) bool {
	if !sc.env.Rows() || sc.flowing != nil || sc.applying != nil || !sc.plain() {
		return false
	}
	row := ops.Get(b.Op)
	pos, kw := arguments(sc).bindCall(args, b, row)
	bound, err := ops.Bind(row, pos, kw)
	if err != nil || ops.TouchesComplex(bound) {
		return false
	}
	self, ok := bound[0].(*graph.Node)
	if !ok || self.TensorMeta().Device == ops.Meta {
		return false
	}
	results := sc.rows(b.Op, bound, self.TensorMeta())
	if results == nil {
		return false
	}
	kind := graph.CallMethod
	if !b.Method {
		kind = graph.CallFunction
	}
	n := sc.Graph.Append(&graph.Node{
		Name: row.Name, Kind: kind, Op: row.ID, Args: bound, Meta: results[0], Stack: sc.stack(), NoGrad: sc.underNoGrad(),
	})
	if len(results) > 1 {
		n.Meta = results
	}
	sc.results(in, args, &graph.Builder{G: sc.Graph, Stack: n.Stack, NoGrad: n.NoGrad}, n, row)
	s, _ := results[0].(*ops.TensorMeta).Shape[0].AsSymbol()
	first := n
	if len(results) > 1 {
		first = n.Next() // the first that is taken out of n
	}
	sc.remember(s, first)
	return true
}

// rows are the results of an operator of which the first has as many rows as data says; nil
// for another operator.
func (sc scalars) rows(op ops.ID, args []ops.Arg, self *ops.TensorMeta) []ops.Result {
	var inverse, counts bool
	switch op {
	case ops.Nonzero, ops.Argwhere, ops.MaskedSelect:
	case ops.Unique, ops.UniqueConsecutive:
		flags := args[len(args)-3:] // return_inverse, return_counts, dim
		if flags[2] != nil {
			return nil
		}
		inverse, counts = flags[0].(bool), flags[1].(bool)
	default:
		return nil
	}
	u := sc.Shapes.NewUnbacked()
	s, _ := u.AsSymbol()
	s.Low = 0
	tensor := func(d ops.DType, shape ...sym.Int) *ops.TensorMeta {
		return &ops.TensorMeta{DType: d, Device: self.Device, Shape: shape, Stride: ops.ContiguousStrides(shape), Offset: sym.C(0)}
	}
	if op == ops.Nonzero || op == ops.Argwhere {
		places := tensor(ops.Int64, u, sym.C(len(self.Shape)))
		places.Stride = []sym.Int{sym.C(1), u} // coordinate by coordinate
		return []ops.Result{places}
	}
	out := []ops.Result{tensor(self.DType, u)}
	if inverse {
		out = append(out, tensor(ops.Int64, self.Shape...))
	}
	if counts {
		out = append(out, tensor(ops.Int64, u))
	}
	return out
}

// remember notes where a symbol comes from.
func (sc scalars) remember(s *sym.Symbol, n *graph.Node) {
	if sc.Trace.scalars == nil {
		sc.Trace.scalars = map[*sym.Symbol]*graph.Node{}
	}
	sc.Trace.scalars[s] = n
}

// unbackedSize is the symbol of a size that the program marked as unbacked.
func (c *capture) unbackedSize(s *value.Source, dim, size int, said *torch.Unbacked) sym.Int {
	if said == nil {
		said = &torch.Unbacked{}
	}
	if x, there := c.named[said.ShapeID]; there {
		return c.sameUnbacked(x, s, dim, size)
	}
	x := c.Shapes.NewUnbacked()
	u, _ := x.AsSymbol()
	u.Low, u.Source = 0, fmt.Sprintf("%s.size()[%d]", s.Name, dim)
	c.Symbols[u] = guard.Origin{Src: s, Dim: dim, Hint: size, Expr: x, At: ofProgram(c.frames.UserStack())}
	if said.Min > 0 {
		sym.Rel{Op: sym.OpLe, A: sym.Const(int64(said.Min)), B: x}.Assume()
	}
	if said.Max > 0 {
		sym.Rel{Op: sym.OpLe, A: x, B: sym.Const(int64(said.Max))}.Assume()
	}
	if said.ShapeID != "" {
		if c.named == nil {
			c.named = map[string]sym.Int{}
		}
		c.named[said.ShapeID] = x
	}
	if said.Strict {
		c.strict = append(c.strict, u)
	}
	return x
}

// sameUnbacked is the symbol of a size that has the name of an earlier one, which has to be as large.
func (c *capture) sameUnbacked(x sym.Int, s *value.Source, dim, size int) sym.Int {
	u, _ := x.AsSymbol()
	o := c.Symbols[u]
	if o.Hint != size {
		panic(&torch.Error{Op: "torch.Compile", Kind: "RuntimeError", Msg: fmt.Sprintf(
			"Runtime assertion failed for expression Eq(%s, %s.size()[%d]): %d and %d, which are marked as one size",
			u.Source, s.Name, dim, o.Hint, size)})
	}
	c.guards.SameSize(u, o, s, dim)
	return x
}

// asksSize is a question whether a size is a certain number.
var asksSize = regexp.MustCompile(`^Eq\((u\d+), (\d+)\)`)

// StrictViolated says, in PyTorch's words, that a break would make a size a constant that is marked strictly; "" where
// none would.
func (c *capture) StrictViolated(b *replay.Break) string {
	if b == nil || b.Code != breaks.DataDependentBranching {
		return ""
	}
	asked := asksSize.FindStringSubmatch(strings.TrimPrefix(b.Detail, breaks.Unguarded))
	for _, u := range c.strict {
		if asked != nil && asked[1] == u.Name {
			return fmt.Sprintf("Constraints violated (%s)! For more information, run with TORCH_LOGS=\"+dynamic\".\n"+
				"  - You marked %s as unbacked and strict but your code specialized it to be a constant (%s).",
				u.Source, u.Source, asked[2])
		}
	}
	return ""
}

// unbackedInput notes an input with such sizes, and breaks where the graph cannot have one.
func (sc scalars) unbackedInput(s *value.Source, m *ops.TensorMeta) {
	for _, x := range m.Shape {
		u, is := x.AsSymbol()
		if !is || !u.Unbacked {
			continue
		}
		if sc.flowing != nil || sc.applying != nil || !sc.plain() {
			breakAt(breaks.UnsupportedOperator, "%s has an unbacked size, which a graph with writes in place or control flow cannot hold",
				s.Argument())
		}
		sc.remember(u, nil)
	}
}

// hinted is m with bits for what nobody knows.
func hinted(m *ops.TensorMeta) *ops.TensorMeta {
	bits := func(xs []sym.Int) []sym.Int {
		out := make([]sym.Int, len(xs))
		for i, x := range xs {
			out[i] = x.Subst(func(s *sym.Symbol) (sym.Int, bool) { return sym.Const(unhinted), s.Unbacked })
		}
		return out
	}
	h := *m
	h.Shape, h.Stride, h.Offset = bits(m.Shape), bits(m.Stride), bits([]sym.Int{m.Offset})[0]
	return &h
}

// plain reports whether the graph so far has operators that give new tensors or views, so
// that it can be run in parts.
func (sc scalars) plain() bool {
	if len(sc.mutated) > 0 {
		return false
	}
	for n := sc.Graph.First(); n != nil; n = n.Next() {
		if n.Apply != nil || n.Flow != nil || len(n.Statistics()) > 0 {
			return false
		}
	}
	return true
}

// refuseAfter breaks before what a graph cannot do once it has read a number.
func (sc scalars) refuseAfter(what string) {
	if len(sc.Trace.scalars) > 0 || sc.floats > 0 {
		breakAt(breaks.UnsupportedOperator, "%s %s", what, sc.since("after a number is read out of a tensor"))
	}
}

// since says what came before: a number, as the text says, or an input with an unbacked size.
func (sc scalars) since(number string) string {
	for _, n := range sc.Trace.scalars {
		if n == nil {
			return "beside a size that is marked as unbacked"
		}
	}
	return number
}

// unguarded is the break of a question that only data can answer, in PyTorch's words.
func unguarded(expr string) *breakSignal {
	return &breakSignal{&replay.Break{Code: breaks.DataDependentBranching, Detail: breaks.Unguarded + expr + " (unhinted: " + expr + ")"}}
}

// relations are comparisons as relations: of the operands in their order, or swapped.
var relations = map[token.Token]struct {
	op      sym.Op
	swapped bool
	text    string
}{
	token.EQL: {sym.OpEq, false, "Eq(%s, %s)"}, token.NEQ: {sym.OpNe, false, "Ne(%s, %s)"},
	token.LSS: {sym.OpLt, false, "%s < %s"}, token.LEQ: {sym.OpLe, false, "%s <= %s"},
	token.GTR: {sym.OpLt, true, "%s > %s"}, token.GEQ: {sym.OpLe, true, "%s >= %s"},
}

// compare answers a comparison of a number that comes out of data, by what is checked of it.
// It reports false for any other operation. What torch.Check is given is taken for true.
func (sc scalars) compare(in *ssa.BinOp, x, y *value.Tracked) bool {
	rel, is := relations[in.Op]
	if !is || !isSize(x) && !isSize(y) || value.KindOf(in.X.Type()).Class != value.SignedInt {
		return false
	}
	a, b := sc.sizeOf(in.X, x), sc.sizeOf(in.Y, y)
	if !sym.HasUnbacked(a) && !sym.HasUnbacked(b) {
		return false
	}
	r := sym.Rel{Op: rel.op, A: a, B: b}
	if rel.swapped {
		r.A, r.B = b, a
	}
	yes, known := r.Known()
	if !known {
		if !onlyChecked(in) {
			panic(unguarded(fmt.Sprintf(rel.text, a, b)))
		}
		r.Assume()
		yes = true
	}
	*(*bool)(sc.addr(in)) = yes
	sc.skip()
	sc.set(in, nil)
	return true
}

// onlyChecked reports whether a condition goes to torch.Check and nowhere else.
func onlyChecked(in *ssa.BinOp) bool {
	found := false
	for _, use := range *in.Referrers() {
		switch use := use.(type) {
		case *ssa.DebugRef:
		case *ssa.Call:
			if f := use.Call.StaticCallee(); f == nil || f.String() != torchPath+"Check" {
				return false
			}
			found = true
		default:
			return false
		}
	}
	return found
}

// atLeastZero reports whether the checks say so.
func atLeastZero(a sym.Int) bool {
	yes, known := sym.Rel{Op: sym.OpLe, A: sym.Const(0), B: a}.Known()
	return known && yes
}

// checked evaluates torch.Check.
func checked(tr *Trace, in *ssa.Call) {
	cond := in.Call.Args[0]
	tr.constant(cond)
	if !*(*bool)(tr.addr(cond)) {
		breakAt(breaks.ObservedPanic, "torch.Check fails")
	}
	tr.skip()
}

// item gives the graph an output out of which the value of a symbol is read again.
func (rs *reconstructor) item(u *sym.Symbol) {
	n := rs.tr.scalars[u]
	if _, done := rs.items[u]; n == nil || done {
		return
	}
	x, at := n, replay.Item{I: len(rs.order), Dim: 0}
	if n.Op == ops.Item {
		x, at.Dim = n.Inputs()[0], -1
	}
	if x.Kind == graph.Placeholder {
		b := &graph.Builder{G: rs.tr.Graph, Before: n, Stack: n.Stack, NoGrad: true}
		x = b.Emit(ops.Clone, x).(*graph.Node)
	}
	if rs.items == nil {
		rs.items = map[*sym.Symbol]replay.Item{}
	}
	rs.items[u] = at
	rs.handed[len(rs.order)]++
	rs.order = append(rs.order, rs.tr.fake(x))
}
