package ir

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tcdbg/graph"
	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// Parse reads the text of a program as Program.String writes it. The result
// prints as the same text; what text does not hold (source positions, the
// layouts of extern arguments) is missing. The error names the line.
func Parse(text string) (*Program, error) {
	p := &parser{prog: &Program{}, syms: map[string]sym.Int{}, bufs: map[string]*Buffer{}}
	for i, line := range strings.Split(text, "\n") {
		if strings.TrimSpace(line) == "" {
			continue
		}
		if err := p.line(line); err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
	}
	return p.prog, nil
}

// parsedHint is the hint of symbols that a text brings in.
const parsedHint = 64

type parser struct {
	prog *Program
	env  sym.Env
	syms map[string]sym.Int
	bufs map[string]*Buffer
	node *Node // whose body is being read
}

// size reads a size expression; unknown names become symbols.
func (p *parser) size(text string) (sym.Int, error) {
	return sym.Parse(text, func(name string) (sym.Int, error) {
		if loopName(name) {
			return sym.Int{}, fmt.Errorf("the loop %s inside a size", name)
		}
		x, ok := p.syms[name]
		if !ok {
			x = p.env.NewSymbol(name, "", parsedHint)
			p.syms[name] = x
		}
		return x, nil
	})
}

// loopName reports whether a name can only mean a loop: i0, r1, k.
func loopName(s string) bool {
	return s == "k" || len(s) > 1 && (s[0] == 'i' || s[0] == 'r') && strings.Trim(s[1:], "0123456789") == ""
}

func (p *parser) line(line string) error {
	if strings.HasPrefix(line, "  ") {
		if p.node == nil {
			return fmt.Errorf("an operation outside a node")
		}
		return p.bodyLine(strings.TrimSpace(line))
	}
	word, rest, _ := strings.Cut(line, " ")
	switch word {
	case "program":
		p.prog.Name = rest
		return nil
	case "input", "temp", "result":
		return p.buffer(word, rest)
	case "return":
		return p.output(rest)
	}
	return p.head(line)
}

// between cuts s around the first balanced bracket pair.
func between(s string) (before, inside, after string, err error) {
	open := strings.IndexByte(s, '[')
	if open < 0 {
		return "", "", "", fmt.Errorf("[ expected in %q", s)
	}
	depth := 0
	for i := open; i < len(s); i++ {
		switch s[i] {
		case '[':
			depth++
		case ']':
			if depth--; depth == 0 {
				return s[:open], s[open+1 : i], s[i+1:], nil
			}
		}
	}
	return "", "", "", fmt.Errorf("] expected in %q", s)
}

// split cuts at sep outside of parentheses and brackets.
func split(s, sep string) []string {
	var out []string
	depth, start := 0, 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '(', '[':
			depth++
		case ')', ']':
			depth--
		}
		if depth == 0 && strings.HasPrefix(s[i:], sep) {
			out = append(out, s[start:i])
			start = i + len(sep)
			i = start - 1
		}
	}
	return append(out, s[start:])
}

func (p *parser) sizeList(s string) ([]sym.Int, error) {
	var out []sym.Int
	if strings.TrimSpace(s) == "" {
		return nil, nil
	}
	for _, part := range split(s, ", ") {
		x, err := p.size(part)
		if err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	return out, nil
}

func dtypeByShort(s string) (ops.DType, error) {
	for d := range ops.NumDTypes {
		if d.Short() == s {
			return d, nil
		}
	}
	return 0, fmt.Errorf("unknown type %q", s)
}

// buffer reads NAME: TYPE[SHAPE] stride [STRIDE] param.
func (p *parser) buffer(kind, rest string) error {
	name, rest, ok := strings.Cut(rest, ": ")
	if !ok {
		return fmt.Errorf("a buffer needs a type")
	}
	short, shape, rest, err := between(rest)
	if err != nil {
		return err
	}
	b := &Buffer{Name: name, Kind: BufferKind(slices.Index(bufferKinds[:], kind))}
	if b.DType, err = dtypeByShort(short); err != nil {
		return err
	}
	if b.Shape, err = p.sizeList(shape); err != nil {
		return err
	}
	_, stride, rest, err := between(rest)
	if err != nil {
		return err
	}
	if b.Stride, err = p.sizeList(stride); err != nil {
		return err
	}
	b.Param = strings.TrimSpace(rest) == "param"
	p.bufs[name] = b
	p.prog.Buffers = append(p.prog.Buffers, b)
	if b.Kind == Input {
		p.prog.Inputs = append(p.prog.Inputs, b)
	}
	return nil
}

func (p *parser) find(name string) (*Buffer, error) {
	b := p.bufs[name]
	if b == nil {
		return nil, fmt.Errorf("unknown buffer %q", name)
	}
	return b, nil
}

// output reads what follows return.
func (p *parser) output(s string) error {
	o := Output{Scalar: ScalarRef{Input: -1}}
	switch {
	case s == "None":
	case strings.HasPrefix(s, "value "):
		x, err := p.size(s[len("value "):])
		if err != nil {
			return err
		}
		o.Value = x
	default:
		head, shape, rest, err := between(s)
		if err != nil {
			return err
		}
		name, off, _ := strings.Cut(strings.TrimSuffix(head, " shape "), " + ")
		if o.Buf, err = p.find(name); err != nil {
			return err
		}
		if o.Off, err = p.size(off); err != nil {
			return err
		}
		if o.Shape, err = p.sizeList(shape); err != nil {
			return err
		}
		_, stride, _, err := between(rest)
		if err != nil {
			return err
		}
		if o.Stride, err = p.sizeList(stride); err != nil {
			return err
		}
	}
	p.prog.Outputs = append(p.prog.Outputs, o)
	return nil
}

// head reads the first line of a node.
func (p *parser) head(line string) error {
	line, origins, _ := strings.Cut(line, " // ")
	name, rest, ok := strings.Cut(line, " = ")
	if !ok {
		return fmt.Errorf("a node expected: %q", line)
	}
	n := &Node{Name: name}
	for _, o := range strings.Fields(origins) {
		n.Origins = append(n.Origins, Origin{Node: o})
	}
	kind, _, _ := strings.Cut(rest, " ")
	if kind == "extern" {
		if err := p.externHead(n, strings.TrimPrefix(rest, "extern ")); err != nil {
			return err
		}
	} else if err := p.loops(n, kind, rest); err != nil {
		return err
	}
	p.node = n
	p.prog.Nodes = append(p.prog.Nodes, n)
	return nil
}

func (p *parser) loops(n *Node, kind, rest string) error {
	_, inside, after, err := between(rest)
	if err != nil {
		return err
	}
	n.Hoisted = after == hoistedMark
	parts := split(" "+inside+" ", "|")
	if n.Outer, err = p.sizeList(strings.TrimSpace(parts[0])); err != nil {
		return err
	}
	var second []sym.Int
	if len(parts) > 1 {
		if second, err = p.sizeList(strings.TrimSpace(parts[1])); err != nil {
			return err
		}
	}
	switch kind {
	case "pointwise":
		n.Kind = Pointwise
	case "reduction":
		n.Kind, n.Inner = Reduction, second
	case "sequential":
		n.Kind, n.Inner = Sequential, second
	case "matmul":
		if len(second) != 1 {
			return fmt.Errorf("a matmul has one inner size")
		}
		n.Kind, n.MM = Matmul, &MatmulInfo{K: second[0]}
	default:
		return fmt.Errorf("unknown kind of node %q", kind)
	}
	return nil
}

// externHead reads NAME(ARGS) -> OUTS because REASON, with the names of bodies after the
// outputs of control flow.
func (p *parser) externHead(n *Node, s string) error {
	call, rest, ok := strings.Cut(s, ") -> ")
	name, args, ok2 := strings.Cut(call, "(")
	outs, reason, ok3 := strings.Cut(rest, " because ")
	outs, bodies, isFlow := strings.Cut(outs, flowOf)
	row, ok4 := ops.Lookup(name)
	if !ok || !ok2 || !ok3 || isFlow != graph.IsFlow(name) || !isFlow && !ok4 {
		return fmt.Errorf("bad extern kernel %q", s)
	}
	n.Kind, n.Ext = Extern, &ExternInfo{Reason: Reason(reason)}
	if isFlow {
		n.Ext.Flow = &FlowInfo{Op: name, Names: strings.Split(bodies, ", ")}
	} else {
		n.Ext.Op = row.ID
	}
	if args != "" {
		for _, a := range split(args, ", ") {
			n.Ext.Args = append(n.Ext.Args, p.externArg(a))
		}
	}
	for _, o := range strings.Split(outs, ", ") {
		b, err := p.find(o)
		if err != nil {
			return err
		}
		n.Ext.Outs = append(n.Ext.Outs, b)
	}
	return nil
}

// externArg reads an argument as far as text tells what it is.
func (p *parser) externArg(s string) ops.Arg {
	if b := p.bufs[s]; b != nil {
		return BufArg{Buf: b, Shape: b.Shape, Stride: b.Stride}
	}
	switch s {
	case "<nil>":
		return nil
	case "true", "false":
		return s == "true"
	}
	if v, err := strconv.ParseInt(s, 10, 64); err == nil {
		return sym.Const(v)
	}
	if strings.HasPrefix(s, "[") && strings.HasSuffix(s, "]") {
		if xs, err := p.sizeList(s[1 : len(s)-1]); err == nil && xs != nil {
			return xs
		}
	}
	return s
}

// bodyLine reads an operation, or an operand of a matmul.
func (p *parser) bodyLine(s string) error {
	n := p.node
	if n.Kind == Matmul {
		if role, rest, ok := strings.Cut(s, " "); ok && (role == "a" || role == "b" || role == "out") {
			return p.operand(role, rest)
		}
		if rest, ok := strings.CutPrefix(s, "im2col "); ok {
			conv, err := parseConv(rest)
			n.MM.Conv = conv
			return err
		}
		if rest, ok := strings.CutPrefix(s, "grad "); ok {
			grad, err := parseGrad(rest)
			n.MM.Grad = grad
			return err
		}
	}
	v, err := p.value(s)
	if err != nil {
		return err
	}
	if len(v.Args) != v.Op.Arity() {
		return fmt.Errorf("%s takes %d operands, not %d", v.Op, v.Op.Arity(), len(v.Args))
	}
	n.Body = append(n.Body, v)
	return nil
}

func (p *parser) operand(role, s string) error {
	name, index, _, err := between(s)
	if err != nil {
		return err
	}
	b, err := p.find(name)
	if err != nil {
		return err
	}
	m := p.node.MM
	loops := len(p.node.Outer)
	switch role {
	case "a":
		m.A = b
		m.AIdx, err = p.index(index, loops+1)
	case "b":
		m.B = b
		m.BIdx, err = p.index(index, loops+1)
	default:
		m.Out = b
		m.OutIdx, err = p.index(index, loops)
	}
	return err
}

// value reads one operation of a body.
func (p *parser) value(s string) (Value, error) {
	var v Value
	if lhs, rest, ok := strings.Cut(s, " = "); ok {
		if lhs != fmt.Sprintf("t%d", len(p.node.Body)) {
			return v, fmt.Errorf("%s is not the number of the operation", lhs)
		}
		s = rest
	}
	word, rest, _ := strings.Cut(s, " ")
	name, short, ok := strings.Cut(word, ".")
	if !ok {
		return v, fmt.Errorf("an operation needs a type: %q", s)
	}
	var err error
	if v.DType, err = dtypeByShort(short); err != nil {
		return v, err
	}
	for prefix, o := range map[string]Op{"reduce_": Reduce, "scan_": Scan, "foldat_": FoldAt} {
		if red, isRed := strings.CutPrefix(name, prefix); isRed {
			i := slices.Index(reduceNames[:], red)
			if i < 0 {
				return v, fmt.Errorf("unknown reduction %q", red)
			}
			v.Op, v.Red = o, ReduceOp(i)
			return v, p.operands(&v, rest)
		}
	}
	i := slices.IndexFunc(opRows[:], func(r opRow) bool { return r.name == name })
	if i < 0 {
		return v, fmt.Errorf("unknown operation %q", name)
	}
	v.Op = Op(i)
	return v, p.operands(&v, rest)
}

func (p *parser) operands(v *Value, rest string) (err error) {
	loops := len(p.node.Outer) + len(p.node.Inner)
	switch v.Op {
	case Const:
		if v.DType.IsFloat() {
			v.F, err = strconv.ParseFloat(rest, 64)
			return err
		}
		v.I, err = strconv.ParseInt(rest, 10, 64)
		return err
	case Load, LoadAt, Store, StoreAt, FoldAt, IndexOf:
		name, index, after, err := between(rest)
		if err != nil {
			return err
		}
		if v.Op != IndexOf {
			if v.Buf, err = p.find(name); err != nil {
				return err
			}
		}
		if v.Index, err = p.index(index, loops); err != nil {
			return err
		}
		rest = strings.TrimPrefix(after, ", ")
	}
	v.Args, err = p.args(rest)
	return err
}

func (p *parser) args(s string) ([]int, error) {
	var out []int
	if s == "" {
		return nil, nil
	}
	for _, a := range strings.Split(s, ", ") {
		n, err := strconv.Atoi(strings.TrimPrefix(a, "t"))
		if err != nil || n < 0 || n >= len(p.node.Body) {
			return nil, fmt.Errorf("operand %q is not defined", a)
		}
		out = append(out, n)
	}
	return out, nil
}

// index reads an address over so many loops: terms that end in a loop variable,
// the rest is the offset.
func (p *parser) index(s string, loops int) (Index, error) {
	x := Index{Coef: make([]sym.Int, loops)}
	for _, term := range split(s, " + ") {
		coef, name := "1", term
		if i := strings.LastIndexByte(term, '*'); i >= 0 {
			coef, name = term[:i], term[i+1:]
		}
		k, ok := p.loopVar(name)
		if !ok {
			off, err := p.size(term)
			if err != nil {
				return x, err
			}
			x.Off = sym.Add(x.Off, off)
			continue
		}
		if k >= loops {
			return x, fmt.Errorf("no loop %s here", name)
		}
		c, err := p.size(coef)
		if err != nil {
			return x, err
		}
		x.Coef[k] = sym.Add(x.Coef[k], c)
	}
	return x, nil
}

func (p *parser) loopVar(name string) (int, bool) {
	if name == "k" && p.node.Kind == Matmul {
		return len(p.node.Outer), true
	}
	if len(name) < 2 || name[0] != 'i' && name[0] != 'r' {
		return 0, false
	}
	n, err := strconv.Atoi(name[1:])
	if err != nil || n < 0 || n > 64 {
		return 0, false
	}
	if name[0] == 'r' {
		n += len(p.node.Outer)
	}
	return n, true
}
