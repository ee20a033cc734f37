package numerics

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"tcdbg/graph"
	"tcdbg/logs"
	"tcdbg/torch"
)

// This file writes the smallest part of a graph that differs as a program of its own.

// reproduce writes the reproducer of a search; it says why not.
func (x *search) reproduce() string {
	s, dir := x.repro, x.w.c.cfg.Repro
	switch {
	case dir == "":
		return ""
	case x.w.record.Backend == "custom":
		return "the backend is the program's own"
	case s.random:
		return "the graph draws random numbers"
	}
	at := filepath.Join(dir, "graph-"+strings.ReplaceAll(x.w.record.Compile, "/", "-")+"-"+graph.Word(s.g.Name))
	if err := writeRepro(at, s, x.fault); err != nil {
		return err.Error()
	}
	x.w.record.Repro = at
	return ""
}

// writeRepro writes model.go and inputs.pt into a new folder.
func writeRepro(dir string, s *subject, f *logs.NumericsFault) error {
	text, err := reproText(s, f)
	if err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	var saved []any
	for _, v := range s.in {
		if t := tensor(v); t != nil {
			saved = append(saved, t.Detach())
		}
	}
	if err := torch.Save(saved, filepath.Join(dir, "inputs.pt")); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "model.go"), []byte(text), 0o644)
}

// reproTail is the part of a reproducer that is always the same.
const reproTail = `
// input is a copy of what the graph was given.
func input(saved any, i int, grad bool) *torch.Tensor {
	x := saved.([]any)[i].(*torch.Tensor).Clone()
	if grad {
		x.RequiresGrad_()
	}
	return x
}

// seeds are the gradients of outputs.
func seeds(outs []*torch.Tensor) []*torch.Tensor {
	var list []*torch.Tensor
	for _, o := range outs {
		at := torch.Arange(o.Numel(), kw.Dtype(torch.Float64))
		list = append(list, at.Mul(0.7).Add(1).Cos().Mul(64).Trunc().Div(64).Reshape(o.Shape()...).To(o.DType()))
	}
	return list
}

// differs prints how far got lies from want, and reports whether it is too far.
func differs(i int, got, want *torch.Tensor, relative, absolute float64) bool {
	a, b := got.Detach().Data(), want.Detach().Data()
	first, count := -1, 0
	for k := range a {
		same := a[k] == b[k] || math.IsNaN(a[k]) && math.IsNaN(b[k])
		if !same && !(math.Abs(a[k]-b[k]) <= absolute+relative*math.Abs(b[k])) {
			if first < 0 {
				first = k
			}
			count++
		}
	}
	if first < 0 {
		fmt.Printf("value %d is equal\n", i)
		return false
	}
	fmt.Printf("value %d: %d of %d elements differ; the first is %d: compiled %v, eager %v\n", i, count, len(a), first, a[first], b[first])
	return true
}
`

// reproText is the program.
func reproText(s *subject, f *logs.NumericsFault) (string, error) {
	var params, reads, args, outs, tensors, grads []string
	saved := 0
	for i, p := range s.g.Placeholders() {
		name := "in" + strconv.Itoa(i)
		args = append(args, name)
		switch v := s.in[i].(type) {
		case *torch.Tensor:
			grad := s.train && v.RequiresGrad()
			params = append(params, "*torch.Tensor")
			reads = append(reads, fmt.Sprintf("\t%s := input(saved, %d, %t)\n", name, saved, grad))
			if grad {
				grads = append(grads, name)
			}
			saved++
		case int:
			params, reads = append(params, "int"), append(reads, fmt.Sprintf("\t%s := %d\n", name, v))
		case float64:
			params, reads = append(params, "float64"), append(reads, fmt.Sprintf("\t%s := %v\n", name, v))
		default:
			return "", fmt.Errorf("input %s is a %T", p.Name, v)
		}
	}
	var types []string
	for i, a := range s.g.Outputs() {
		n, ok := a.(*graph.Node)
		if !ok || !n.IsTensor() {
			return "", fmt.Errorf("output %d is no tensor", i)
		}
		types = append(types, "*torch.Tensor")
		outs = append(outs, "out"+strconv.Itoa(i))
		tensors = append(tensors, outs[i])
	}
	if len(outs) == 0 {
		return "", fmt.Errorf("it has no output")
	}
	code := s.g.GoCode()
	name := code[len("func "):strings.IndexByte(code, '(')]
	var b strings.Builder
	fmt.Fprintf(&b, "// Part of a captured graph that differs from eager execution in %s", f.Stage)
	if f.Node != "" {
		fmt.Fprintf(&b, ", at %s", f.Node)
	}
	b.WriteString(`.
//
// It runs the part compiled and eagerly on the inputs in inputs.pt, prints where the results
// differ, and then exits with 1. Run it in its folder: tcdbg run --plain model.go. Written by
// tcdbg check --numerics.
package main

import (
	"fmt"
	"math"
	"os"

	"tcdbg/torch"
	"tcdbg/torch/kw"
`)
	if strings.Contains(code, "F.") {
		b.WriteString("\tF \"tcdbg/torch/nn/functional\"\n")
	}
	relative, absolute := reproTolerance(s.g)
	fmt.Fprintf(&b, ")\n\n%s\n// results are the outputs of f, and the gradients of its inputs.\n", code)
	fmt.Fprintf(&b, "func results(f func(%s) (%s), saved any) []*torch.Tensor {\n%s\t%s := f(%s)\n\touts := []*torch.Tensor{%s}\n",
		strings.Join(params, ", "), strings.Join(types, ", "), strings.Join(reads, ""), strings.Join(outs, ", "),
		strings.Join(args, ", "), strings.Join(tensors, ", "))
	if len(grads) > 0 {
		fmt.Fprintf(&b, "\tvar wanted []*torch.Tensor\n\tfor _, o := range outs {\n\t\tif o.RequiresGrad() {\n"+
			"\t\t\twanted = append(wanted, o)\n\t\t}\n\t}\n"+
			"\tfor _, d := range torch.Grad(wanted, []*torch.Tensor{%s}, kw.GradOutputs(seeds(wanted)), kw.AllowUnused(true)) {\n"+
			"\t\tif d != nil {\n\t\t\touts = append(outs, d)\n\t\t}\n\t}\n", strings.Join(grads, ", "))
	}
	fmt.Fprintf(&b, "\treturn outs\n}\n%s\nfunc main() {\n\tpath := \"inputs.pt\"\n\tif len(os.Args) > 1 {\n\t\tpath = os.Args[1]\n\t}\n"+
		"\tsaved, err := torch.Load(path)\n\tif err != nil {\n\t\tfmt.Println(err)\n\t\tos.Exit(2)\n\t}\n"+
		"\twant, got := results(%s, saved), results(torch.Compile(%s), saved)\n\twrong := false\n"+
		"\tfor i := range want {\n\t\tif differs(i, got[i], want[i], %g, %g) {\n\t\t\twrong = true\n\t\t}\n\t}\n"+
		"\tif wrong {\n\t\tos.Exit(1)\n\t}\n}\n", reproTail, name, name, relative, absolute)
	return b.String(), nil
}

// reproTolerance is that of the widest rounding among the outputs.
func reproTolerance(g *graph.Graph) (relative, absolute float64) {
	for _, a := range g.Outputs() {
		if n, ok := a.(*graph.Node); ok && n.IsTensor() {
			r, abs := tolerance(n.TensorMeta().DType)
			relative, absolute = max(relative, r), max(absolute, abs)
		}
	}
	return relative, absolute
}
