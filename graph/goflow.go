package graph

import (
	"fmt"
	"slices"
	"strings"
)

// This file prints control flow as Go code: the bodies as functions, the choice between
// them as an if or a switch, rounds and slices as a for.

func (p *goPrinter) flow(n *Node) {
	names := n.BodyNames()
	for i, b := range n.Flow.Bodies {
		p.body(names[i], b)
	}
	var args []string
	for _, x := range n.Operands() {
		args = append(args, goName(x.Name))
	}
	values := strings.Split(p.left(n), ", ")
	switch n.Flow.Op {
	case WhileTarget:
		p.loop(n, names, nameBlanks(values, n.Name), args)
	case MapTarget, ScanTarget, AssocTarget:
		p.slices(n, names[0], values, args)
	default:
		p.choice(n, names, values, strings.Join(args, ", "))
	}
}

// nameBlanks gives names to values that nobody reads but the code that makes them.
func nameBlanks(values []string, base string) []string {
	for i, v := range values {
		if v == "_" {
			values[i] = fmt.Sprintf("%s_%d", base, i)
		}
	}
	return values
}

func (p *goPrinter) choice(n *Node, names, values []string, list string) {
	var named []string
	for _, v := range values {
		if v != "_" {
			named = append(named, v)
		}
	}
	if len(named) > 0 {
		fmt.Fprintf(&p.sb, "\tvar %s *torch.Tensor\n", strings.Join(named, ", "))
	}
	left := strings.Join(values, ", ")
	if n.Flow.Op == CondTarget {
		fmt.Fprintf(
			&p.sb, "\tif %s.Bool() {\n\t\t%s = %s(%s)\n\t} else {\n\t\t%s = %s(%s)\n\t}\n",
			goArg(n.Predicate()), left, names[0], list, left, names[1], list,
		)
		return
	}
	last := len(names) - 1
	fmt.Fprintf(&p.sb, "\tswitch min(max(%s.ItemInt(), 0), %d) {\n", goArg(n.Predicate()), last)
	for i, name := range names {
		head := fmt.Sprintf("case %d", i)
		if i == last {
			head = "default"
		}
		fmt.Fprintf(&p.sb, "\t%s:\n\t\t%s = %s(%s)\n", head, left, name, list)
	}
	p.sb.WriteString("\t}\n")
}

func (p *goPrinter) loop(n *Node, names, values, args []string) {
	k, left := n.Carried(), strings.Join(values, ", ")
	fmt.Fprintf(&p.sb, "\t%s := %s\n", left, strings.Join(args[:k], ", "))
	list := strings.Join(append(values, args[k:]...), ", ")
	fmt.Fprintf(&p.sb, "\tfor %s(%s).Bool() {\n\t\t%s = %s(%s)\n\t}\n", names[0], list, left, names[1], list)
}

// slices prints the calls of a body for each slice.
func (p *goPrinter) slices(n *Node, name string, values, args []string) {
	k, m := n.Carried(), n.Sliced()
	read := slices.Clone(values)
	values = nameBlanks(values, n.Name)
	carry, ys := values[:k], values[k:]
	var given, lists, out []string
	for _, x := range args[k : k+m] {
		given = append(given, x+".Select(0, i)")
	}
	for _, y := range ys {
		lists, out = append(lists, y+"_list"), append(out, y+"_y")
	}
	if k > 0 {
		fmt.Fprintf(&p.sb, "\t%s := %s\n", strings.Join(carry, ", "), strings.Join(args[:k], ", "))
	}
	if len(lists) > 0 {
		fmt.Fprintf(&p.sb, "\tvar %s []*torch.Tensor\n", strings.Join(lists, ", "))
	}
	fmt.Fprintf(&p.sb, "\tfor i := range %s.Size(0) {\n", args[k])
	if len(out) > 0 {
		fmt.Fprintf(&p.sb, "\t\tvar %s *torch.Tensor\n", strings.Join(out, ", "))
	}
	before := carry
	if n.Flow.Op == AssocTarget {
		before = nil
		for _, l := range lists {
			before = append(before, l+"[i-1]")
		}
	}
	call := fmt.Sprintf(
		"%s = %s(%s)\n", strings.Join(append(append([]string{}, carry...), out...), ", "), name,
		strings.Join(append(append(append([]string{}, before...), given...), args[k+m:]...), ", "),
	)
	if n.Flow.Op == AssocTarget {
		first := strings.Join(out, ", ") + " = " + strings.Join(given, ", ")
		fmt.Fprintf(&p.sb, "\t\tif i == 0 {\n\t\t\t%s\n\t\t} else {\n\t\t\t%s\t\t}\n", first, call)
	} else {
		p.sb.WriteString("\t\t" + call)
	}
	for i, l := range lists {
		fmt.Fprintf(&p.sb, "\t\t%s = append(%[1]s, %s)\n", l, out[i])
	}
	p.sb.WriteString("\t}\n")
	for i, y := range ys {
		if read[k+i] != "_" {
			fmt.Fprintf(&p.sb, "\t%s := torch.Stack(%s)\n", y, lists[i])
		}
	}
}
