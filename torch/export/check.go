package export

import (
	"errors"
	"fmt"

	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// This file tries a program on shapes alone: operators that are missing are all found at
// once, and each result is held against what the file says of it.

// maxPieces bounds how long a list of results may get.
const maxPieces = 1 << 16

// shape is a tensor without data.
type shape struct{ meta *ops.TensorMeta }

func (s shape) TensorMeta() *ops.TensorMeta { return s.meta }

// Env makes the symbols of a program, with its ranges; hint gives their values.
func (p *Program) Env(hint func(s *Symbol) int64) (*sym.Env, func(name string) (sym.Int, error)) {
	env := &sym.Env{}
	byName := map[string]sym.Int{}
	for i := range p.Symbols {
		s := &p.Symbols[i]
		x := env.NewSymbol(s.Name, s.Name, hint(s))
		one := env.Symbols[len(env.Symbols)-1]
		one.Min, one.Max = s.Min, s.Max
		byName[s.Name] = x
	}
	return env, func(name string) (sym.Int, error) {
		if x, ok := byName[name]; ok {
			return x, nil
		}
		return sym.Int{}, fmt.Errorf("%s is no symbol of the program", clip(name))
	}
}

// Meta is a tensor's description over symbols.
func (t *Tensor) Meta(symbol func(string) (sym.Int, error)) (*ops.TensorMeta, error) {
	m := &ops.TensorMeta{DType: t.DType, Device: ops.CPU, RequiresGrad: t.Grad}
	if t.Device != "cpu" {
		return nil, fmt.Errorf("a tensor is on the device %s: export the model on the CPU", t.Device)
	}
	var err error
	if m.Shape, err = sizesOf(t.Shape, symbol); err != nil {
		return nil, err
	}
	if m.Stride, err = sizesOf(t.Stride, symbol); err != nil {
		return nil, err
	}
	return m, nil
}

func sizesOf(list []Size, symbol func(string) (sym.Int, error)) ([]sym.Int, error) {
	out := make([]sym.Int, len(list))
	for i, s := range list {
		if s.Expr == "" {
			out[i] = sym.Const(s.Value)
			continue
		}
		x, err := readSize(s.Expr, symbol)
		if err != nil {
			return nil, err
		}
		out[i] = x
	}
	return out, nil
}

// Check tries the program. Its error is *Missing where operators are missing.
func (p *Program) Check() (err error) {
	_, symbol := p.Env(func(s *Symbol) int64 { return s.Hint })
	inputs := make([]any, len(p.Inputs))
	for i, in := range p.Inputs {
		if inputs[i], err = p.InputMeta(&in, symbol); err != nil {
			return fmt.Errorf("input %s: %w", clip(in.Name), err)
		}
		if m, ok := inputs[i].(*ops.TensorMeta); ok {
			inputs[i] = shape{m}
		}
	}
	w := &walker{p: p, m: tryMaker{}, vals: map[string]any{}, rules: rules(), expands: expansions(), symbol: symbol}
	for i, in := range p.Inputs {
		w.vals[in.Name] = inputs[i]
	}
	missing := map[string]int{}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		err := w.try(n)
		var un *Unsupported
		switch {
		case errors.As(err, &un):
			missing[un.Error()]++
		case errors.Is(err, errUnknown) && len(missing) > 0:
			if w.lacks(n) {
				missing[shortTarget(n.Target)]++
			}
		case err != nil && len(missing) == 0:
			return n.located(err)
		}
	}
	if len(missing) > 0 {
		return &Missing{Counts: missing}
	}
	_, err = w.outputs(inputs)
	return err
}

// lacks reports whether there is no operator for a call, whatever its arguments.
func (w *walker) lacks(n *Node) bool {
	if isNumber(n.Target) {
		return false
	}
	if n.isFunction() {
		return len(functionRows(n.Target)) == 0
	}
	if full, _ := cutAten(n.Target); w.expands[full] != nil {
		return false
	}
	var un *Unsupported
	_, _, err := atenRow(n.Target, w.rules)
	return errors.As(err, &un)
}

// isNumber reports whether a target computes numbers.
func isNumber(target string) bool {
	done, _ := (&walker{}).number(&Node{Target: target}, nil)
	return done
}

// InputMeta is what an input of the graph is: *ops.TensorMeta, a sym.Int, or the value of a Fixed one.
func (p *Program) InputMeta(in *Input, symbol func(string) (sym.Int, error)) (any, error) {
	switch {
	case in.Kind == Fixed:
		if i, ok := in.Value.(int64); ok {
			return sym.Const(i), nil
		}
		return in.Value, nil
	case in.Tensor != nil:
		m, err := in.Tensor.Meta(symbol)
		if err != nil {
			return nil, err
		}
		return m, nil
	}
	return readSize(p.sizes[in.Name], symbol)
}

// try makes one call on shapes and compares its results with the file. Rules may panic when
// they are given what PyTorch never writes.
func (w *walker) try(n *Node) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%s does not fit its arguments: %v", shortTarget(n.Target), v)
		}
	}()
	if err := w.node(n); err != nil {
		return err
	}
	if n.Results != 0 {
		return w.compare(n, n.Name)
	}
	for _, o := range n.Outs {
		for _, name := range append([]string{o.Name}, o.List...) {
			if err := w.compare(n, name); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *walker) compare(n *Node, name string) error {
	want, v := w.p.values[name], w.vals[name]
	if want == nil || v == nil {
		return nil
	}
	got := ops.MetaOf(v)
	if got == nil {
		return fmt.Errorf("%s: %s is a number, and the file says a tensor", shortTarget(n.Target), clip(name))
	}
	m, err := want.Meta(w.symbol)
	if err != nil {
		return err
	}
	if got.DType != m.DType || !equal(sym.Hints(got.Shape), sym.Hints(m.Shape)) {
		said := "file"
		if n.Results != 0 {
			said = "text"
		}
		return &Unsupported{Op: shortTarget(n.Target), Why: fmt.Sprintf(
			"it gives %s%s, and the %s says %s%s", got.DType, ops.ShapeText(got.Shape), said, m.DType, ops.ShapeText(m.Shape),
		)}
	}
	return nil
}

func equal(a, b []int) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// tryMaker makes calls on shapes.
type tryMaker struct{}

func (tryMaker) Call(n *Node, row *ops.Op, args []ops.Arg) ([]ops.Value, error) {
	if row.Returns()[0] == "Tensor[]" {
		for _, v := range ops.TensorArgs(row, args) {
			if v == nil {
				continue
			}
			for _, s := range v.TensorMeta().Shape {
				if s.Hint() > maxPieces {
					return nil, fmt.Errorf("a dimension of %d elements is cut into pieces", s.Hint())
				}
			}
		}
	}
	res, err := row.Meta(&ops.Call{Op: row, Args: args})
	if err != nil {
		return nil, err
	}
	out := make([]ops.Value, len(res))
	for i, r := range res {
		m, ok := r.(*ops.TensorMeta)
		if !ok {
			return nil, &Unsupported{Op: shortTarget(n.Target), Why: "its result is a number out of a tensor's data"}
		}
		out[i] = shape{m}
	}
	return out, nil
}
