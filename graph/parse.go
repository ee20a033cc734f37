package graph

import (
	"fmt"
	"strconv"
	"strings"

	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// This file reads back the text that Code writes, so that tests of passes can
// be text before and text after.

// Parse reads a graph that Code has printed. Sizes that are no numbers become
// symbols with the hint 4.
func Parse(name, text string) (*Graph, error) { return ParseSized(name, text, nil) }

// ParseSized is Parse with the hints of symbols by name.
func ParseSized(name, text string, hints map[string]int64) (*Graph, error) {
	p := &parser{g: New(name, &sym.Env{}), vals: map[string]*Node{}, syms: map[string]sym.Int{}, hints: hints}
	if err := p.class(splitClasses(text)); err != nil {
		return nil, err
	}
	return p.g, p.g.Check()
}

// class is the text of one module, with those of the bodies that its nodes hold.
type class struct {
	lines  []string
	at     []int // [] /* line */ its number in the whole text
	bodies map[string]*class
}

// splitClasses takes a text apart into modules: a class that is indented more than
// another before it is inside of that.
func splitClasses(text string) *class {
	top := &class{bodies: map[string]*class{}}
	within, depths := []*class{top}, []int{-1}
	for i, line := range strings.Split(text, "\n") {
		short := strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(short, "class "); ok {
			depth := strings.Index(line, "class ")
			if depths[0] < 0 {
				depths[0] = depth
				continue
			}
			for len(depths) > 1 && depths[len(depths)-1] >= depth {
				within, depths = within[:len(within)-1], depths[:len(depths)-1]
			}
			name, _, _ = strings.Cut(name, "(")
			c := &class{bodies: map[string]*class{}}
			within[len(within)-1].bodies[name] = c
			within, depths = append(within, c), append(depths, depth)
		}
		c := within[len(within)-1]
		c.lines, c.at = append(c.lines, short), append(c.at, i+1)
	}
	return top
}

func (p *parser) class(c *class) error {
	p.bodies = c.bodies
	for i, line := range c.lines {
		if err := p.line(line); err != nil {
			return fmt.Errorf("graph: line %d: %w", c.at[i], err)
		}
	}
	if p.g.OutputNode() == nil {
		return fmt.Errorf("graph: the text has no return")
	}
	return nil
}

type parser struct {
	g     *Graph
	vals  map[string]*Node
	syms  map[string]sym.Int
	hints map[string]int64
	stack []Frame
	rest  string // of the expression being read
	// bodies are those that the nodes of the graph hold, by name; pair is set in the forward
	// ones of functions with a derivative of their own: how many outputs come before what is saved.
	bodies map[string]*class
	pair   *int
}

func (p *parser) line(s string) error {
	switch {
	case s == "" || strings.HasPrefix(s, "class "):
		return nil
	case strings.HasPrefix(s, "def forward("):
		return p.signature(s)
	case strings.HasPrefix(s, "# File: "):
		p.stack = parseComment(s)
		return nil
	case strings.HasPrefix(s, "return ("):
		return p.ret(s[len("return (") : len(s)-1])
	case strings.HasPrefix(s, "return ["): // the body of a scan
		return p.ret(s[len("return [") : len(s)-1])
	case strings.HasPrefix(s, "return "): // the condition of a loop
		return p.ret(s[len("return "):])
	}
	s, _, _ = strings.Cut(s, ";  ")
	left, right, ok := strings.Cut(s, " = ")
	switch {
	case !ok:
		return fmt.Errorf("no assignment: %q", s)
	case strings.HasPrefix(right, "self."): // a body, which the call names
		return nil
	}
	name, typ, _ := strings.Cut(left, ": ")
	if in := p.vals[right]; in != nil && in.Kind == Placeholder && typ == "" {
		p.g.Rename(in, name)
		p.vals[name] = in
		return nil
	}
	return p.assign(name, strings.Trim(typ, `"`), right)
}

func (p *parser) signature(s string) error {
	s = strings.TrimSuffix(strings.TrimPrefix(s, "def forward(self"), "):")
	for s != "" {
		s = strings.TrimPrefix(s, ", ")
		name, rest, ok := strings.Cut(s, ": \"")
		typ, after, ok2 := strings.Cut(rest, "\"")
		if !ok || !ok2 {
			return fmt.Errorf("bad parameter list at %q", s)
		}
		meta, err := p.typeOf(typ)
		if err != nil {
			return err
		}
		p.vals[name] = p.g.Input(name, name, "", meta)
		s = after
	}
	return nil
}

func parseComment(s string) []Frame {
	s = strings.TrimPrefix(s, "# File: ")
	place, code, _ := strings.Cut(s, ", code: ")
	place, fn, _ := strings.Cut(place, " in ")
	i := strings.LastIndexByte(place, ':')
	if i < 0 {
		return nil
	}
	line, _ := strconv.Atoi(place[i+1:])
	return []Frame{{File: place[:i], Line: line, Func: fn, Code: code}}
}

// typeOf reads f32[4, s0][s0, 1]cpu or Sym(s0).
func (p *parser) typeOf(s string) (any, error) {
	if t, ok := strings.CutPrefix(s, "Sym("); ok {
		return p.size(strings.TrimSuffix(t, ")"))
	}
	i := strings.IndexByte(s, '[')
	j := strings.Index(s, "][")
	k := strings.LastIndexByte(s, ']')
	if i < 0 || j < 0 || k <= j {
		return nil, fmt.Errorf("bad type %q", s)
	}
	m := &ops.TensorMeta{Device: ops.Device(s[k+1:])}
	found := false
	for d := range ops.NumDTypes {
		if d.Short() == s[:i] {
			m.DType, found = d, true
		}
	}
	if !found {
		return nil, fmt.Errorf("unknown dtype %q", s[:i])
	}
	var err error
	if m.Shape, err = p.sizes(s[i+1 : j]); err != nil {
		return nil, err
	}
	m.Stride, err = p.sizes(s[j+2 : k])
	return m, err
}

func (p *parser) sizes(s string) ([]sym.Int, error) {
	out := []sym.Int{}
	if s == "" {
		return out, nil
	}
	for _, part := range strings.Split(s, ", ") {
		x, err := p.size(part)
		if err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	return out, nil
}

// size reads a size expression; unknown names become symbols.
func (p *parser) size(s string) (sym.Int, error) {
	return sym.Parse(s, func(name string) (sym.Int, error) {
		x, ok := p.syms[name]
		if !ok {
			hint, ok := p.hints[name]
			if !ok {
				hint = 4
			}
			x = p.g.Env.NewSymbol(name, name, hint)
			p.syms[name] = x
		}
		return x, nil
	})
}

// known reads a size expression of symbols that shapes have brought in.
func (p *parser) known(s string) (sym.Int, error) {
	return sym.Parse(s, func(name string) (sym.Int, error) {
		if x, ok := p.syms[name]; ok {
			return x, nil
		}
		return sym.Int{}, fmt.Errorf("unknown value %q", name)
	})
}

func (p *parser) ret(s string) error {
	if p.pair != nil {
		outs, saved, _ := strings.Cut(s, "), (")
		outs = strings.Trim(outs, "(),")
		*p.pair = strings.Count(outs, ",") + 1
		s = outs + ", " + strings.Trim(saved, "(),")
	}
	p.rest = strings.TrimSuffix(s, ",")
	args, _, err := p.list("")
	if err != nil {
		return err
	}
	p.g.SetOutput(args)
	return nil
}

// assign reads one call and makes its node.
func (p *parser) assign(name, typ, right string) error {
	n := &Node{Name: name, Kind: CallFunction, Stack: p.stack}
	if is, err := p.number(n, typ, right); is || err != nil {
		return err
	}
	if err := p.call(n, right); err != nil {
		return err
	}
	if expr := numberType(typ); n.Op == ops.Item && strings.Contains(expr, "zuf") {
		n.Meta = ops.ScalarMeta{DType: ops.Float64, Expr: expr}
	} else if n.Op == ops.Item && strings.HasPrefix(typ, "Sym(") {
		meta, err := p.typeOf(typ)
		if err != nil {
			return err
		}
		n.Meta = meta
	} else if n.Op != ops.None {
		res, err := n.OpRow().Meta(&ops.Call{Op: n.OpRow(), Args: anyNumbers(n.Args)})
		if err != nil {
			return err
		}
		n.Meta = metaOf(res)
	}
	if got := typeText(n.Meta); typ != "" && got != typ {
		return fmt.Errorf("%s is written as %s, its operator gives %s", name, typ, got)
	}
	p.vals[name] = p.g.Append(n)
	return nil
}

func (p *parser) call(n *Node, s string) error {
	if base, idx, ok := strings.Cut(strings.TrimSuffix(s, "]"), "["); ok && p.vals[base] != nil {
		i, err := strconv.Atoi(idx)
		list, _ := p.vals[base].Meta.([]ops.Result)
		if err != nil || i >= len(list) {
			return fmt.Errorf("bad getitem %q", s)
		}
		n.Target, n.Args, n.Meta = "getitem", []ops.Arg{p.vals[base], sym.C(i)}, list[i]
		return nil
	}
	open := strings.IndexByte(s, '(')
	if left, sign, right := infixCut(s); sign != "" {
		return p.infix(n, left, sign, right)
	}
	if self, name, ok := strings.Cut(s, "."); ok && open < 0 && p.vals[self] != nil && (name == "real" || name == "imag") {
		return p.target(n, s, nil, nil)
	}
	if open < 0 {
		return fmt.Errorf("no call: %q", s)
	}
	if args, ok := strings.CutPrefix(s, "torch.ops.higher_order."+ApplyTarget+"("); ok {
		return p.apply(n, strings.TrimSuffix(args, ")"))
	}
	for op := range flowForms {
		if args, ok := strings.CutPrefix(s, "torch.ops.higher_order."+op+"("); ok {
			return p.flow(n, op, strings.TrimSuffix(args, ")"))
		}
	}
	p.rest = s[open+1 : len(s)-1]
	pos, kw, err := p.list("")
	if err != nil {
		return err
	}
	return p.target(n, s[:open], pos, kw)
}

// infixCut cuts "x + (s0 + 1)" at its sign, the first between spaces that no bracket
// holds.
func infixCut(s string) (left, sign, right string) {
	depth := 0
	for i, r := range s {
		switch r {
		case '(', '[':
			depth++
		case ')', ']':
			depth--
		case ' ':
			if depth > 0 {
				continue
			}
			sign, right, _ := strings.Cut(s[i+1:], " ")
			for _, x := range infix {
				if x.text == sign {
					return s[:i], sign, right
				}
			}
			return "", "", ""
		}
	}
	return "", "", ""
}

func (p *parser) infix(n *Node, left, sign, right string) error {
	var pos []ops.Arg
	for _, side := range []string{left, right} {
		p.rest = side
		a, err := p.value()
		if err != nil {
			return err
		}
		pos = append(pos, a)
	}
	for id, i := range infix {
		if i.text == sign {
			n.Op = id
		}
	}
	return p.bind(n, pos, nil)
}

// target resolves the callable: torch.abs, torch.nn.functional.linear,
// torch.ops.aten.add.Tensor, or a method of a value.
func (p *parser) target(n *Node, s string, pos []ops.Arg, kw map[string]ops.Arg) error {
	name := s
	if rest, ok := strings.CutPrefix(s, "torch.ops.aten."); ok {
		p.g.Aten = true
		name, _, _ = strings.Cut(rest, ".")
		if row, ok := ops.Lookup(rest); ok {
			n.Op = row.ID
			return p.bind(n, pos, kw)
		}
	} else if rest, ok := strings.CutPrefix(s, "torch."); ok {
		name = strings.TrimPrefix(rest, "nn.functional.")
	} else if self, method, ok := strings.Cut(s, "."); ok && p.vals[self] != nil {
		n.Kind = CallMethod
		pos = append([]ops.Arg{p.vals[self]}, pos...)
		name = method
	}
	row, ok := ops.Lookup(name)
	if !ok {
		return fmt.Errorf("unknown operator %q", s)
	}
	n.Op = row.ID
	return p.bind(n, pos, kw)
}

func (p *parser) bind(n *Node, pos []ops.Arg, kw map[string]ops.Arg) error {
	bound, err := ops.Bind(n.OpRow(), pos, kw)
	if err != nil {
		return err
	}
	row, args := ops.OverInput(n.OpRow(), bound)
	n.Op, n.Args = row.ID, args
	return nil
}

// list reads comma-separated values and keywords up to end.
func (p *parser) list(end string) (pos []ops.Arg, kw map[string]ops.Arg, err error) {
	kw = map[string]ops.Arg{}
	for {
		p.rest = strings.TrimLeft(p.rest, ", ")
		if p.rest == "" || (end != "" && strings.HasPrefix(p.rest, end)) {
			p.rest = strings.TrimPrefix(p.rest, end)
			return pos, kw, nil
		}
		key := ""
		if k, after, ok := strings.Cut(p.rest, " = "); ok && identifier(k) == k {
			key, p.rest = k, after
		}
		v, err := p.value()
		if err != nil {
			return nil, nil, err
		}
		if key != "" {
			kw[key] = v
		} else {
			pos = append(pos, v)
		}
	}
}

// value reads one literal or name at the start of the rest.
func (p *parser) value() (ops.Arg, error) {
	if rest, ok := strings.CutPrefix(p.rest, "["); ok {
		p.rest = rest
		items, _, err := p.list("]")
		return listOf(items), err
	}
	if rest, ok := strings.CutPrefix(p.rest, "device(type='"); ok {
		name, after, _ := strings.Cut(rest, "')")
		p.rest = after
		return ops.Device(name), nil
	}
	if rest, ok := strings.CutPrefix(p.rest, "'"); ok {
		s, after, _ := strings.Cut(rest, "'")
		p.rest = after
		return s, nil
	}
	end := valueEnd(p.rest)
	word := p.rest[:end]
	p.rest = p.rest[end:]
	return p.word(word)
}

// valueEnd is where a name, number or size expression ends: before the comma or
// bracket that is not its own.
func valueEnd(s string) int {
	depth := 0
	for i := range len(s) {
		switch s[i] {
		case '(':
			depth++
		case ')':
			if depth == 0 {
				return i
			}
			depth--
		case ',', ']':
			if depth == 0 {
				return i
			}
		}
	}
	return len(s)
}

func (p *parser) word(w string) (ops.Arg, error) {
	switch w {
	case "None":
		return nil, nil
	case "True":
		return true, nil
	case "False":
		return false, nil
	}
	if n := p.vals[w]; n != nil {
		return n, nil
	}
	if d, ok := strings.CutPrefix(w, "torch."); ok {
		if dt, ok := ops.ParseDType(d); ok {
			return dt, nil
		}
	}
	if v, err := strconv.ParseInt(w, 10, 64); err == nil {
		return sym.Const(v), nil
	}
	if f, err := strconv.ParseFloat(w, 64); err == nil {
		return f, nil
	}
	if z, ok := parseComplex(w); ok {
		return z, nil
	}
	if x, err := p.known(w); err == nil {
		return x, nil
	}
	if inner, ok := strings.CutPrefix(w, "("); ok && strings.HasSuffix(inner, ")") {
		return p.word(strings.TrimSuffix(inner, ")"))
	}
	return nil, fmt.Errorf("unknown value %q", w)
}

// parseComplex reads (1+2j) or complex(0.0, 2.0).
func parseComplex(w string) (complex128, bool) {
	if parts, ok := strings.CutPrefix(w, "complex("); ok {
		re, im, _ := strings.Cut(strings.TrimSuffix(parts, ")"), ", ")
		x, err1 := strconv.ParseFloat(re, 64)
		y, err2 := strconv.ParseFloat(im, 64)
		return complex(x, y), err1 == nil && err2 == nil
	}
	if !strings.HasSuffix(w, "j)") {
		return 0, false
	}
	z, err := strconv.ParseComplex(strings.TrimSuffix(w, "j)")+"i)", 128)
	return z, err == nil
}

// listOf gives a list the type that its elements have.
func listOf(items []ops.Arg) ops.Arg {
	if len(items) == 0 {
		return []sym.Int{}
	}
	switch items[0].(type) {
	case sym.Int:
		out := make([]sym.Int, len(items))
		for i, x := range items {
			out[i], _ = x.(sym.Int)
		}
		return out
	case bool:
		out := make([]bool, len(items))
		for i, x := range items {
			out[i], _ = x.(bool)
		}
		return out
	case *Node, nil:
		out := make([]ops.Value, len(items))
		for i, x := range items {
			if n, ok := x.(*Node); ok {
				out[i] = n
			}
		}
		return out
	}
	return items
}
