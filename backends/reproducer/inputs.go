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
	shape, stride := numbers(m.Shape), numbers(m.Stride)
	elements, plain := int64(1), int64(1)
	for i, n := range shape {
		if n < 0 || stride[i] < 0 {
			return Input{}, 0, fmt.Errorf("its size or stride is negative")
		}
		if n > 1 {
			if n > MaxInputBytes || stride[i] > MaxInputBytes || plain > MaxInputBytes/n {
				return Input{}, 0, fmt.Errorf("it is more than %d GB", MaxInputBytes>>30)
			}
			elements += (n - 1) * stride[i]
			plain *= n
		} else if n == 0 {
			plain = 0
		}
	}
	if plain == 0 || slices.Equal(stride, contiguous(shape)) {
		elements = -1
	}
	in := Input{Type: "*torch.Tensor", Note: note}
	if elements < 0 {
		in.Make = values(m, known, shape)
	} else {
		in.Make = fmt.Sprintf("%s.AsStrided([]int{%s}, []int{%s})", values(m, known, []int64{elements}), list(shape), list(stride))
	}
	if known.Grad && m.DType.IsFloat() {
		if elements >= 0 {
			in.Make += ".Detach()"
		}
		in.Make += ".RequiresGrad_()"
		in.Grad, in.Copy = true, !known.Leaf
	}
	if known.Shares != "" {
		in.Note = strings.TrimSpace(in.Note + "; in the program it shares memory with " + printable.Clean(known.Shares))
	}
	for d, x := range m.Shape {
		if _, constant := x.IsConst(); !constant {
			in.Dynamic = append(in.Dynamic, d)
		}
	}
	return in, max(elements, plain) * int64(m.DType.Size()), nil
}

// values is an expression of random numbers.
func values(m *ops.TensorMeta, known logs.GraphInput, shape []int64) string {
	var options []string
	d := m.DType
	if d != ops.Float32 && d != ops.Complex64 && !(d == ops.Int64 && len(known.Range) == 2) {
		options = append(options, "kw.Dtype("+graph.GoArg(d)+")")
	}
	if m.Device != ops.CPU && m.Device != "" {
		options = append(options, fmt.Sprintf("kw.Device(%q)", string(m.Device)))
	}
	call := func(name string, args ...string) string {
		return name + "(" + strings.Join(slices.DeleteFunc(append(args, options...), func(s string) bool { return s == "" }), ", ") + ")"
	}
	switch {
	case d == ops.Complex64:
		return "torch.Complex(" + call("torch.Randn", list(shape)) + ", " + call("torch.Randn", list(shape)) + ")"
	case d.IsFloat() && known.Positive:
		return call("torch.Rand", list(shape))
	case d.IsFloat() && known.Grad && known.Leaf && len(shape) > 1: // a weight: results stay of one size from layer to layer
		return call("torch.Randn", list(shape)) + fmt.Sprintf(".Mul(%.3g)", 1/math.Sqrt(float64(fanIn(shape))))
	case d.IsFloat():
		return call("torch.Randn", list(shape))
	case len(known.Range) == 2 && known.Range[0] <= known.Range[1] && known.Range[1] < math.MaxInt64:
		low, high := strconv.FormatInt(known.Range[0], 10), strconv.FormatInt(known.Range[1]+1, 10)
		return call("torch.Randint", low, high, "[]int{"+list(shape)+"}")
	}
	return call("torch.Zeros", list(shape)) // a position that every list has
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
