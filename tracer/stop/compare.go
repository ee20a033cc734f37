package stop

import (
	"fmt"
	"math"

	"tcdbg/graph"
	"tcdbg/logs"
	"tcdbg/ops"
	"tcdbg/torch"
)

// This file compares what a compiled graph gives with what its operators give one by one,
// on copies of the inputs. Graphs have no other effects than writes to their inputs, which
// the copies keep apart, and random numbers, for which it refuses.

// tolerance is how far two results of an element type may lie apart: as PyTorch's own
// checks of compiled code have it.
func tolerance(d ops.DType) (relative, absolute float64) {
	switch {
	case d == ops.Float64:
		return 1e-7, 1e-7
	case d == ops.Float32 || d.IsComplex():
		return 1e-4, 1e-5
	case d.IsFloat():
		return 1.6e-2, 1e-3
	}
	return 0, 0
}

// Run runs a compiled graph, and looks at its results as far as that is asked for.
func (w *graphs) Run(id logs.CompileID, g *graph.Graph, run func([]torch.Value) []torch.Value, in []torch.Value) []torch.Value {
	nan, differs := w.d.Wants(logs.StopNaN), w.d.Wants(logs.StopDiffers)
	if !nan && !differs || w.d.evaluates() {
		return run(in)
	}
	random := isRandom(g)
	if random && differs {
		w.refuseOnce(g)
		differs = false
	}
	var copies []torch.Value
	clean := true
	if differs || nan && !random {
		copies = copyInputs(in)
	}
	for _, v := range in {
		clean = clean && torch.NonFinite(asTensor(v)) == ""
	}
	born := w.born.Load()
	out := run(in)
	if nan && clean && w.born.Load() == born {
		w.bornIn(g, out, copies)
	}
	if differs {
		w.compare(g, in, out, copies)
	}
	return out
}

func isRandom(g *graph.Graph) bool {
	for _, n := range g.Nodes() {
		if n.Apply != nil && (isRandom(n.Apply.Forward) || isRandom(n.Apply.Backward)) {
			return true
		}
		if n.Op != ops.None && n.OpRow().Tags.Has(ops.TagRandom) {
			return true
		}
	}
	return false
}

// refuseOnce says that a graph is not compared.
func (w *graphs) refuseOnce(g *graph.Graph) {
	if _, said := w.refused.LoadOrStore(g, true); !said {
		w.d.emit(logs.State{State: "running", Text: "differs: " + g.Name + " is not compared: it draws random numbers"})
	}
}

func asTensor(v torch.Value) *torch.Tensor {
	t, _ := v.(*torch.Tensor)
	return t
}

// copyInputs copies the memory of inputs: those that share it share the copy.
func copyInputs(in []torch.Value) []torch.Value {
	memory := map[*torch.Storage]*torch.Storage{}
	out := make([]torch.Value, len(in))
	for i, v := range in {
		out[i] = v
		t := asTensor(v)
		if t == nil || t.Storage() == nil || t.Device() == ops.Meta {
			continue
		}
		st := memory[t.Storage()]
		if st == nil {
			st = torch.NewStorage(len(t.Storage().Bytes()))
			copy(st.Bytes(), t.Storage().Bytes())
			memory[t.Storage()] = st
		}
		shape, stride, off := t.Layout()
		out[i] = torch.FromStorage(st, t.DType(), append([]int{}, shape...), append([]int{}, stride...), off)
	}
	return out
}

// bornIn stops where a graph without kernels of its own has made a NaN or an Inf. Its
// operators say which, where they can be run again.
func (w *graphs) bornIn(g *graph.Graph, out, copies []torch.Value) {
	what := ""
	for _, v := range out {
		if what = torch.NonFinite(asTensor(v)); what != "" {
			break
		}
	}
	if what == "" {
		return
	}
	e := w.here(logs.StopNaN)
	e.Reason = fmt.Sprintf("%s gives %s; none of its input tensors has any", g.Name, what)
	if copies == nil {
		e.Fill = func(s *logs.Stop) {
			s.Missing = append(s.Missing, "the operator: the graph draws random numbers and cannot be run again")
		}
	} else if n := firstBad(g, copies); n != nil {
		e.Reason = fmt.Sprintf("operator %s of %s gives %s; none of its input tensors has any", n.OpRow().Name, g.Name, what)
		if len(n.Stack) > 0 {
			f := n.Stack[len(n.Stack)-1]
			e.At = &logs.Pos{File: f.File, Line: f.Line, Col: f.Col, Func: f.Func, Code: f.Code}
		}
	}
	w.born.Add(1)
	w.d.At(e)
}

// firstBad is the first node of g that gives a NaN or an Inf that none of its inputs has.
func firstBad(g *graph.Graph, in []torch.Value) *graph.Node {
	var first *graph.Node
	isBad := func(v any) bool {
		switch v := v.(type) {
		case *torch.Tensor:
			return torch.NonFinite(v) != ""
		case []torch.Value:
			for _, x := range v {
				if torch.NonFinite(asTensor(x)) != "" {
					return true
				}
			}
		}
		return false
	}
	g.RunWatched(in, func(n *graph.Node, value any, inputs []any) {
		if first != nil || n.Op == ops.None || !isBad(value) {
			return
		}
		for _, x := range inputs {
			if isBad(x) {
				return
			}
		}
		first = n
	})
	return first
}

// compare stops where results, or what was written to the inputs, differ from eager.
func (w *graphs) compare(g *graph.Graph, in, out, copies []torch.Value) {
	want := g.RunUntaped(copies)
	for i := range want {
		if text := difference(asTensor(out[i]), asTensor(want[i])); text != "" {
			w.differs(g, fmt.Sprintf("output %d of %s", i, g.Name), text, asTensor(out[i]), asTensor(want[i]))
			return
		}
	}
	phs := g.Placeholders()
	for i := range in {
		if text := difference(asTensor(in[i]), asTensor(copies[i])); text != "" {
			w.differs(g, fmt.Sprintf("input %s of %s, which it writes,", phs[i].Name, g.Name), text, asTensor(in[i]), asTensor(copies[i]))
			return
		}
	}
}

func (w *graphs) differs(g *graph.Graph, what, text string, got, want *torch.Tensor) {
	e := w.here(logs.StopDiffers)
	e.Reason = what + " differs from eager: " + text
	e.Fill = func(s *logs.Stop) {
		show := &show{in: w.d.in}
		s.Nodes = g.Lines()
		s.Symbolic = []logs.Value{
			show.kernelTensor(KernelTensor{"compiled", got}, "result"), show.kernelTensor(KernelTensor{"eager", want}, "result"),
		}
	}
	w.d.At(e)
}

// difference says where two tensors differ by more than their type allows, "" where they
// do not.
func difference(got, want *torch.Tensor) string {
	if got == nil || want == nil || got.Storage() == nil || want.Storage() == nil {
		return ""
	}
	if fmt.Sprint(got.Shape()) != fmt.Sprint(want.Shape()) || got.DType() != want.DType() {
		return fmt.Sprintf("%s%v and %s%v", got.DType().Name(), got.Shape(), want.DType().Name(), want.Shape())
	}
	if got.DType().IsComplex() {
		a, b := got.Complex64s(), want.Complex64s()
		x, y := make([]float64, 0, 2*len(a)), make([]float64, 0, 2*len(b))
		for i := range a {
			x, y = append(x, float64(real(a[i])), float64(imag(a[i]))), append(y, float64(real(b[i])), float64(imag(b[i])))
		}
		return apart(got.DType(), x, y)
	}
	return apart(got.DType(), got.Data(), want.Data())
}

func apart(t ops.DType, got, want []float64) string {
	relative, absolute := tolerance(t)
	first, count, most := -1, 0, 0.0
	for i, x := range got {
		y := want[i]
		if x == y || math.IsNaN(x) && math.IsNaN(y) {
			continue
		}
		if diff := math.Abs(x - y); !(diff <= absolute+relative*math.Abs(y)) {
			if first < 0 {
				first = i
			}
			count++
			most = max(most, diff)
		}
	}
	if first < 0 {
		return ""
	}
	return fmt.Sprintf(
		"%d of %d elements, by %.6g at most; the first is element %d: compiled %s, eager %s", count, len(got), most, first,
		number(t, got[first]), number(t, want[first]),
	)
}
