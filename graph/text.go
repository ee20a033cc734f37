package graph

import (
	"path"
	"strconv"
	"strings"
	"unicode/utf8"

	"tcdbg/ops"
)

// Code prints the graph as FX's readable Python text: one line a node with its
// type, the source line that made it as a comment, and dead values set to None.
func (g *Graph) Code() string {
	return string(g.appendCode(make([]byte, 0, 200*g.count), "GraphModule", "", 0)) // most lines are shorter
}

// appendCode prints g as the class of a module, and after it those of the bodies that
// its nodes hold. The first outputs, where pair is positive, are a tuple of their own; the
// only one is no tuple where it is bare. A trace has the text of each graph before and after each pass, of
// thousands of lines: nothing here makes a string of a part.
func (g *Graph) appendCode(b []byte, class, indent string, pair int) []byte {
	b = appendAll(b, indent, "class ", class, "(torch.nn.Module):\n", indent, "    def forward(self")
	phs := g.Placeholders()
	for _, p := range phs {
		b = append(appendType(appendAll(b, ", ", p.Target, `: "`), p.Meta), '"')
	}
	b = append(b, "):\n"...)
	indented := indent + "        "
	for _, p := range phs {
		if p.Name != p.Target {
			b = appendAll(b, indented, p.Name, " = ", p.Target, "\n")
		}
	}
	last := g.lastUses()
	var where place
	i := 0
	for n := g.first; n != nil; n, i = n.next, i+1 {
		if n.Kind == Placeholder {
			continue
		}
		if at := placeOf(n); at != (place{}) && at != where {
			b = append(at.append(appendAll(b, "\n", indented, " ")), '\n')
			where = at
		}
		for _, name := range n.BodyNames() {
			b = appendAll(b, indented, name, " = self.", name, "\n")
		}
		b = append(g.appendLine(append(b, indented...), n, last[i], pair), '\n')
	}
	for n := g.first; n != nil; n = n.next {
		for _, body := range n.bodies() {
			b = body.g.appendCode(append(b, '\n'), body.name, indent+"    ", body.pair)
		}
	}
	return b
}

// Lines are the nodes, a line each.
func (g *Graph) Lines() []string {
	var out []string
	for n := g.first; n != nil; n = n.next {
		out = append(out, g.Line(n))
	}
	return out
}

// Line is a node of the graph as a line.
func (g *Graph) Line(n *Node) string {
	if n.Kind == Placeholder {
		return n.Name + ": \"" + typeText(n.Meta) + "\""
	}
	return string(g.appendLine(nil, n, nil, 0))
}

func (g *Graph) appendLine(b []byte, n *Node, dead []*Node, pair int) []byte {
	if n.Kind == Output {
		return appendReturn(append(b, "return "...), n.Args, pair)
	}
	b = append(b, n.Name...)
	if n.Target != AssertScalar {
		from := len(b)
		b = append(b, `: "`...)
		before := len(b)
		if b = appendType(b, n.Meta); len(b) == before { // it has no type
			b = b[:from]
		} else {
			b = append(b, '"')
		}
	}
	b = appendCall(append(b, " = "...), n)
	names := n.BodyNames()
	if len(dead) == 0 && len(names) == 0 {
		return b
	}
	b = append(b, ";  "...)
	if n.Flow != nil && len(dead) > 0 && dead[0] == n.Predicate() {
		b, dead = appendAll(b, dead[0].Name, " = "), dead[1:]
	}
	for _, name := range names {
		b = appendAll(b, name, " = ")
	}
	for _, d := range dead {
		b = appendAll(b, d.Name, " = ")
	}
	return append(b, "None"...)
}

func appendReturn(b []byte, args []ops.Arg, pair int) []byte {
	switch {
	case pair == bare:
		return appendArgs(b, args, nil)
	case pair == square:
		return append(appendArgs(append(b, '['), args, nil), ']')
	case pair > 0:
		return append(appendTuple(append(b, '('), []ops.Arg{tuple(args[:pair]), tuple(args[pair:])}), ')')
	}
	b = appendArgs(append(b, '('), args, nil)
	if len(args) == 1 {
		b = append(b, ',')
	}
	return append(b, ')')
}

// place is the innermost user line of a node as it is written.
type place struct {
	file, fn, code string
	line           int
}

func placeOf(n *Node) place {
	if len(n.Stack) == 0 {
		return place{}
	}
	f := &n.Stack[len(n.Stack)-1]
	return place{f.File, path.Base(f.Func), f.Code, f.Line}
}

func (p place) append(b []byte) []byte {
	b = strconv.AppendInt(appendAll(b, "# File: ", p.file, ":"), int64(p.line), 10)
	return appendAll(b, " in ", p.fn, ", code: ", p.code)
}

// lastUses tells of each node, by its place in g, which values are used there for the last time.
func (g *Graph) lastUses() [][]*Node {
	last := make([][]*Node, g.count)
	seen := make(map[*Node]bool, g.count)
	all := make([]*Node, 0, g.count) // each value once
	use := func(in *Node) {
		if !seen[in] {
			seen[in] = true
			all = append(all, in)
		}
	}
	at := g.count
	for n := g.last; n != nil; n = n.prev {
		at--
		from := len(all)
		eachNode(n.Args, use)
		if n.Kind == Output {
			continue // a result stays
		}
		if n.Kind != Placeholder {
			use(n)
		}
		last[at] = all[from:len(all):len(all)]
	}
	return last
}

// Table prints the graph as FX's print_tabular does: opcode, name, target,
// args, kwargs in columns as wide as their longest cell.
func (g *Graph) Table() string {
	rows := [][]string{{"opcode", "name", "target", "args", "kwargs"}}
	for n := g.first; n != nil; n = n.next {
		for _, b := range n.BodyNames() {
			rows = append(rows, []string{GetAttr.String(), b, b, "()", "{}"})
		}
		rows = append(rows, g.row(n))
	}
	width := make([]int, 5)
	for _, r := range rows {
		for i, c := range r {
			width[i] = max(width[i], utf8.RuneCountInString(c))
		}
	}
	var sb strings.Builder
	for i, r := range rows {
		tableLine(&sb, r, width)
		if i == 0 {
			for j := range width {
				if j > 0 {
					sb.WriteString("  ")
				}
				sb.WriteString(strings.Repeat("-", width[j]))
			}
			sb.WriteByte('\n')
		}
	}
	return sb.String()
}

func tableLine(sb *strings.Builder, cells []string, width []int) {
	for i, c := range cells {
		if i > 0 {
			sb.WriteString("  ")
		}
		sb.WriteString(c)
		if i < len(cells)-1 {
			sb.WriteString(strings.Repeat(" ", width[i]-utf8.RuneCountInString(c)))
		}
	}
	sb.WriteByte('\n')
}

func (g *Graph) row(n *Node) []string {
	var args, kwargs string
	switch n.Kind {
	case Placeholder:
		args, kwargs = "()", "{}"
	case Output:
		args, kwargs = "("+tupleText([]ops.Arg{tuple(n.Args)})+")", "{}"
	default:
		pos, kw := callArgs(n)
		args, kwargs = "("+tupleText(pos)+")", kwargsText(kw)
	}
	return []string{n.Kind.String(), n.Name, tableTarget(n), args, kwargs}
}

type tuple []ops.Arg

func kwargsText(kw []kwarg) string {
	parts := make([]string, len(kw))
	for i, k := range kw {
		parts[i] = quote(k.name) + ": " + argText(k.val)
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// tableTarget is the target column: Python's repr of the callable, without the
// address that it would hold.
func tableTarget(n *Node) string {
	switch {
	case n.Kind == Output:
		return "output"
	case n.Kind == Placeholder || n.Op == ops.None:
		if n.Target == "getitem" {
			return "<built-in function getitem>"
		}
		return n.Target
	case n.graph.Aten:
		return "aten." + n.OpRow().Name + "." + overload(n)
	case n.Kind == CallMethod:
		return rowMethod(n)
	}
	if _, name, ok := infixOf(n); ok {
		return "<built-in function " + name + ">"
	}
	if n.OpRow().Tags.Has(ops.TagNN) {
		return "<built-in function " + n.OpRow().Name + ">"
	}
	return "<built-in method " + n.OpRow().Name + ">"
}
