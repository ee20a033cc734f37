package progfuzz

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
)

// This file is the frame of a model program: a module with parameters and
// buffers, a compiled function over tensors of many shapes and types, and a
// main that calls it with batches of several sizes and trains it. Which
// operators may be where is the table of modelexpr.go.

// ModelPrelude is what model programs use.
const ModelPrelude = `
type Net struct {
	Lin   *nn.Linear
	Norm  *nn.BatchNorm1d
	Emb   *nn.Embedding
	Drop  *nn.Dropout
	Scale *torch.Tensor
	State *torch.Tensor
	Steps int
}

func newNet() *Net {
	return &Net{
		Lin: nn.NewLinear(4, 4), Norm: nn.NewBatchNorm1d(4), Emb: nn.NewEmbedding(5, 4), Drop: nn.NewDropout(0.25),
		Scale: torch.Full([]int{4}, 0.75, kw.RequiresGrad(true)), State: torch.Zeros(4),
	}
}

func (n *Net) parameters() []*torch.Tensor {
	return []*torch.Tensor{n.Lin.Weight, n.Lin.Bias, n.Norm.Weight, n.Norm.Bias, n.Emb.Weight, n.Scale}
}

func (n *Net) print() {
	for _, p := range n.parameters() {
		if p.Grad() != nil {
			fmt.Println("gradient", p.Grad())
		}
		fmt.Println("parameter", p.Detach())
	}
	fmt.Println(n.Norm.RunningMean, n.Norm.RunningVar, n.State, n.Steps)
}

func twice(fn func(*torch.Tensor) *torch.Tensor, x *torch.Tensor) *torch.Tensor { return fn(fn(x)) }
`

// GenerateModel returns the text of a model program that goes after
// ModelPrelude; the same seed gives the same program.
func GenerateModel(seed int64) string {
	g := &generator{r: rand.New(rand.NewSource(seed))}
	m := &modelWriter{generator: g, optimizer: g.r.Intn(3) == 0}
	m.forward()
	m.main()
	return g.sb.String()
}

// modelWriter writes one model program.
type modelWriter struct {
	*generator
	optimizer bool // main steps one
	norm      bool // the batch is normalized, so one row would be refused
	mixed     bool // of GenerateMixed
}

// value is a tensor variable. A dimension is a number, or B for the batch size.
type value struct {
	name  string
	dims  []string
	dtype string // as torch spells it: Float32, Float16, Int64, Bool, ...
	// raw: it is an input, whose numbers no operator has made.
	raw bool
	// kept: nothing may write to it, since it may show a leaf that wants gradients
	// or one place several times.
	kept bool
}

func (v value) float() bool { return strings.HasPrefix(v.dtype, "Float") || v.dtype == "Bfloat16" }

// is reports whether v is of the type and the dimensions.
func (v value) is(dtype string, dims ...string) bool {
	return v.dtype == dtype && slices.Equal(v.dims, dims)
}

// values are the tensors that a statement may use.
type values []value

// with picks a value that fits, false where there is none.
func (m *modelWriter) with(vs values, fits func(value) bool) (value, bool) {
	var some values
	for _, v := range vs {
		if fits(v) {
			some = append(some, v)
		}
	}
	if len(some) == 0 {
		return value{}, false
	}
	return some[m.r.Intn(len(some))], true
}

// forward writes the function that main compiles.
func (m *modelWriter) forward() {
	m.line("func f(net *Net, x, y, z *torch.Tensor, ids, mask *torch.Tensor, list []*torch.Tensor, named map[string]*torch.Tensor) " +
		"[]*torch.Tensor {")
	vs := values{
		{name: "x", dims: []string{"B", "4"}, dtype: "Float32", raw: true},
		{name: "y", dims: []string{"B", "4"}, dtype: "Float32", raw: true},
		{name: "z", dims: []string{"B", "3", "4"}, dtype: "Float32", raw: true},
		{name: "ids", dims: []string{"B"}, dtype: "Int64", raw: true},
		{name: "mask", dims: []string{"B", "4"}, dtype: "Bool", raw: true},
		{name: "net.Scale", dims: []string{"4"}, dtype: "Float32", raw: true, kept: true},
		{name: "list[0]", dims: []string{"4"}, dtype: "Float32", raw: true},
		{name: "named[\"k\"]", dims: []string{"B", "4"}, dtype: "Float32", raw: true},
	}
	vs = m.statements(vs, 5+m.r.Intn(9), 0)
	var out []string
	for range 1 + m.r.Intn(3) {
		v := vs[m.r.Intn(len(vs))]
		out = append(out, v.name)
	}
	m.line("return []*torch.Tensor{%s}", strings.Join(out, ", "))
	m.line("}")
}

// statements writes n statements and returns the values that live after them.
func (m *modelWriter) statements(vs values, n, depth int) values {
	for range n {
		if m.mixed && m.r.Intn(4) == 0 && m.mixedEffect(vs) {
			continue
		}
		switch m.r.Intn(12) {
		case 0:
			if depth < maxDepth-1 {
				m.nested(vs, depth)
				continue
			}
		case 1, 2:
			if m.effect(vs) {
				continue
			}
		}
		vs = m.declare(vs)
	}
	return vs
}

// declare writes a variable with a value of the table.
func (m *modelWriter) declare(vs values) values {
	rows := modelRows()
	if m.mixed {
		rows = append(rows, slices.Concat(mixedRows(), mixedRows())...)
	}
	for range 50 {
		row := rows[m.r.Intn(len(rows))]
		text, made, ok := row(m, vs)
		if !ok {
			continue
		}
		made.kept = strings.Contains(text, "Expand(")
		for _, v := range vs {
			made.kept = made.kept || v.kept && strings.HasPrefix(text, v.name+".")
		}
		made.name = m.fresh("t")
		m.line("%s := %s", made.name, text)
		m.line("_ = %s", made.name)
		return append(vs[:len(vs):len(vs)], made)
	}
	return vs
}

// effect writes a statement for what it does; false where none fits.
func (m *modelWriter) effect(vs values) bool {
	v, ok := m.with(vs, func(v value) bool { return v.dtype == "Float32" && !v.kept })
	if !ok {
		return false
	}
	same, _ := m.with(vs, func(w value) bool { return w.is(v.dtype, v.dims...) })
	switch m.r.Intn(15) {
	case 0:
		m.line("%s.Add_(%s)", v.name, pickOf(m.generator, "0.5", "1", "net.State.Mean()"))
	case 1:
		m.line("%s.Mul_(%s)", v.name, pickOf(m.generator, "0.5", "-1", same.name+".Tanh()"))
	case 2:
		if len(v.dims) > 0 {
			m.line("%s.Select(%d, 0).%s", v.name, m.r.Intn(len(v.dims)), pickOf(m.generator, "Fill_(0.25)", "Neg_()", "Sin_()", "Zero_()"))
		}
	case 3:
		m.line("%s.Copy_(%s)", v.name, same.name)
	case 4:
		m.line("%s.Detach().Add_(0.125)", v.name)
	case 5:
		m.line("torch.NoGrad(func() { net.State.Add_(%s.Mean()) })", v.name)
	case 6:
		m.line("net.State = net.State.Mul(0.5).Add(%s.Detach().Mean())", v.name)
	case 7:
		m.line("named[%q] = %s", pickOf(m.generator, "a", "b"), v.name)
	case 8:
		if v.is("Float32", "4") {
			m.line("list[%d] = %s", m.r.Intn(2), v.name)
		}
	case 9:
		m.line("fmt.Println(\"mean\", %s.Mean().Detach(), net.Steps)", v.name)
	case 10:
		m.line("compiler.GraphBreak()")
	case 11:
		m.line("net.Steps++")
	case 12:
		m.line("%s.Copy_(%s.MaskedFill(%s.Gt(0.5), 0.5))", v.name, v.name, same.name)
	case 13:
		if v.is("Float32", "B", "4") {
			m.line("%s.SetAt(%s, torch.Range(0, 1))", v.name, pickOf(m.generator, "0.5", "list[0]"))
		}
	case 14:
		if v.is("Float32", "B", "4") {
			m.line(
				"%s.IndexPut_([]*torch.Tensor{ids.Remainder(%s.Size(0))}, %s.Tanh(), kw.Accumulate(%v))", v.name,
				v.name, same.name, m.r.Intn(2) == 0,
			)
		}
	}
	return true
}

// nested writes a statement with a block of statements.
func (m *modelWriter) nested(vs values, depth int) {
	v, _ := m.with(vs, value.float)
	in := vs[:len(vs):len(vs)]
	switch m.r.Intn(6) {
	case 0:
		m.line("if x.Size(0) > 3 {")
		m.assigning(in, depth)
		m.line("}")
	case 1:
		m.line("if %s.Sum().Gt(0.25).Bool() {", v.name)
		m.assigning(in, depth)
		m.line("} else {")
		m.assigning(in, depth)
		m.line("}")
	case 2:
		m.line("for range %d {", 1+m.r.Intn(3))
		m.assigning(in, depth)
		m.line("}")
	case 3:
		m.line("torch.NoGrad(func() {")
		m.assigning(in, depth)
		m.line("})")
	case 4:
		m.line("if net.Steps%2 == 0 {")
		m.assigning(in, depth)
		m.line("}")
	case 5:
		m.line("func() {")
		m.line("defer func() { net.Steps++ }()")
		m.assigning(in, depth)
		m.line("}()")
	}
}

// assigning writes a block that ends with an assignment to a variable around it.
func (m *modelWriter) assigning(vs values, depth int) {
	inner := m.statements(vs, 1+m.r.Intn(3), depth+1)
	made := inner[len(inner)-1]
	to, ok := m.with(vs, func(v value) bool {
		return v.is(made.dtype, made.dims...) && !strings.ContainsAny(v.name, ".[") && v.name != made.name
	})
	if ok && !made.kept {
		m.line("%s = %s", to.name, made.name)
	}
}

// main calls the compiled function with batches of several sizes, each followed
// by a backward pass.
func (m *modelWriter) main() {
	m.line("func main() {")
	m.line("net := newNet()")
	switch {
	case m.optimizer && m.mixed:
		m.line("opt := %s", m.mixedOptimizer())
		m.line("step := %s", pickOf(m.generator, "opt.Step", "torch.Compile(opt.Step)", "torch.Compile(func() { opt.Step() })"))
	case m.optimizer:
		m.line(
			"opt := %s",
			pickOf(
				m.generator, "optim.NewSGD(net.parameters(), kw.Lr(0.05), kw.Momentum(0.5))",
				"optim.NewAdamW(net.parameters(), kw.Lr(0.02), kw.Eps(0.05))",
			),
		)
	}
	m.line("list, named := []*torch.Tensor{torch.Ones(4), torch.Rand(4)}, map[string]*torch.Tensor{}")
	m.line(
		"c := %s",
		pickOf(
			m.generator, "torch.Compile(f)", "torch.Compile(f)", "torch.Compile(f, kw.Dynamic(true))",
			"torch.Compile(f, kw.Dynamic(false))",
		),
	)
	m.line("call := func(rows int) {")
	m.line("defer func() { if e := recover(); e != nil { fmt.Println(\"recovered\", e) } }()")
	m.line("x, y, z := torch.Rand(rows, 4), torch.Randn(rows, 4), torch.Rand(rows, 3, 4)")
	m.line("ids, mask := torch.Arange(rows).Mul(3).Remainder(5), torch.Rand(rows, 4).Gt(0.5)")
	m.line(
		"named[\"k\"] = %s",
		pickOf(m.generator, "torch.Rand(rows, 4)", "torch.Rand(rows, 4)", "x", "y.Add(1)", "torch.Rand(rows, 8).Narrow(1, 2, 4)"),
	)
	m.line("for _, p := range net.parameters() { p.SetGrad(nil) }")
	m.line("var loss *torch.Tensor")
	m.line("for _, r := range c(net, x, y, z, ids, mask, list, named) {")
	m.line("fmt.Println(\"result\", r.Detach())")
	m.line("if r.RequiresGrad() { s := r.To(torch.Float32).Square().Mean(); if loss == nil { loss = s } else { loss = loss.Add(s) } }")
	m.line("}")
	m.line("fmt.Println(x.Detach(), y.Detach(), z.Detach(), list[0].Detach(), list[1].Detach(), len(named))")
	m.line("list[0], list[1], net.State = list[0].Detach(), list[1].Detach(), net.State.Detach()")
	if m.mixed { // what calls leave behind must not hold on to their tapes
		m.line("for i := range list { list[i] = list[i].Detach() }")
		m.line("for k := range named { named[k] = named[k].Detach() }")
	}
	m.line("if loss != nil { loss.Backward() }")
	switch {
	case m.optimizer && m.mixed:
		m.line("step()")
	case m.optimizer:
		m.line("opt.Step()")
	}
	m.line("}")
	least := 1
	if m.norm {
		least = 2
	}
	for range 3 + m.r.Intn(3) {
		m.line("call(%d)", max(least, pickOf(m.generator, 2, 2, 3, 5, 7, 1, 4)))
		m.line("net.print()")
		if m.mixed {
			m.line("fmt.Println(len(list), len(named), seen)")
			m.mixedChange()
		}
		if m.r.Intn(5) == 0 {
			m.line("%s", pickOf(m.generator, "nn.Eval(net.Norm)", "nn.Eval(net.Drop)", "nn.Train(net.Norm)",
				"net.State = torch.Ones(4)", "net.Scale = net.Scale.Detach().RequiresGrad_()"))
		}
	}
	m.line("}")
}

// dims writes dimensions as the arguments of a call; B is x's.
func dims(ds []string) string {
	out := make([]string, len(ds))
	for i, d := range ds {
		out[i] = d
		if d == "B" {
			out[i] = "x.Size(0)"
		}
	}
	return strings.Join(out, ", ")
}

// without drops dimension d.
func dropDim(ds []string, d int) []string {
	return append(append([]string{}, ds[:d]...), ds[d+1:]...)
}

// number is a dimension that is known, 0 for the batch.
func number(d string) (n int) {
	_, _ = fmt.Sscan(d, &n)
	return n
}
