package fxtext

import (
	"fmt"
	"strings"

	"tcdbg/logs/fx"
	"tcdbg/torch/export"
)

// This file makes calls of a text's nodes. What Inductor's own operators compute is written as calls of aten's.

// call adds the call of a node.
func (t *reader) call(n *fx.Node) error {
	c := &export.Node{Target: clip(n.Target), Name: n.Name, Results: export.AnyResult, Stack: stackOf(n.Source)}
	if n.Type != "" {
		if err := t.result(n); err != nil {
			return err
		}
	}
	args, err := t.readArguments(n, c)
	if err != nil {
		return err
	}
	if special, ok := rewrites(strings.TrimPrefix(c.Target, "torch.ops.")); ok {
		return special(t, n, c, args)
	}
	return t.add(c, args)
}

// result notes what the text says of a call's result.
func (t *reader) result(n *fx.Node) error {
	if expr, ok := sizeType(n.Type); ok {
		t.noted(expr)
		return nil
	}
	m, err := t.tensor(n.Type)
	if err != nil {
		return err
	}
	t.tensors[n.Name] = m
	t.p.SetTensor(n.Name, m)
	return nil
}

func stackOf(s fx.Source) []export.Frame {
	if s.File == "" {
		return nil
	}
	return []export.Frame{{File: s.File, Line: s.Line, Func: s.Func, Code: s.Code}}
}

// readArguments reads the arguments of a node, and gives the call the name of what it calls.
func (t *reader) readArguments(n *fx.Node, c *export.Node) ([]argument, error) {
	switch {
	case n.Op == "call_module":
		c.Target = "torch.ops.call_module." + clip(n.Target)
		return nil, nil
	case n.Op == "call_method":
		args, err := t.arguments(n.Text)
		if len(n.Args) == 0 {
			return nil, fmt.Errorf("a method of what is no value of the graph")
		}
		c.Target = "Tensor." + clip(n.Target)
		return append([]argument{{value: t.ref(n.Args[0])}}, args...), err
	case strings.HasPrefix(n.Target, "operator."):
		return t.infix(n, c)
	}
	return t.arguments(n.Text)
}

// infix reads x[0], a + b and -a, and operator.getitem(x, 0).
func (t *reader) infix(n *fx.Node, c *export.Node) ([]argument, error) {
	if _, isSize := sizeType(n.Type); isSize {
		c.Target = "_" + c.Target
	}
	p := &parser{t: t, s: n.Text}
	if n.Target == "operator.getitem" {
		base, err := p.value(0)
		if err != nil || !p.accept("[") {
			return t.arguments(n.Text)
		}
		at, err := p.value(0)
		if err != nil || !p.accept("]") || !p.end() { // slices: of a tensor
			at = export.Unread("index")
		}
		return []argument{{value: base}, {value: at}}, nil
	}
	if rest := strings.TrimLeft(n.Text, "-~"); (n.Target == "operator.neg" || n.Target == "operator.invert") && rest != n.Text {
		p.s = rest
		v, err := p.value(0)
		return []argument{{value: v}}, err
	}
	a, err := p.value(0)
	if err != nil {
		return nil, err
	}
	if p.end() || p.accept(",") {
		return t.arguments(n.Text)
	}
	if _, rest, ok := strings.Cut(p.s, " "); ok {
		p.s = rest
	}
	b, err := p.value(0)
	if err == nil && !p.end() {
		err = fmt.Errorf("an expression cannot be read at %s", clip(p.s))
	}
	return []argument{{value: a}, {value: b}}, err
}

// add adds a call whose arguments are named by PyTorch's signature.
func (t *reader) add(c *export.Node, args []argument) error {
	sig, known := export.SignatureOf(c.Target)
	if known {
		c.Results = sig.Results
	}
	for i, a := range args {
		name := a.name
		switch {
		case name != "":
		case !known:
			name = export.Position(i)
		case i < sig.Positional:
			name = sig.Names[i]
		default:
			return fmt.Errorf("%s takes %d arguments by position, and has %d", c.Target, sig.Positional, len(args))
		}
		c.Args = append(c.Args, export.NamedArg{Name: name, Keyword: a.name != "", Value: a.value})
	}
	t.p.Nodes = append(t.p.Nodes, *c)
	return nil
}

// output reads what the graph returns.
func (t *reader) output(n *fx.Node) error {
	text := strings.TrimSpace(n.Text)
	if inner, ok := strings.CutPrefix(text, "pytree.tree_unflatten("); ok {
		text = inner
	}
	p := &parser{t: t, s: text}
	for !p.end() {
		v, err := p.value(0)
		if err != nil {
			return err
		}
		for _, v := range flat(v, nil) {
			t.p.Outputs = append(t.p.Outputs, export.Output{Value: v})
		}
		if !p.accept(",") || strings.HasPrefix(strings.TrimLeft(p.s, " "), "self.") {
			break
		}
	}
	return nil
}

// flat lists the tensors and numbers of an output.
func flat(v export.Arg, out []export.Arg) []export.Arg {
	if list, ok := v.([]export.Arg); ok {
		for _, e := range list {
			out = flat(e, out)
		}
		return out
	}
	return append(out, v)
}
