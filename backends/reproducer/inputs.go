package reproducer

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"tcdbg/graph"
	"tcdbg/logs"
	"tcdbg/logs/printable"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
	"tcdbg/torch/kw"
)

// This file makes inputs of what a trace says of them: shapes, strides, types, devices, whether
// gradients are wanted, and the range of whole numbers. Values are random.

// MaxInputBytes bounds the inputs of a graph: its text may ask for any size.
const MaxInputBytes = 4 << 30

// Random are the inputs of a graph with the sizes that hints give its symbols. known is what the trace
// has of them, none where it has nothing.
func Random(g *graph.Graph, known []logs.GraphInput) ([]Input, error) {
	var out []Input
	var all int64
	for _, p := range g.Placeholders() {
		var in logs.GraphInput
		if i := slices.IndexFunc(known, func(k logs.GraphInput) bool { return k.Name == p.Name }); i >= 0 {
			in = known[i]
		}
		x, bytes, err := random(p, in)
		if err != nil {
			return nil, fmt.Errorf("input %s: %w", p.Name, err)
		}
		if all += bytes; bytes > MaxInputBytes || all > MaxInputBytes {
			return nil, fmt.Errorf("the inputs are more than %d GB", MaxInputBytes>>30)
		}
		out = append(out, x)
	}
	if NumbersVary(g) { // a number varies where all sizes may
		for i, p := range g.Placeholders() {
			if m, ok := p.Meta.(*ops.TensorMeta); ok {
				out[i].Dynamic = nil
				for d, x := range m.Shape {
					if _, constant := x.IsConst(); constant {
						out[i].Static = append(out[i].Static, d)
					}
				}
			}
		}
	}
	return out, nil
}

// NumbersVary reports whether a graph has an int among its inputs: torch.Compile has them vary with
// kw.Dynamic(true), with which sizes do, too, that are not marked as static.
func NumbersVary(g *graph.Graph) bool {
	return slices.ContainsFunc(g.Placeholders(), func(p *graph.Node) bool {
		_, number := p.Meta.(sym.Int)
		return number
	})
}

func random(p *graph.Node, known logs.GraphInput) (Input, int64, error) {
	note := printable.Clean(known.Source)
	switch m := p.Meta.(type) {
	case sym.Int:
		v := m.Hint()
		if len(known.Range) == 2 {
			v = known.Range[0]
		}
		return Input{Make: strconv.FormatInt(v, 10), Type: "int", Note: note}, 0, nil
	case ops.ScalarMeta:
		return Input{Make: "0.5", Type: "float64", Note: note}, 0, nil
	case *ops.TensorMeta:
		return randomTensor(m, known, note)
	}
	return Input{}, 0, fmt.Errorf("it is neither tensor nor number")
}

func randomTensor(m *ops.TensorMeta, known logs.GraphInput, note string) (Input, int64, error) {
	r, bytes, err := recipeOf(m, known)
	if err != nil {
		return Input{}, 0, err
	}
	in := Input{Type: "*torch.Tensor", Note: note, Make: r.text(), Grad: r.grad, Copy: r.grad && !known.Leaf}
	if known.Shares != "" {
		in.Note = strings.TrimSpace(in.Note + "; in the program it shares memory with " + printable.Clean(known.Shares))
	}
	for d, x := range m.Shape {
		if _, constant := x.IsConst(); !constant {
			in.Dynamic = append(in.Dynamic, d)
		}
	}
	return in, bytes, nil
}

// Values are the inputs that Random describes, with the numbers that the program's have.
func Values(g *graph.Graph, known []logs.GraphInput, seed int64) ([]torch.Value, error) {
	if _, err := Random(g, known); err != nil {
		return nil, err
	}
	torch.ManualSeed(seed)
	var out []torch.Value
	for _, p := range g.Placeholders() {
		var k logs.GraphInput
		if i := slices.IndexFunc(known, func(k logs.GraphInput) bool { return k.Name == p.Name }); i >= 0 {
			k = known[i]
		}
		switch m := p.Meta.(type) {
		case sym.Int:
			v := m.Hint()
			if len(k.Range) == 2 {
				v = k.Range[0]
			}
			out = append(out, int(v))
		case ops.ScalarMeta:
			out = append(out, 0.5)
		case *ops.TensorMeta:
			r, _, err := recipeOf(m, k)
			if err != nil {
				return nil, err
			}
			out = append(out, r.value())
		}
	}
	return out, nil
}

// recipe is how a tensor of random numbers is made.
type recipe struct {
	kind          string // Randn, Rand, Randint, Zeros or Complex
	low, high     int64  // of Randint
	scale         float64
	shape         []int64 // of what is drawn
	view, strides []int64 // of what is seen of it; nil: all
	dtype         ops.DType
	device        ops.Device
	grad          bool
}

// recipeOf chooses it. Beside it is how many bytes the tensor takes.
func recipeOf(m *ops.TensorMeta, known logs.GraphInput) (recipe, int64, error) {
	r := recipe{shape: numbers(m.Shape), dtype: m.DType, device: m.Device, grad: known.Grad && m.DType.IsFloat()}
	stride := numbers(m.Stride)
	elements, plain := int64(1), int64(1)
	for i, n := range r.shape {
		switch {
		case n < 0 || stride[i] < 0:
			return r, 0, fmt.Errorf("its size or stride is negative")
		case n == 0:
			plain = 0
		case n > 1:
			if n > MaxInputBytes || stride[i] > MaxInputBytes/n || plain > MaxInputBytes/n {
				return r, 0, fmt.Errorf("it is more than %d GB", MaxInputBytes>>30)
			}
			elements += (n - 1) * stride[i]
			plain *= n
		}
	}
	if plain > 0 && !slices.Equal(stride, contiguous(r.shape)) {
		r.view, r.strides, r.shape = r.shape, stride, []int64{elements}
	}
	switch d := m.DType; {
	case d == ops.Complex64:
		r.kind = "Complex"
	case d.IsFloat() && known.Positive:
		r.kind = "Rand"
	case d.IsFloat():
		r.kind = "Randn"
		if known.Leaf && r.grad && len(m.Shape) > 1 { // a weight: results stay of one size from layer to layer
			r.scale, _ = strconv.ParseFloat(fmt.Sprintf("%.3g", 1/math.Sqrt(float64(fanIn(numbers(m.Shape))))), 64)
		}
	case len(known.Range) == 2 && known.Range[0] <= known.Range[1] && known.Range[1] < math.MaxInt64:
		r.kind, r.low, r.high = "Randint", known.Range[0], known.Range[1]+1
	default:
		r.kind = "Zeros" // a position that every list has
	}
	return r, max(elements, plain) * int64(m.DType.Size()), nil
}

// text is the expression that makes it.
func (r recipe) text() string {
	var options []string
	if r.dtype != ops.Float32 && r.kind != "Complex" {
		options = append(options, "kw.Dtype("+graph.GoArg(r.dtype)+")")
	}
	if r.device != ops.CPU && r.device != "" {
		options = append(options, fmt.Sprintf("kw.Device(%q)", string(r.device)))
	}
	call := func(name string, args ...string) string {
		args = slices.DeleteFunc(append(args, options...), func(s string) bool { return s == "" })
		return "torch." + name + "(" + strings.Join(args, ", ") + ")"
	}
	var make string
	switch r.kind {
	case "Complex":
		make = "torch.Complex(" + call("Randn", list(r.shape)) + ", " + call("Randn", list(r.shape)) + ")"
	case "Randint":
		make = call(r.kind, strconv.FormatInt(r.low, 10), strconv.FormatInt(r.high, 10), "[]int{"+list(r.shape)+"}")
	default:
		make = call(r.kind, list(r.shape))
	}
	if r.scale != 0 {
		make += ".Mul(" + strconv.FormatFloat(r.scale, 'g', -1, 64) + ")"
	}
	if r.view != nil {
		make += fmt.Sprintf(".AsStrided([]int{%s}, []int{%s})", list(r.view), list(r.strides))
	}
	if r.grad && (r.scale != 0 || r.view != nil) {
		make += ".Detach()" // a leaf
	}
	if r.grad {
		make += ".RequiresGrad_()"
	}
	return make
}

// value makes it.
func (r recipe) value() *torch.Tensor {
	var options []torch.Option
	if r.dtype != ops.Float32 && r.kind != "Complex" {
		options = append(options, kw.Dtype(r.dtype))
	}
	if r.device != ops.CPU && r.device != "" {
		options = append(options, kw.Device(r.device))
	}
	shape := ints(r.shape)
	args := []any{shape}
	for _, o := range options {
		args = append(args, o)
	}
	var x *torch.Tensor
	switch r.kind {
	case "Complex":
		x = torch.Complex(torch.Randn(args...), torch.Randn(args...))
	case "Rand":
		x = torch.Rand(args...)
	case "Randn":
		x = torch.Randn(args...)
	case "Randint":
		x = torch.Randint(int(r.low), int(r.high), shape, options...)
	default:
		x = torch.Zeros(args...)
	}
	if r.scale != 0 {
		x = x.Mul(r.scale)
	}
	if r.view != nil {
		x = x.AsStrided(ints(r.view), ints(r.strides))
	}
	if r.grad {
		x = x.Detach().RequiresGrad_()
	}
	return x
}

func ints(list []int64) []int {
	out := make([]int, len(list))
	for i, n := range list {
		out[i] = int(n)
	}
	return out
}

// fanIn is how many numbers of a weight a number of the result is made of.
func fanIn(shape []int64) int64 {
	n := int64(1)
	for _, d := range shape[1:] {
		n *= d
	}
	return max(n, 1)
}

func numbers(sizes []sym.Int) []int64 {
	out := make([]int64, len(sizes))
	for i, x := range sizes {
		out[i] = x.Hint()
	}
	return out
}

func contiguous(shape []int64) []int64 {
	out := make([]int64, len(shape))
	n := int64(1)
	for i := len(shape) - 1; i >= 0; i-- {
		out[i] = n
		n *= max(shape[i], 1)
	}
	return out
}

func list(numbers []int64) string {
	parts := make([]string, len(numbers))
	for i, n := range numbers {
		parts[i] = strconv.FormatInt(n, 10)
	}
	return strings.Join(parts, ", ")
}

// Options are those of torch.Compile that the graph was compiled with, as Go text.
func Options(k logs.GraphInputs) []string {
	var out []string
	if k.Backend != "" && k.Backend != "inductor" && k.Backend != "custom" {
		out = append(out, fmt.Sprintf("kw.Backend(%q)", k.Backend))
	}
	var options []string
	for _, name := range slices.Sorted(maps.Keys(k.Options)) {
		switch v := k.Options[name].(type) {
		case bool:
			options = append(options, fmt.Sprintf("%q: %t", name, v))
		case float64: // as JSON has numbers
			options = append(options, fmt.Sprintf("%q: %d", name, int(v)))
		case string:
			options = append(options, fmt.Sprintf("%q: %q", name, v))
		}
	}
	switch {
	case len(options) > 0:
		out = append(out, "kw.Options(map[string]any{"+strings.Join(options, ", ")+"})")
	case k.Mode != "" && k.Mode != "default":
		out = append(out, fmt.Sprintf("kw.Mode(%q)", k.Mode))
	}
	if k.Budget > 0 && k.Budget < 1 {
		out = append(out, fmt.Sprintf("kw.ActivationMemoryBudget(%v)", k.Budget))
	}
	return out
}
