package graph

import (
	"fmt"
	"path"
	"strings"

	"tcdbg/ops"
)

// Code prints the graph as FX's readable Python text: one line a node with its
// type, the source line that made it as a comment, and dead values set to None.
func (g *Graph) Code() string {
	var sb strings.Builder
	g.writeCode(&sb, "GraphModule", "", 0)
	return sb.String()
}

// writeCode prints g as the class of a module, and after it those of the bodies that
// its nodes hold. The first outputs, where pair is positive, are a tuple of their own; the
// only one is no tuple where it is bare.
func (g *Graph) writeCode(sb *strings.Builder, class, indent string, pair int) {
	fmt.Fprintf(sb, "%sclass %s(torch.nn.Module):\n%s    def forward(self", indent, class, indent)
	phs := g.Placeholders()
	for _, p := range phs {
		fmt.Fprintf(sb, ", %s: \"%s\"", p.Target, typeText(p.Meta))
	}
	sb.WriteString("):\n")
	for _, p := range phs {
		if p.Name != p.Target {
			fmt.Fprintf(sb, "%s        %s = %s\n", indent, p.Name, p.Target)
		}
	}
	last := g.lastUses()
	where := ""
	for n := g.first; n != nil; n = n.next {
		if n.Kind == Placeholder {
			continue
		}
		if c := comment(n); c != "" && c != where {
			sb.WriteString("\n" + indent + "         " + c + "\n")
			where = c
		}
		for _, b := range n.BodyNames() {
			fmt.Fprintf(sb, "%s        %s = self.%s\n", indent, b, b)
		}
		sb.WriteString(indent + "        " + g.line(n, last[n], pair) + "\n")
	}
	for n := g.first; n != nil; n = n.next {
		for _, b := range n.bodies() {
			sb.WriteString("\n")
			b.g.writeCode(sb, b.name, indent+"    ", b.pair)
		}
	}
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
	return g.line(n, nil, 0)
}

func (g *Graph) line(n *Node, dead []*Node, pair int) string {
	if n.Kind == Output && pair == bare {
		return "return " + argsText(n.Args, nil)
	}
	if n.Kind == Output && pair == square {
		return "return [" + argsText(n.Args, nil) + "]"
	}
	if n.Kind == Output && pair > 0 {
		return "return (" + tupleText([]ops.Arg{tuple(n.Args[:pair]), tuple(n.Args[pair:])}) + ")"
	}
	if n.Kind == Output {
		return "return (" + outputText(n.Args) + ")"
	}
	s := n.Name
	if t := typeText(n.Meta); t != "" && n.Target != AssertScalar {
		s += ": \"" + t + "\""
	}
	s += " = " + callText(n)
	if names := n.BodyNames(); len(dead) > 0 || len(names) > 0 {
		s += ";  "
		if n.Flow != nil && len(dead) > 0 && dead[0] == n.Predicate() {
			s, dead = s+dead[0].Name+" = ", dead[1:]
		}
		if len(names) > 0 {
			s += strings.Join(names, " = ") + " = "
		}
		for _, d := range dead {
			s += d.Name + " = "
		}
		s += "None"
	}
	return s
}

func outputText(args []ops.Arg) string {
	s := argsText(args, nil)
	if len(args) == 1 {
		s += ","
	}
	return s
}

// comment names the innermost user line of n.
func comment(n *Node) string {
	if len(n.Stack) == 0 {
		return ""
	}
	f := n.Stack[len(n.Stack)-1]
	return fmt.Sprintf("# File: %s:%d in %s, code: %s", f.File, f.Line, path.Base(f.Func), f.Code)
}

// lastUses tells for each node which values are used there for the last time.
func (g *Graph) lastUses() map[*Node][]*Node {
	last := map[*Node][]*Node{}
	seen := map[*Node]bool{}
	for n := g.last; n != nil; n = n.prev {
		if n.Kind == Output {
			for _, in := range n.Inputs() {
				seen[in] = true
			}
			continue
		}
		for _, in := range n.Inputs() {
			if !seen[in] {
				seen[in] = true
				last[n] = append(last[n], in)
			}
		}
		if n.Kind != Placeholder && !seen[n] {
			seen[n] = true
			last[n] = append(last[n], n)
		}
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
			width[i] = max(width[i], len([]rune(c)))
		}
	}
	var sb strings.Builder
	for i, r := range rows {
		sb.WriteString(tableLine(r, width))
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

func tableLine(cells []string, width []int) string {
	var sb strings.Builder
	for i, c := range cells {
		if i > 0 {
			sb.WriteString("  ")
		}
		sb.WriteString(c)
		if i < len(cells)-1 {
			sb.WriteString(strings.Repeat(" ", width[i]-len([]rune(c))))
		}
	}
	sb.WriteByte('\n')
	return sb.String()
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

// tupleText writes the inside of a Python tuple: one element has its comma.
func tupleText(args []ops.Arg) string {
	parts := make([]string, len(args))
	for i, a := range args {
		if t, ok := a.(tuple); ok {
			parts[i] = "(" + tupleText(t) + ")"
			continue
		}
		parts[i] = argText(a)
	}
	s := strings.Join(parts, ", ")
	if len(args) == 1 {
		s += ","
	}
	return s
}

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
