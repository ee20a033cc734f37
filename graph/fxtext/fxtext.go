// Package fxtext makes a graph of the text of an FX graph, as PyTorch's traces have it: what a call
// is comes from its name and arguments, dtypes, shapes and strides from the annotations.
//
// Texts come from strangers: sizes and depths are bounded, and nothing is guessed. A call without one of
// our operators is named, and each result must be what the text says of it. It imports graph, graph/exported, ops,
// torch/export and logs/fx; never aot. Open this file first, then calls.go (from nodes to calls), args.go
// (arguments) and types.go (annotations).
package fxtext

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"tcdbg/graph"
	"tcdbg/graph/exported"
	"tcdbg/logs/fx"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch/export"
)

// MaxNodes bounds the graphs that are read.
const MaxNodes = 20_000

// Read is a graph that was read.
type Read struct {
	Graph *graph.Graph
	// Device is the one that the text names, cuda:0; the graph itself is on the CPU.
	Device string
	// of is the name of the text's node by the stack that the graph's nodes carry; see NodeOf.
	of map[*graph.Frame]string
	// Source is the line of each of the text's nodes.
	Source map[string]fx.Source
}

// NodeOf is the text's node that a node of the graph, or of what a pass made of the graph, is of; "" where none is known.
func (r *Read) NodeOf(n *graph.Node) string {
	if cap(n.Stack) == 0 {
		return ""
	}
	return r.of[&n.Stack[:1][0]]
}

// Build makes a graph of that name. hints are the values of its symbols. The error is
// *export.Missing where operators are missing.
func Build(g *fx.Graph, name string, hints map[string]int64) (_ *Read, err error) {
	defer func() {
		if v := recover(); v != nil { // rules may panic when they are given what PyTorch never writes
			err = fmt.Errorf("the graph is none that PyTorch writes: %v", v)
		}
	}()
	if g == nil {
		return nil, errors.New("there is no graph in the text")
	}
	if len(g.Nodes) > MaxNodes {
		return nil, fmt.Errorf("the graph has %d nodes, and graphs of up to %d are lowered", len(g.Nodes), MaxNodes)
	}
	t := newReader(g, hints)
	if err := t.read(); err != nil {
		return nil, err
	}
	if err := t.p.Check(); err != nil {
		return nil, err
	}
	return t.write(name)
}

// reader makes a program of a text.
type reader struct {
	g       *fx.Graph
	p       *export.Program
	known   map[string]bool
	tensors map[string]*export.Tensor // by name
	as      map[string]string         // values that another name stands for
	pieces  map[string][]string       // several results of one call, each a value of its own
	used    map[string]bool
	sizes   map[string]bool
	hints   map[string]int64
	device  string
}

func newReader(g *fx.Graph, hints map[string]int64) *reader {
	return &reader{
		g: g, p: export.NewProgram(), known: map[string]bool{}, tensors: map[string]*export.Tensor{}, as: map[string]string{},
		pieces: map[string][]string{}, used: map[string]bool{}, sizes: map[string]bool{}, hints: hints,
	}
}

func (t *reader) read() error {
	for i := range t.g.Nodes {
		for _, a := range t.g.Nodes[i].Args {
			t.used[a] = true
		}
	}
	for i := range t.g.Nodes {
		n := &t.g.Nodes[i]
		if t.known[n.Name] && n.Op != "output" {
			return fmt.Errorf("two nodes are named %s", clip(n.Name))
		}
		if err := t.node(n); err != nil {
			return fmt.Errorf("%s: %w", clip(n.Name), err)
		}
		t.known[n.Name] = true
	}
	return t.symbols()
}

func (t *reader) node(n *fx.Node) error {
	switch n.Op {
	case "placeholder":
		if n.Type == "" && !t.used[n.Name] {
			return nil // what a joint graph is called with: its tensors follow
		}
		return t.input(n, export.User)
	case "get_attr":
		if n.Type == "" {
			return t.unreadable(n) // the graph of control flow
		}
		return t.input(n, export.Constant)
	case "output":
		return t.output(n)
	}
	return t.call(n)
}

// input adds an input of the graph.
func (t *reader) input(n *fx.Node, kind export.InputKind) error {
	if n.Type == "" {
		return errors.New("the text has no dtypes and shapes: record it with PyTorch 2.4 or later (TORCH_TRACE)")
	}
	in := export.Input{Kind: kind, Name: n.Name, Target: n.Target}
	if size, ok := sizeType(n.Type); ok {
		t.p.SetSize(n.Name, t.noted(size))
		t.p.Inputs = append(t.p.Inputs, in)
		return nil
	}
	m, err := t.tensor(n.Type)
	if err != nil {
		return err
	}
	if m.Stride == nil && len(m.Shape) > 0 {
		return errors.New("the text has no strides: record it with PyTorch 2.4 or later (TORCH_TRACE)")
	}
	in.Tensor = m
	t.tensors[n.Name] = m
	t.p.SetTensor(n.Name, m)
	t.p.Inputs = append(t.p.Inputs, in)
	return nil
}

// unreadable is a node that no operator is for: it is counted among those that are missing.
func (t *reader) unreadable(n *fx.Node) error {
	t.p.Nodes = append(t.p.Nodes, export.Node{Target: "torch.ops." + clip(n.Op), Name: n.Name, Results: 1})
	return nil
}

var identifier = regexp.MustCompile(`[A-Za-z_][A-Za-z_0-9]*\(?`)

// noted remembers the symbols of a size.
func (t *reader) noted(expr string) string {
	for _, s := range identifier.FindAllString(expr, -1) {
		if !strings.HasSuffix(s, "(") { // of a function
			t.sizes[s] = true
		}
	}
	return expr
}

// symbols declares the symbols of all sizes.
func (t *reader) symbols() error {
	names := make([]string, 0, len(t.sizes))
	for s := range t.sizes {
		names = append(names, s)
	}
	slices.Sort(names)
	for _, s := range names {
		hint, ok := t.hints[s]
		if !ok {
			return fmt.Errorf("the trace does not say what the size %s is", clip(s))
		}
		t.p.Symbols = append(t.p.Symbols, export.Symbol{Name: s, Min: 2, Max: 1 << 46, Hint: max(hint, 2)})
	}
	return nil
}

// write makes the graph of the program.
func (t *reader) write(name string) (*Read, error) {
	env, symbol := t.p.Env(func(s *export.Symbol) int64 { return s.Hint })
	g := graph.New(name, env)
	g.Untaped = true
	vals := make([]any, len(t.p.Inputs))
	for i := range t.p.Inputs {
		in := &t.p.Inputs[i]
		meta, err := t.p.InputMeta(in, symbol)
		if err != nil {
			return nil, err
		}
		n := g.Input(in.Name, in.Name, "L."+in.Name, meta)
		vals[i] = n
		if x, ok := meta.(sym.Int); ok {
			vals[i] = x
		}
	}
	r := &Read{Graph: g, Device: t.device, of: map[*graph.Frame]string{}, Source: map[string]fx.Source{}}
	for i := range t.g.Nodes {
		r.Source[t.g.Nodes[i].Name] = t.g.Nodes[i].Source
	}
	m := exported.NewMaker(g)
	m.Stack = func(n *export.Node) []graph.Frame {
		frames := exported.Stack(n)
		if len(frames) == 0 { // an empty stack tells by its memory, too, which node it is of
			frames = make([]graph.Frame, 0, 1)
		}
		name, _, _ := strings.Cut(n.Name, partOf)
		r.of[&frames[:1][0]] = name
		return frames
	}
	out, err := t.p.Walk(m, vals, symbol)
	if err != nil {
		return nil, err
	}
	args := make([]ops.Arg, len(out))
	copy(args, out)
	g.SetOutput(args)
	g.EliminateDead()
	return r, g.Check()
}

// clip makes a text short enough for a message, and one line of it.
func clip(s string) string {
	if len(s) > 80 {
		s = s[:80]
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r == 0xfffd {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
}
