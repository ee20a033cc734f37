package plan

import (
	"math"

	"tcdbg/inductor/ir"
	"tcdbg/inductor/sched"
	"tcdbg/ops"
)

// This file finds attention whose kernels do no more than most do: scores are the first product's sums times a number, weights are
// softmax's. A target then need not run the kernels between the products: it can make weights of scores where the first product
// leaves them, in whatever order that is.

// Softmax is what an attention makes of its sums.
type Softmax struct {
	Scale float64    // of sums
	Sums  *ir.Buffer // gets each row's sum of exponentials, by which weights then are not divided; nil where they are
}

// mostScale is a scale that queries can have in place of scores: products of numbers that are far from the ends of the range are, too.
const mostScale = 0x1p20

// made is what is known of a number on its way from a sum of the first product to a weight.
type made uint8

const (
	other    made = iota
	score         // a sum times a number, which is scale
	greatest      // score of the row
	behind        // a score less that
	power         // the exponential of that
	sum           // of the row's exponentials
	inverse       // of that sum
	weight
)

// weighing follows numbers through the first two kernels.
type weighing struct {
	of    map[*ir.Buffer]made
	scale map[*ir.Buffer]float64
}

// softmax is what an attention makes of its sums where it is no more than that, but for what a causal mask hides; nil where it may be.
// Operands of the products and all between them have to be of float32.
func (p *Plan) softmax(a *Attention) *Softmax {
	first, rows, second := p.Kernels[a.First], p.Kernels[a.First+1], p.Kernels[a.First+2]
	for _, k := range []*sched.Kernel{first, second} {
		if mm := k.Group.TemplateNode().MM; mm.A.DType != ops.Float32 || mm.B.DType != ops.Float32 || mm.Out.DType != ops.Float32 {
			return nil
		}
	}
	w := &weighing{of: map[*ir.Buffer]made{}, scale: map[*ir.Buffer]float64{}}
	sums := first.Group.TemplateNode().MM.Out
	w.of[sums], w.scale[sums] = score, 1
	steps := first.Steps
	if a.Causal != nil {
		steps, _ = a.Causal.Seen()
	}
	w.follow(steps)
	out := &Softmax{Scale: w.scale[a.Scores]}
	if w.of[a.Scores] != score || !(math.Abs(out.Scale) >= 1/mostScale && math.Abs(out.Scale) <= mostScale) {
		return nil
	}
	w.follow(rows.Steps)
	for b := range stores(rows) {
		switch {
		case b == a.Weights || b == a.Inner:
		case w.of[b] == sum && out.Sums == nil:
			out.Sums = b
		default:
			return nil
		}
	}
	if want := map[bool]made{true: weight, false: power}[out.Sums == nil]; w.of[a.Weights] != want {
		return nil
	}
	return out
}

// follow finds what the steps of a kernel make.
func (w *weighing) follow(steps []sched.Step) {
	for _, st := range steps {
		if st.Node.Kind == ir.Matmul {
			continue
		}
		facts, scale := make([]made, len(st.Body)), make([]float64, len(st.Body))
		for i := range st.Body {
			switch v := &st.Body[i]; {
			case v.Op == ir.Store:
				w.of[v.Buf], w.scale[v.Buf] = facts[v.Args[0]], scale[v.Args[0]]
			case v.DType != ops.Float32:
			case v.Op == ir.Load:
				facts[i], scale[i] = w.of[v.Buf], w.scale[v.Buf]
			case v.Op == ir.Const:
				scale[i] = v.F
			default:
				facts[i], scale[i] = computed(st.Body, v, facts, scale)
			}
		}
	}
}

// computed is what an operation of a body makes, and its factor where it is a score.
func computed(body []ir.Value, v *ir.Value, facts []made, scale []float64) (made, float64) {
	if v.Op == ir.Reduce {
		switch x := facts[v.Args[0]]; {
		case v.Red == ir.RMax && x == score:
			return greatest, 0
		case v.Red == ir.RSum && x == power:
			return sum, 0
		}
		return other, 0
	}
	if len(v.Args) == 1 {
		switch x := facts[v.Args[0]]; {
		case v.Op == ir.Exp && x == behind:
			return power, 0
		case v.Op == ir.Reciprocal && x == sum:
			return inverse, 0
		}
		return other, 0
	}
	constant := func(n int) bool { return body[n].Op == ir.Const }
	if v.Op == ir.Where && constant(v.Args[0]) && body[v.Args[0]].I != 0 {
		return facts[v.Args[1]], scale[v.Args[1]]
	}
	if len(v.Args) != 2 {
		return other, 0
	}
	i, j := v.Args[0], v.Args[1]
	switch x, y := facts[i], facts[j]; {
	case v.Op == ir.Mul && x == score && constant(j), v.Op == ir.Mul && y == score && constant(i):
		return score, scale[i] * scale[j]
	case v.Op == ir.Div && x == score && constant(j) && scale[j] != 0:
		return score, scale[i] / scale[j]
	case v.Op == ir.Add && x == score && constant(j) && scale[j] == 0, v.Op == ir.Add && y == score && constant(i) && scale[i] == 0:
		return score, scale[i] + scale[j]
	case v.Op == ir.Sub && x == score && y == greatest:
		return behind, 0
	case v.Op == ir.Div && x == power && y == sum, v.Op == ir.Mul && x == power && y == inverse,
		v.Op == ir.Mul && x == inverse && y == power:
		return weight, 0
	}
	return other, 0
}
