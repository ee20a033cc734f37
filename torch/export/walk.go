package export

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// This file walks through a program and has its calls made: computed at once, written into
// a graph, or, when a program is read, tried on shapes alone.

// Maker makes the calls of a program.
type Maker interface {
	// Call makes a call of n with bound arguments.
	Call(n *Node, row *ops.Op, args []ops.Arg) ([]ops.Value, error)
}

// Walk has the calls of p made. inputs are the values of p.Inputs: an ops.Value, a sym.Int, or what
// a Fixed one has; symbol gives p's symbols. It returns the values of p.Outputs: mutations are made
// by calls as well.
func (p *Program) Walk(m Maker, inputs []any, symbol func(name string) (sym.Int, error)) ([]any, error) {
	w := &walker{p: p, m: m, vals: map[string]any{}, rules: rules(), expands: expansions(), symbol: symbol, last: p.lastUses()}
	for i, in := range p.Inputs {
		w.vals[in.Name] = inputs[i]
	}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		if err := w.node(n); err != nil {
			return nil, n.located(err)
		}
		for _, dead := range w.last[i] {
			delete(w.vals, dead)
		}
	}
	return w.outputs(inputs)
}

// located names the line of the program that a call comes from.
func (n *Node) located(err error) error {
	if len(n.Stack) == 0 {
		return err
	}
	at := n.Stack[len(n.Stack)-1]
	for _, f := range slices.Backward(n.Stack) { // the model's own line, where there is one
		if !strings.Contains(f.File, "/site-packages/") {
			at = f
			break
		}
	}
	return fmt.Errorf("%w (%s:%d)", err, at.File, at.Line)
}

// lastUses are the names that are used last by each node.
func (p *Program) lastUses() map[int][]string {
	at := map[string]int{}
	for i := range p.Nodes {
		for _, o := range p.Nodes[i].Outs {
			for _, name := range append(o.List, o.Name) {
				at[name] = i
			}
		}
		for _, a := range p.Nodes[i].Args {
			eachRef(a.Value, func(r Ref) { at[string(r)] = i })
		}
	}
	for _, o := range p.Outputs {
		eachRef(o.Value, func(r Ref) { delete(at, string(r)) })
	}
	for _, in := range p.Inputs {
		delete(at, in.Name)
	}
	out := map[int][]string{}
	for name, i := range at {
		out[i] = append(out[i], name)
	}
	return out
}

func eachRef(a Arg, f func(Ref)) {
	switch a := a.(type) {
	case Ref:
		f(a)
	case []Arg:
		for _, e := range a {
			eachRef(e, f)
		}
	}
}

type walker struct {
	p       *Program
	m       Maker
	vals    map[string]any
	rules   map[string]rule
	expands map[string]expansion
	symbol  func(string) (sym.Int, error)
	last    map[int][]string
}

// errUnknown is that of a value which a call would give that is not supported.
var errUnknown = errors.New("a value is not known")

// value reads an argument: names become their values.
func (w *walker) value(a Arg) (any, error) {
	switch a := a.(type) {
	case Ref:
		v, ok := w.vals[string(a)]
		if !ok {
			return nil, fmt.Errorf("%w: %s", errUnknown, clip(string(a)))
		}
		return v, nil
	case int64:
		return sym.Const(a), nil
	case MemoryFormat:
		return memoryFormat(a)
	case Unread:
		return nil, &Unsupported{Why: "a value of kind " + clip(string(a))}
	case *Sub:
		return nil, &Unsupported{Why: "a value of kind as_graph"}
	case []Arg:
		return w.list(a)
	}
	return a, nil
}

func memoryFormat(f MemoryFormat) (any, error) {
	names := []string{1: "contiguous_format", 2: "channels_last", 3: "channels_last_3d", 4: "preserve_format"}
	if f < 1 || int(f) >= len(names) {
		return nil, &Unsupported{Why: "an unknown memory format"}
	}
	return names[f], nil
}

// list gives a list the type that its elements have.
func (w *walker) list(a []Arg) (any, error) {
	var values []ops.Value
	var ints []sym.Int
	var floats []float64
	var bools []bool
	for _, e := range a {
		v, err := w.value(e)
		if err != nil {
			return nil, err
		}
		switch v := v.(type) {
		case nil:
			values = append(values, nil)
		case ops.Value:
			values = append(values, v)
		case sym.Int:
			ints = append(ints, v)
		case float64:
			floats = append(floats, v)
		case bool:
			bools = append(bools, v)
		}
	}
	switch len(a) {
	case 0:
		return []sym.Int{}, nil
	case len(values):
		return values, nil
	case len(ints):
		return ints, nil
	case len(floats):
		return floats, nil
	case len(bools):
		return bools, nil
	}
	return nil, &Unsupported{Why: "a list of values of several types"}
}

// node has one call made.
func (w *walker) node(n *Node) error {
	if n.FlowOp() != "" {
		return w.flow(n)
	}
	args := make(map[string]ops.Arg, len(n.Args))
	for _, a := range n.Args {
		v, err := w.value(a.Value)
		var un *Unsupported
		if errors.As(err, &un) {
			un.Op = shortTarget(n.Target)
		}
		if err != nil {
			return err
		}
		args[a.Name] = v
	}
	if done, err := w.number(n, args); done || err != nil {
		return err
	}
	if outs, done, err := w.expand(n, args); done || err != nil {
		if err != nil {
			return err
		}
		return w.store(n, outs)
	}
	row, bound, err := w.bind(n, args)
	if err != nil {
		return err
	}
	row, bound = ops.OverInput(row, bound)
	row, bound = viewed(n, row, bound)
	outs, err := w.m.Call(n, row, bound)
	if err != nil {
		return fmt.Errorf("%s: %w", shortTarget(n.Target), err)
	}
	return w.store(n, outs)
}

// bind finds the operator of a call and binds its arguments.
func (w *walker) bind(n *Node, args map[string]ops.Arg) (*ops.Op, []ops.Arg, error) {
	if n.isFunction() {
		return w.function(n, args)
	}
	row, r, err := atenRow(n.Target, w.rules)
	if err != nil {
		return nil, nil, err
	}
	bound, err := bindCall(n, row, r, args)
	return row, bound, err
}

// isFunction reports whether a call is one of PyTorch's Python interface, as texts of graphs have them.
func (n *Node) isFunction() bool { return n.Results != 0 && !strings.HasPrefix(n.Target, "torch.ops.") }

// store gives the results of a call their names.
func (w *walker) store(n *Node, outs []ops.Value) error {
	if n.Results != 0 {
		return w.storeText(n, outs)
	}
	var names []string
	for _, o := range n.Outs {
		if o.Many {
			names = append(names, o.List...)
		} else {
			names = append(names, o.Name)
		}
	}
	if len(names) > len(outs) || len(names) < len(outs) && len(names) > 0 {
		return &Unsupported{
			Op: shortTarget(n.Target), Why: fmt.Sprintf("it has %d results, and the operator here %d", len(names), len(outs)),
		}
	}
	for i, name := range names {
		if name != "" && outs[i] != nil {
			w.vals[name] = outs[i]
		}
	}
	return nil
}

// outputs makes the mutations and gives the results.
func (w *walker) outputs(inputs []any) ([]any, error) {
	out := make([]any, len(w.p.Outputs))
	for i, o := range w.p.Outputs {
		v, err := w.value(o.Value)
		if err != nil {
			return nil, fmt.Errorf("output %d: %w", i, err)
		}
		out[i] = v
		if o.Kind == Result {
			continue
		}
		at := slices.IndexFunc(w.p.Inputs, func(in Input) bool {
			if o.Kind == InputMutation {
				return in.Kind == User && in.Name == o.Target
			}
			return in.Kind != User && in.Kind != Fixed && in.Target == o.Target
		})
		if at < 0 {
			return nil, fmt.Errorf("output %d is the new content of %s, which is no input", i, clip(o.Target))
		}
		copyTo := ops.Get(ops.InPlace(ops.Copy))
		if _, err := w.m.Call(&Node{Target: "torch.ops.aten.copy_.default"}, copyTo, []ops.Arg{inputs[at], v, false}); err != nil {
			return nil, fmt.Errorf("the new content of %s: %w", clip(o.Target), err)
		}
	}
	return out, nil
}

// Missing is the error of a program with operators that are not supported.
type Missing struct {
	Counts map[string]int
	Why    string // what they are not: have no form in aten; empty: not supported
}

func (e *Missing) Error() string {
	names := slices.Collect(maps.Keys(e.Counts))
	slices.SortFunc(names, func(a, b string) int {
		if d := e.Counts[b] - e.Counts[a]; d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	parts := make([]string, len(names))
	for i, name := range names {
		parts[i] = fmt.Sprintf("%s (%d)", name, e.Counts[name])
	}
	if e.Why != "" {
		return fmt.Sprintf("operators %s: %s", e.Why, strings.Join(parts, ", "))
	}
	if len(names) == 1 {
		return "1 operator is not supported: " + parts[0]
	}
	return fmt.Sprintf("%d operators are not supported: %s", len(names), strings.Join(parts, ", "))
}
