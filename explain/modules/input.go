package modules

import (
	"cmp"
	"fmt"
	"strings"

	"tcdbg/explain"
)

// This file reads what an input of a graph is from its name: PyTorch names a
// parameter after the modules that hold it, and so does our own engine.

// Kind is what an input is.
type Kind int

// The kinds of inputs.
const (
	Argument Kind = iota
	Parameter
	Buffer
)

func (k Kind) String() string { return [...]string{"input", "parameter", "buffer"}[k] }

// Input is one input of a graph.
type Input struct {
	Node int // of the graph
	Kind Kind
	// Module holds it, by its path from the root: "layers.0.attn"; "" for the root, or for an argument.
	Module string
	Name   string // in the module: weight; of an argument as people write it: x
	root   string // self, args_0
}

// parseInput reads a placeholder's name:
// l_self_modules_layers_modules_0_parameters_weight_, l_x_, l_m__Layers_Modules_0__Weight.
func parseInput(name string) Input {
	s := strings.Trim(strings.TrimPrefix(strings.TrimPrefix(name, "L_"), "l_"), "_")
	if in, ok := torchInput(s); ok {
		return in
	}
	if root, path, ok := strings.Cut(s, "__"); ok && goPath(path) {
		return goInput(root, strings.FieldsFunc(path, func(r rune) bool { return r == '_' }))
	}
	return Input{Name: s}
}

// torchInput reads self_modules_layers_modules_0_parameters_weight.
func torchInput(s string) (Input, bool) {
	kind, sep := Parameter, "_parameters_"
	at := strings.LastIndex(s, sep)
	if b := strings.LastIndex(s, "_buffers_"); b > at {
		kind, sep, at = Buffer, "_buffers_", b
	}
	if at < 0 {
		return Input{}, false
	}
	parts := strings.Split(s[:at], "_modules_")
	return Input{
		Kind: kind, root: parts[0], Module: strings.Join(parts[1:], "."), Name: strings.Trim(s[at+len(sep):], "_"),
	}, true
}

// goPath reports whether a name goes on with fields of Go, which begin with a capital.
func goPath(path string) bool { return path != "" && path[0] >= 'A' && path[0] <= 'Z' }

// goInput reads the fields from the module to the tensor. What only holds modules has no name of
// its own: Layers.Modules[0].Module.Ln1 is Layers.0.Ln1.
func goInput(root string, fields []string) Input {
	var path []string
	for _, f := range fields[:len(fields)-1] {
		if f != "Modules" && f != "Module" {
			path = append(path, f)
		}
	}
	in := Input{Kind: Parameter, root: root, Module: strings.Join(path, "."), Name: fields[len(fields)-1]}
	switch in.Name {
	case "RunningMean", "RunningVar", "NumBatchesTracked":
		in.Kind = Buffer
	}
	return in
}

// sourceInput reads what our own engine says of an input: its source, L['m'].Layers.Modules[0].Weight.
func sourceInput(source string, grad bool) (Input, bool) {
	root, path, ok := strings.Cut(strings.TrimPrefix(source, "L['"), "']")
	if !ok {
		return Input{}, false
	}
	fields := strings.FieldsFunc(path, func(r rune) bool { return strings.ContainsRune(".[]'\"", r) })
	if len(fields) == 0 || !goPath(fields[0]) {
		return Input{Name: cmp.Or(root+path, source)}, true
	}
	in := goInput(root, fields)
	if grad {
		in.Kind = Parameter
	}
	return in, true
}

// maxDepth bounds the modules of a path: a deeper one, which no model has, counts as the root.
const maxDepth = 64

// readInputs lists a graph's inputs. Where tensors of several objects come in, their paths begin with them.
func (g *Graph) readInputs(own *explain.Graph) {
	told := map[string]Input{}
	if own != nil && own.LoadInputs != nil {
		for _, in := range own.LoadInputs().Inputs {
			if read, ok := sourceInput(in.Source, in.Grad); ok {
				told[in.Name] = read
			}
		}
	}
	roots := map[string]bool{}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		// A joint graph lists primals and tangents, and then each of them.
		if n.Op != "placeholder" || n.Type == "" && (n.Name == "primals" || n.Name == "tangents") {
			continue
		}
		in, ok := told[n.Name]
		if !ok {
			in = parseInput(n.Name)
		}
		in.Node = i
		g.Inputs = append(g.Inputs, in)
		if in.Kind != Argument {
			roots[in.root] = true
		}
	}
	g.roots = len(roots)
	for i := range g.Inputs {
		in := &g.Inputs[i]
		if in.Kind != Argument && len(roots) > 1 {
			in.Module = join(in.root, in.Module)
		}
		if strings.Count(in.Module, ".") >= maxDepth {
			in.Module = ""
		}
	}
}

// Arguments counts the inputs that no module holds.
func (g *Graph) Arguments() int {
	n := 0
	for i := range g.Inputs {
		if g.Inputs[i].Kind == Argument {
			n++
		}
	}
	return n
}

// maxNamed is the number of arguments that a summary names.
const maxNamed = 4

// InputText says what the inputs are: "728 inputs: 364 parameters, 363 buffers, x".
func (g *Graph) InputText() string {
	if len(g.Inputs) == 0 {
		return "no inputs"
	}
	var count [3]int
	var names []string
	for i := range g.Inputs {
		in := &g.Inputs[i]
		count[in.Kind]++
		if in.Kind == Argument && len(names) <= maxNamed {
			names = append(names, in.Name)
		}
	}
	var parts []string
	for _, k := range []Kind{Parameter, Buffer} {
		if count[k] > 0 {
			parts = append(parts, explain.Count(count[k], k.String()))
		}
	}
	switch n := count[Argument]; {
	case n > maxNamed && len(parts) == 0:
		return explain.Count(n, "input")
	case n > maxNamed:
		parts = append(parts, fmt.Sprintf("%d others", n))
	default:
		parts = append(parts, names...)
	}
	return explain.Count(len(g.Inputs), "input") + ": " + strings.Join(parts, ", ")
}

// join puts a path below another.
func join(above, below string) string {
	if above == "" || below == "" {
		return above + below
	}
	return above + "." + below
}
