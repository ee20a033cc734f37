package progfuzz

import (
	"fmt"
	"math/rand"
	"strings"
)

// This file makes programs with autograd functions of their own: what Forward saves,
// writes and returns is drawn, and Backward is any formula of the right shapes, seldom
// the derivative, so that a gradient which comes from anywhere else shows.

// applyWriter writes one such program. Tensors are (n, 3), weights (3).
type applyWriter struct {
	*generator
	results []int // of each function
	names   int
}

// GenerateApplies returns the text of a program with autograd functions of its own,
// which needs no prelude; the same seed gives the same program.
func GenerateApplies(seed int64) string {
	w := &applyWriter{generator: &generator{r: rand.New(rand.NewSource(seed))}}
	w.sb.WriteString("type tensors = []*torch.Tensor\n\nvar kept *torch.Tensor\nvar calls int\nvar scale = 0.5\n\n")
	for i := range 1 + w.r.Intn(3) {
		w.function(i)
	}
	w.compiled()
	w.sb.WriteString(applyMain)
	return w.sb.String()
}

func (w *applyWriter) write(format string, args ...any) { fmt.Fprintf(&w.sb, format, args...) }

func (w *applyWriter) chance(n int) bool { return w.r.Intn(n) == 0 }

// step is an expression of the shape of v.
func (w *applyWriter) step(v, weight string) string {
	return fmt.Sprintf(pickOf(w.generator, "%[1]s.Sin()", "%[1]s.Tanh().Mul(2)", "%[1]s.Mul(%[2]s)", "%[1]s.Sigmoid().Add(%[2]s)",
		"%[1]s.Round()", "%[1]s.Abs().Add(0.5).Log()",
		"%[1]s.Sub(%[1]s.Mean(kw.Dim(1), kw.Keepdim(true)))", "%[1]s.Clamp(kw.Min(-0.5), kw.Max(0.75))", "%[1]s.T().Cos().T()",
		"%[1]s.Softmax(1)",
		"%[1]s.Reshape(-1).Mul(0.7).View(-1, 3)", "%[1]s.Gt(0).Where(%[1]s, 0.25)", "%[1]s.Div(float64(%[1]s.Size(1)))"), v, weight)
}

// function writes a function of a tensor and a weight with its own backward.
func (w *applyWriter) function(i int) {
	w.write("type fn%d struct{ k float64 }\n\n", i)
	receiver := fmt.Sprintf(pickOf(w.generator, "f fn%d", "f *fn%d"), i)
	w.write("func (%s) Forward(ctx *autograd.Context, in ...*torch.Tensor) tensors {\n\tx, w := in[0], in[1]\n", receiver)
	vars := []string{"x"}
	for k := range 1 + w.r.Intn(3) {
		w.write("\tv%[1]d := %[2]s.Mul(f.k)\n\t_ = v%[1]d\n", k, w.step(pickOf(w.generator, vars...), "w"))
		vars = append(vars, fmt.Sprintf("v%d", k))
		if w.chance(4) {
			w.write("\tv%d.%s\n", k, pickOf(w.generator, "Mul_(0.5)", "Clamp_(kw.Max(0.9))", "Select(0, 0).Add_(1)", "SetAt(0.5, 0)"))
		}
	}
	if w.chance(4) {
		w.write("\tcalls++\n")
	}
	if w.chance(6) {
		w.write("\tkept = %s\n", pickOf(w.generator, vars[1:]...))
	}
	saved := []string{"w"}
	for _, v := range vars {
		if w.chance(2) {
			saved = append(saved, v)
		}
	}
	last := vars[len(vars)-1]
	results := []string{last}
	switch w.r.Intn(8) {
	case 0:
		results = []string{"x"}
	case 1:
		results = []string{"x.View(x.Size(0), 3)"}
	case 2, 3:
		w.write("\tother := %s\n", w.step("x", "w"))
		results = append(results, "other")
		if w.chance(2) {
			w.write("\tctx.MarkNonDifferentiable(other)\n")
		}
	}
	w.write("\tctx.SaveForBackward(%s)\n\treturn tensors{%s}\n}\n\n", strings.Join(saved, ", "), strings.Join(results, ", "))
	w.results = append(w.results, len(results))
	w.backward(receiver, saved, len(results))
}

func (w *applyWriter) backward(receiver string, saved []string, results int) {
	w.write(
		"func (%s) Backward(ctx *autograd.Context, g ...*torch.Tensor) tensors {\n\ts := ctx.SavedTensors()\n\td := g[0]\n\t_, _ = s, d\n",
		receiver,
	)
	if results > 1 && w.chance(2) {
		w.write("\td = d.Add(g[1].Mul(0.5))\n")
	}
	for range w.r.Intn(3) {
		w.write("\td = %s\n", w.step("d", "s[0]"))
	}
	if len(saved) > 1 {
		w.write("\td = d.Mul(s[%d])\n", 1+w.r.Intn(len(saved)-1))
	}
	if w.chance(3) {
		w.write(
			"\td = d.Clone()\n\td.%s\n",
			pickOf(w.generator, "Mul_(3)", "Select(0, 0).Zero_()", "MaskedFill_(d.Lt(0), 0.125)", "SetAt(2, 0, 1)"),
		)
	}
	switch w.r.Intn(12) {
	case 0:
		w.write("\tcalls += 10\n")
	case 1:
		w.write("\tif d.Sum().Gt(0.37).Bool() { d = d.Mul(2) }\n")
	case 2:
		w.write("\td = d.Mul(scale)\n")
	case 3:
		w.write("\tg[0].Mul_(2)\n")
	}
	second := pickOf(w.generator, "d.Sum(kw.Dim(0)).Mul(f.k)", "d.Select(0, 0)", "nil", "s[0].Mul(f.k)", "s[0]")
	if w.chance(3) {
		w.write("\tif !ctx.NeedsInputGrad[1] { return tensors{d, nil} }\n")
	}
	w.write("\treturn tensors{%s, %s}\n}\n\n", pickOf(w.generator, "d", "d", "d", "d.Neg()", "g[0]"), second)
}

// compiled writes the function that is compiled.
func (w *applyWriter) compiled() {
	w.write("func run(x, w *torch.Tensor, k float64) tensors {\n\t_ = k\n")
	vars := []string{"x"}
	name := func() string {
		w.names++
		v := fmt.Sprintf("a%d", w.names)
		vars = append(vars, v)
		return v
	}
	applied := 0
	for applied == 0 || w.r.Intn(4) > 0 {
		from := pickOf(w.generator, vars...)
		switch w.r.Intn(7) {
		case 0, 1, 2:
			i := w.r.Intn(len(w.results))
			applied++
			factor := fmt.Sprint(float64(1+w.r.Intn(4)) / 2)
			if w.chance(3) {
				factor = "k"
			}
			what := fmt.Sprintf("autograd.Apply(&fn%d{%s}, %%s, %s)", i, factor, pickOf(w.generator, "w", "w", "w.Mul(2)"))
			k := w.r.Intn(w.results[i])
			if w.chance(5) {
				v := name()
				w.write("\t%s := %s\n\tfor range 2 { %s = %s[%d] }\n\t_ = %[1]s\n", v, from, v, fmt.Sprintf(what, v), k)
				break
			}
			w.write("\t%[1]s := %[2]s[%[3]d]\n\t_ = %[1]s\n", name(), fmt.Sprintf(what, from), k)
		case 3, 4:
			w.write("\t%[1]s := %[2]s\n\t_ = %[1]s\n", name(), w.step(from, "w"))
		case 5:
			if from != "x" && w.chance(2) {
				w.write("\t%s.%s\n", from, pickOf(w.generator, "Mul_(0.5)", "Add_(0.25)", "Tanh_()"))
			}
		case 6:
			w.write(
				"\t%s\n",
				pickOf(
					w.generator, "fmt.Println(\"mid\")",
					fmt.Sprintf("if %s.Sum().Gt(0.37).Bool() { calls += 100 }", from), "calls += 1000",
				),
			)
		}
	}
	out := []string{vars[len(vars)-1]}
	for _, v := range vars[1 : len(vars)-1] {
		if w.chance(4) {
			out = append(out, v)
		}
	}
	w.write("\treturn tensors{%s}\n}\n", strings.Join(out, ", "))
}

// applyMain calls the compiled function with batches of several sizes, with and without
// gradients of either argument, and goes back through one result or all.
const applyMain = `
var fast = torch.Compile(run)

func once(n int, gx, gw, all bool) {
	defer func() {
		if e := recover(); e != nil { fmt.Println("recovered", e) }
	}()
	x, w := torch.Randn(n, 3), torch.Randn(3)
	if gx { x.RequiresGrad_() }
	if gw { w.RequiresGrad_() }
	out := fast(x, w, float64(n)/2)
	l := out[0].Sin().Sum()
	for i, y := range out {
		fmt.Println("result", i, y.Detach(), y.RequiresGrad())
		if all { l = l.Add(y.Mul(y).Sum()) }
	}
	if l.RequiresGrad() { l.Backward() }
	fmt.Println("gradients", x.Grad(), w.Grad(), calls, kept != nil)
	torch.NoGrad(func() { x.Mul_(2) }) // what shows its memory changes, too
	for i, y := range out { fmt.Println("then", i, y.Detach()) }
}

func main() {
	torch.ManualSeed(5)
	once(2, true, true, true)
	once(2, true, true, false)
	once(4, true, false, true)
	scale = 0.75
	once(5, true, true, true)
	once(3, false, true, false)
	once(3, false, false, true)
	torch.NoGrad(func() { once(3, true, true, true) })
}
`
