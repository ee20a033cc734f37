// Package reproducer writes one graph as a Go program of its own: the graph as a function, its
// inputs, and a main function that runs it compiled and eagerly and says where the results differ.
//
// Open this file first, then inputs.go (how an input is made of what a trace says of it).
package reproducer

import (
	"fmt"
	"go/format"
	"regexp"
	"slices"
	"strings"

	"tcdbg/graph"
	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// Input is one input of the graph as the program makes it.
type Input struct {
	Make string // Go expression
	Type string // *torch.Tensor, int or float64
	Grad bool   // its gradient is compared
	Copy bool   // the graph is given a copy of it, which is no leaf
	Note string // a comment at the end of its line
	// Dynamic and Static are the dimensions that are marked so.
	Dynamic, Static []int
}

// Program is a reproducer.
type Program struct {
	Doc     []string // of the package, a line each
	Graph   *graph.Graph
	Inputs  []Input
	Saved   bool     // expressions call saved(i, grad), which reads inputs.pt beside the program
	Seed    int64    // of random inputs
	Options []string // of torch.Compile, as Go text
	NoGrad  bool     // all of it runs under torch.NoGrad
	Break   *Break   // what follows the graph; nil: nothing
}

// Break is what ended the graph in its program, as a statement that reads its outputs.
type Break struct {
	Text    string
	Imports []string
}

// tail is the part of a reproducer that is always the same.
const tail = `
// gradients are those of inputs, for gradients of the outputs that are the same each time.
func gradients(outs, inputs []*torch.Tensor) []*torch.Tensor {
	var wanted, seeds, list []*torch.Tensor
	for _, o := range outs {
		if o.RequiresGrad() {
			at := torch.Arange(o.Numel(), kw.Dtype(torch.Float64))
			seed := at.Mul(0.7).Add(1).Cos().Mul(64).Trunc().Div(64).Reshape(o.Shape()...).To(o.DType())
			wanted, seeds = append(wanted, o), append(seeds, seed)
		}
	}
	if len(wanted) == 0 || len(inputs) == 0 {
		return nil
	}
	for _, d := range torch.Grad(wanted, inputs, kw.GradOutputs(seeds), kw.AllowUnused(true)) {
		if d != nil {
			list = append(list, d)
		}
	}
	return list
}

// changed are the results of eager execution on inputs of floats that pass through change; nil where the
// graph does not run on them.
func changed(change func(*torch.Tensor) *torch.Tensor) (list []*torch.Tensor) {
	defer func() {
		if recover() != nil {
			list = nil
		}
	}()
	return results(FUNCTION, func(x *torch.Tensor) *torch.Tensor {
		if !x.DType().IsFloat() || x.DType().IsComplex() {
			return x
		}
		return change(x.Detach()).RequiresGrad_(x.RequiresGrad())
	})
}

// wide is x in double precision.
func wide(x *torch.Tensor) *torch.Tensor { return x.To(torch.Float64) }

// rounded is x with other rounding: each number is moved by one unit in the last place, or not.
func rounded(x *torch.Tensor) *torch.Tensor {
	eps := map[torch.DType]float64{torch.Float64: 0x1p-52, torch.Float32: 0x1p-23, torch.Float16: 0x1p-10, torch.Bfloat16: 0x1p-7}
	factor := torch.Rand(x.Shape(), kw.Dtype(torch.Float64)).Mul(3).Floor().Sub(1).Mul(eps[x.DType()]).Add(1)
	return x.To(torch.Float64).Mul(factor).To(x.DType())
}

// tolerance is how far numbers of a type may lie apart.
func tolerance(d torch.DType) (relative, absolute float64) {
	switch d {
	case torch.Float64:
		return 1e-7, 1e-7
	case torch.Float32, torch.Complex64:
		return 1.3e-6, 1e-5
	case torch.Float16:
		return 1e-3, 1e-5
	case torch.Bfloat16:
		return 1.6e-2, 1e-5
	}
	return 0, 0
}

func apart(a, b float64) float64 {
	if a == b || math.IsNaN(a) && math.IsNaN(b) {
		return 0
	}
	if d := math.Abs(a - b); !math.IsNaN(d) {
		return d
	}
	return math.Inf(1)
}

// rounding is how far want lies from double precision at most; none is said where that is no rounding.
func rounding(b, e []float64, relative, absolute float64) (most float64, ok bool) {
	largest := 0.0
	for k := range e {
		if d := apart(b[k], e[k]); !math.IsInf(d, 0) {
			most, largest = max(most, d), max(largest, math.Abs(b[k]))
		}
	}
	return most, e != nil && most <= 1000*(absolute+relative*largest) && most <= largest/20
}

// beyond are the elements of a that lie too far from b: farther than the type allows, and than four times the
// farthest that b lies from double precision, which is e.
func beyond(a, b, e []float64, relative, absolute float64) (list []int, worst float64) {
	most, exact := rounding(b, e, relative, absolute)
	for k := range a {
		d := apart(a[k], b[k])
		if d <= absolute+relative*math.Abs(b[k]) || d == 0 || exact && apart(a[k], e[k]) <= 4*most+absolute+relative*math.Abs(e[k]) {
			continue
		}
		list, worst = append(list, k), max(worst, d)
	}
	return list, worst
}

// differs prints how far got lies from want, and reports whether it is too far: where rounding errors in the
// inputs move want by a quarter as much, in a quarter as many elements, it is not.
func differs(i int, got, want, exact *torch.Tensor, noisy []*torch.Tensor) bool {
	a, b := got.Detach().Data(), want.Detach().Data()
	relative, absolute := tolerance(want.DType())
	var e []float64
	if exact != nil {
		e = exact.Detach().Data()
	}
	wrong, worst := beyond(a, b, e, relative, absolute)
	if len(wrong) == 0 {
		fmt.Printf("value %d is equal\n", i)
		return false
	}
	for _, x := range noisy {
		if moved, most := beyond(x.Detach().Data(), b, nil, relative, absolute); 4*most >= worst && 4*len(moved) >= len(wrong) {
			fmt.Printf("value %d is undecided: rounding alone moves the eager one as far\n", i)
			return false
		}
	}
	first := wrong[0]
	fmt.Printf("value %d: %d of %d elements differ; the first is %d: compiled %v, eager %v\n", i, len(wrong), len(a), first, a[first], b[first])
	return true
}

func compare() {
	plain := func(x *torch.Tensor) *torch.Tensor { return x }
	want := results(FUNCTION, plain)
	got := results(torch.Compile(COMPILED), plain)
	exact := changed(wide)
	noisy := [][]*torch.Tensor{changed(rounded), changed(rounded), changed(rounded)}
	wrong := len(got) != len(want)
	if wrong {
		fmt.Println(len(got), "results compiled,", len(want), "eager")
	}
	if len(got) == 0 {
		fmt.Println("it ran, and has no results to compare")
	}
	for i := range min(len(got), len(want)) {
		var e *torch.Tensor
		if len(exact) == len(want) {
			e = exact[i]
		}
		var other []*torch.Tensor
		for _, list := range noisy {
			if len(list) == len(want) {
				other = append(other, list[i])
			}
		}
		if differs(i, got[i], want[i], e, other) {
			wrong = true
		}
	}
	if wrong {
		os.Exit(1)
	}
}
`

// savedInputs reads the inputs of a program that has them in a file.
const savedInputs = `
// inputFile is what torch.Save wrote.
var inputFile any

// saved is a copy of what the graph was given.
func saved(i int, grad bool) *torch.Tensor {
	if inputFile == nil {
		path := "inputs.pt"
		if len(os.Args) > 1 {
			path = os.Args[1]
		}
		file, err := torch.Load(path)
		if err != nil {
			fmt.Println(err)
			os.Exit(2)
		}
		inputFile = file
	}
	x := inputFile.([]any)[i].(*torch.Tensor).Clone()
	if grad {
		x.RequiresGrad_()
	}
	return x
}
`

// text is a program that is being written.
type text struct {
	*Program
	params, types, results []string // of the graph's function
	tensors                []int    // outputs that are tensors
	name                   string
}

// Text is the program.
func (p *Program) Text() (string, error) {
	code := p.Graph.GoCode()
	t := &text{Program: p, name: code[len("func "):strings.IndexByte(code, '(')]}
	if n := len(p.Graph.Placeholders()); n != len(p.Inputs) {
		return "", fmt.Errorf("the graph has %d inputs, and %d are known", n, len(p.Inputs))
	}
	for i, in := range p.Inputs {
		t.params, t.types = append(t.params, fmt.Sprintf("in%d", i)), append(t.types, in.Type)
	}
	for i, a := range p.Graph.Outputs() {
		t.results = append(t.results, resultType(a))
		if n, ok := a.(*graph.Node); ok && n.IsTensor() {
			t.tensors = append(t.tensors, i)
		}
	}
	body := code + t.broken() + t.makers() + t.run() + t.tail()
	out, err := format.Source([]byte(t.head(body) + body))
	if err != nil {
		return "", fmt.Errorf("the graph is no Go program: %w", err)
	}
	return string(out), nil
}

func resultType(a ops.Arg) string {
	switch a := a.(type) {
	case *graph.Node:
		switch a.Meta.(type) {
		case sym.Int:
			return "int"
		case ops.ScalarMeta:
			return "float64"
		}
		return "*torch.Tensor"
	case sym.Int:
		return "int"
	case float64:
		return "float64"
	case bool:
		return "bool"
	}
	return "any"
}

// head is all before the declarations.
func (t *text) head(body string) string {
	var b strings.Builder
	for _, line := range t.Doc {
		b.WriteString(strings.TrimRight("// "+oneLine(line), " ") + "\n")
	}
	b.WriteString("package main\n\nimport (\n")
	std := []string{"fmt", "math", "os"}
	if t.Break != nil {
		for _, name := range t.Break.Imports {
			if !strings.Contains(name, "/") && !slices.Contains(std, name) {
				std = append(std, name)
			}
		}
	}
	slices.Sort(std)
	for _, name := range std {
		fmt.Fprintf(&b, "\t%q\n", name)
	}
	b.WriteString("\n\t\"tcdbg/torch\"\n")
	if regexp.MustCompile(`\bcompiler\.`).MatchString(body) {
		b.WriteString("\t\"tcdbg/torch/compiler\"\n")
	}
	b.WriteString("\t\"tcdbg/torch/kw\"\n")
	if regexp.MustCompile(`\bF\.`).MatchString(body) {
		b.WriteString("\tF \"tcdbg/torch/nn/functional\"\n")
	}
	b.WriteString(")\n\n")
	return b.String()
}

// oneLine keeps a text, of which a trace may have parts, within its comment.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, s)
}

// signature are parameters, by name, and results.
func (t *text) signature() string {
	list := make([]string, len(t.params))
	for i, name := range t.params {
		list[i] = name + " " + t.types[i]
	}
	return fmt.Sprintf("(%s)%s", strings.Join(list, ", "), resultList(t.results))
}

func resultList(types []string) string {
	if len(types) == 0 {
		return ""
	}
	return " (" + strings.Join(types, ", ") + ")"
}

func (t *text) outs() []string {
	out := make([]string, len(t.results))
	for i := range out {
		out[i] = fmt.Sprintf("out%d", i)
	}
	return out
}

// compiled is the function that is compiled.
func (t *text) compiled() string {
	if t.Break != nil {
		return "broken"
	}
	return t.name
}

// broken is the graph and what ended it.
func (t *text) broken() string {
	if t.Break == nil {
		return ""
	}
	list := strings.Join(t.outs(), ", ")
	noted := ""
	if strings.Contains(t.Break.Text, "noted") {
		noted = "\n// noted is what the branch below changes.\nvar noted bool\n"
	}
	return fmt.Sprintf("%s\n// broken breaks as the program did.\nfunc broken%s {\n\t%s := %s(%s)\n\t%s\n\treturn %s\n}\n",
		noted, t.signature(), list, t.name, strings.Join(t.params, ", "), t.Break.Text, list)
}

// makers is the function that makes inputs.
func (t *text) makers() string {
	var b strings.Builder
	if t.Saved {
		b.WriteString(savedInputs)
	}
	if len(t.Inputs) == 0 {
		return b.String()
	}
	what := "with random values"
	if t.Saved {
		what = "as they were"
	}
	fmt.Fprintf(&b, "\n// inputs are those of the graph, %s.\nfunc inputs() (%s) {\n", what, strings.Join(t.types, ", "))
	if !t.Saved {
		fmt.Fprintf(&b, "\ttorch.ManualSeed(%d)\n", t.Seed)
	}
	for i, in := range t.Inputs {
		fmt.Fprintf(&b, "\tin%d := %s", i, in.Make)
		if in.Note != "" {
			b.WriteString(" // " + oneLine(in.Note))
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "\treturn %s\n}\n", strings.Join(t.params, ", "))
	return b.String()
}

// run is the function that runs either form.
func (t *text) run() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n// results are the outputs of f, what it may write, and the gradients of its inputs, each of which passes\n"+
		"// through change first.\nfunc results(f func(%s)%s, change func(*torch.Tensor) *torch.Tensor) []*torch.Tensor {\n",
		strings.Join(t.types, ", "), resultList(t.results))
	if len(t.Inputs) > 0 {
		fmt.Fprintf(&b, "\t%s := inputs()\n", strings.Join(t.params, ", "))
	}
	args := slices.Clone(t.params)
	var grads, written []string
	for i, in := range t.Inputs {
		if in.Type != "*torch.Tensor" {
			continue
		}
		fmt.Fprintf(&b, "\tin%d = change(in%d)\n", i, i)
		if in.Grad && !t.NoGrad {
			grads = append(grads, args[i])
		}
		if in.Copy {
			args[i] += ".Clone()"
		} else {
			written = append(written, args[i])
		}
		for _, d := range in.Dynamic {
			fmt.Fprintf(&b, "\tcompiler.MarkDynamic(in%d, %d)\n", i, d)
		}
		for _, d := range in.Static {
			fmt.Fprintf(&b, "\tcompiler.MarkStatic(in%d, %d)\n", i, d)
		}
	}
	fmt.Fprintf(&b, "\ttorch.ManualSeed(%d)\n", t.Seed)
	left := make([]string, len(t.results))
	for i := range left {
		left[i] = "_"
	}
	var outs []string
	for _, i := range t.tensors {
		left[i] = fmt.Sprintf("out%d", i)
		outs = append(outs, left[i])
	}
	assign := " := "
	switch {
	case len(left) == 0:
		assign = ""
	case len(outs) == 0:
		assign = " = "
	}
	fmt.Fprintf(&b, "\t%s%sf(%s)\n\touts := []*torch.Tensor{%s}\n", strings.Join(left, ", "), assign, strings.Join(args, ", "),
		strings.Join(outs, ", "))
	fmt.Fprintf(&b, "\tlist := append(outs, gradients(outs, []*torch.Tensor{%s})...)\n", strings.Join(grads, ", "))
	if writes(t.Graph) && len(written) > 0 {
		fmt.Fprintf(&b, "\tlist = append(list, %s)\n", strings.Join(written, ", "))
	}
	b.WriteString("\treturn list\n}\n")
	return b.String()
}

// writes reports whether a graph may write its inputs.
func writes(g *graph.Graph) bool {
	return slices.ContainsFunc(g.Nodes(), func(n *graph.Node) bool {
		return n.OpRow() != nil && (n.OpRow().Tags.Has(ops.TagInPlace) || len(n.Statistics()) > 0)
	})
}

// tail is the rest, with main.
func (t *text) tail() string {
	compiled := strings.Join(append([]string{t.compiled()}, t.Options...), ", ")
	s := strings.NewReplacer("FUNCTION", t.name, "COMPILED", compiled).Replace(tail)
	if t.NoGrad {
		return s + "\nfunc main() { torch.NoGrad(compare) }\n"
	}
	return s + "\nfunc main() { compare() }\n"
}
