package progfuzz

import (
	"fmt"
	"math/rand"
)

// This file adds to model programs what they do not do by themselves: views that are
// written under NoGrad, or taken there and written after it, pieces of one operator
// that are written, hooks, compiled functions within compiled ones, closures that
// change what they captured or are replaced between two calls, slices and maps of
// tensors that grow, parameter groups, and optimizers whose step is compiled.

// mixedPrelude is what mixed programs use besides ModelPrelude.
const mixedPrelude = `
var inner = torch.Compile(func(x *torch.Tensor) *torch.Tensor { return x.Tanh().Mul(1.5).Add(x) })

var talking = torch.Compile(func(x *torch.Tensor) *torch.Tensor {
	y := x.Sin()
	fmt.Println("inner", y.Shape())
	return y.Add(0.25)
})

var turn = func(x *torch.Tensor) *torch.Tensor { return x.Mul(0.5) }

var seen = 0

func sumOf(xs ...*torch.Tensor) *torch.Tensor {
	s := xs[0].Mean()
	for _, x := range xs[1:] { s = s.Add(x.To(torch.Float32).Mean()) }
	return s
}

func sumNamed(named map[string]*torch.Tensor) *torch.Tensor {
	s := torch.Zeros(1)
	for _, k := range []string{"a", "b", "k", "z"} {
		if t, ok := named[k]; ok { s = s.Add(t.Mean()) }
	}
	return s
}
`

// GenerateMixed returns the text of a mixed program that goes after ModelPrelude; the
// same seed gives the same program.
func GenerateMixed(seed int64) string {
	g := &generator{r: rand.New(rand.NewSource(seed))}
	m := &modelWriter{generator: g, optimizer: g.r.Intn(2) == 0, mixed: true}
	g.sb.WriteString(mixedPrelude)
	m.forward()
	m.main()
	return g.sb.String()
}

// mixedRows are further expressions.
func mixedRows() []modelRow {
	float := func(text ...string) modelRow {
		return func(m *modelWriter, vs values) (string, value, bool) {
			v, ok := m.float32(vs)
			return fmt.Sprintf(pickOf(m.generator, text...), v.name), made(v, v.dims...), ok
		}
	}
	return []modelRow{
		float("inner(%s)", "talking(%s)", "turn(%s)", "inner(turn(%s))"),
		float("%s.Add(sumOf(list...))", "%s.Mul(sumNamed(named).Squeeze(0))", "%s.Add(sumOf(x, net.Scale, list[0]).Detach())"),
		float("%s.To(torch.Bfloat16).Mul(2).To(torch.Float32)", "%s.To(torch.Float16).Tanh().To(torch.Float32)"),
		float("compiler.Cond(%[1]s.Sum().Gt(0.25), func(a ...*torch.Tensor) *torch.Tensor { return a[0].Sin().Add(0.5) }, func(a " +
			"...*torch.Tensor) *torch.Tensor { seen++; return a[0].Neg() }, %[1]s)"),
		float(
			"compiler.Cond(%[1]s.Sum().Gt(0.25), func(a ...*torch.Tensor) *torch.Tensor { return a[0].Sin().Mul(%[1]s) }, func(a "+
				"...*torch.Tensor) *torch.Tensor { b := a[0].Neg(); b.Add_(net.Scale.Mean()); return b.Add(x.Mean()) }, %[1]s)",
			"compiler.Cond(x.Mean().Gt(net.Scale.Mean()), func(a ...*torch.Tensor) *torch.Tensor { return compiler.Cond(a[0].Max().Lt(1), "+
				"func(b ...*torch.Tensor) *torch.Tensor { return b[0].Tanh() }, func(b ...*torch.Tensor) *torch.Tensor { "+
				"return b[0].Sigmoid() }, a[0]) }, func(a ...*torch.Tensor) *torch.Tensor { return a[0].Mul(0.5) }, %[1]s)",
			"compiler.WhileLoop(func(c ...*torch.Tensor) *torch.Tensor { return c[0].Abs().Sum().Gt(2) }, func(c ...*torch.Tensor) "+
				"[]*torch.Tensor { return []*torch.Tensor{c[0].Mul(0.5)} }, %[1]s.Detach())[0].Add(%[1]s)",
		),
		float("func(n *int) *torch.Tensor { *n++; return %s.Add(*n%%3) }(&net.Steps)"),
	}
}

// mixedEffect writes a further statement for what it does; false where none fits.
func (m *modelWriter) mixedEffect(vs values) bool {
	v, ok := m.with(vs, func(v value) bool { return v.dtype == "Float32" && !v.kept && len(v.dims) > 0 })
	if !ok {
		return false
	}
	d := m.r.Intn(len(v.dims))
	view := pickOf(m.generator, fmt.Sprintf("%s.Select(%d, 0)", v.name, d), fmt.Sprintf("%s.Narrow(%d, 0, 1)", v.name, d),
		fmt.Sprintf("%s.Unsqueeze(0)", v.name), fmt.Sprintf("%s.Unbind(kw.Dim(%d))[0]", v.name, d),
		fmt.Sprintf("%s.Chunk(2, kw.Dim(%d))[0]", v.name, d))
	write := pickOf(m.generator, "Mul_(0.5)", "Add_(0.125)", "Neg_()", "Fill_(0.25)", "Mul_(net.Scale.Mean())", "Tanh_()")
	n := m.fresh("w")
	switch m.r.Intn(9) {
	case 0:
		m.line("torch.NoGrad(func() { %s.%s })", view, write)
	case 1:
		m.line("var %s *torch.Tensor", n)
		m.line("torch.NoGrad(func() { %s = %s })", n, view)
		m.line("%s.%s", n, write)
	case 2:
		m.line("%s := %s", n, view)
		m.line("torch.NoGrad(func() { %s.%s })", n, write)
		m.line("list[1] = %s.Mean().Detach().Expand(4).Clone()", n)
	case 3:
		m.line("%s.%s", view, write)
	case 4:
		m.line("if %[1]s.RequiresGrad() { %[1]s.RegisterHook(func(g *torch.Tensor) *torch.Tensor { seen++; return g.Mul(0.5) }) }", v.name)
	case 5:
		m.line("%s := 0", n)
		m.line("for range 2 { func() { %s++; seen += %s }() }", n, n)
		m.line("%s.Add_(%s)", v.name, n)
	case 6:
		m.line("list = append(list, %s)", v.name)
	case 7:
		m.line("torch.NoGrad(func() { named[\"z\"] = %s; named[\"z\"].%s })", view, pickOf(m.generator, "Mul_(0.5)", "Add_(0.125)"))
	case 8:
		m.line("torch.NoGrad(func() { torch.EnableGrad(func() { %s = %s.Mul(net.Scale.Mean()) }) })", v.name, v.name)
	}
	return true
}

// mixedOptimizer is an optimizer with groups.
func (m *modelWriter) mixedOptimizer() string {
	return pickOf(m.generator,
		"optim.NewSGD([]optim.Group{{Params: net.parameters()[:2], Lr: 0.05}, {Params: net.parameters()[2:], Lr: 0.01, Momentum: "+
			"0.5}}, kw.Lr(0.1))",
		"optim.NewAdamW([]optim.Group{{Params: net.parameters()[:3]}, {Params: net.parameters()[3:], Lr: 0.01}}, kw.Lr(0.02), "+
			"kw.Eps(0.05))",
		"optim.NewRMSprop(net.parameters(), kw.Lr(0.01), kw.Eps(0.1))")
}

// mixedChange alters something between two calls.
func (m *modelWriter) mixedChange() {
	m.line("%s", pickOf(m.generator, "turn = func(x *torch.Tensor) *torch.Tensor { return x.Cos() }", "list = append(list, torch.Rand(4))",
		"named[\"a\"] = torch.Rand(1, 4)", "delete(named, \"z\")", "list = list[:2]", "seen = 0", "net.Steps += 2", "_ = seen",
		"named = map[string]*torch.Tensor{\"b\": torch.Ones(4)}",
		"{ k := seen; turn = func(x *torch.Tensor) *torch.Tensor { return x.Add(k % 3) } }"))
}
