package graph

import (
	"fmt"
	"strings"
)

// This file prints control flow as Go code: the bodies as functions, the choice between
// them as an if, rounds as a for.

func (p *goPrinter) flow(n *Node) {
	names := n.BodyNames()
	for i, b := range n.Flow.Bodies {
		p.body(names[i], b)
	}
	values := strings.Split(p.left(n), ", ")
	var named, args []string
	for i, v := range values {
		if v == "_" && n.Flow.Op == WhileTarget {
			values[i] = fmt.Sprintf("%s_%d", n.Name, i)
		}
		if values[i] != "_" {
			named = append(named, values[i])
		}
	}
	for _, x := range n.Operands() {
		args = append(args, goName(x.Name))
	}
	left, list := strings.Join(values, ", "), strings.Join(args, ", ")
	if n.Flow.Op == WhileTarget {
		k := n.Carried()
		fmt.Fprintf(&p.sb, "\t%s := %s\n", left, strings.Join(args[:k], ", "))
		list = strings.Join(append(values, args[k:]...), ", ")
		fmt.Fprintf(&p.sb, "\tfor %s(%s).Bool() {\n\t\t%s = %s(%s)\n\t}\n", names[0], list, left, names[1], list)
		return
	}
	if len(named) > 0 {
		fmt.Fprintf(&p.sb, "\tvar %s *torch.Tensor\n", strings.Join(named, ", "))
	}
	fmt.Fprintf(
		&p.sb, "\tif %s.Bool() {\n\t\t%s = %s(%s)\n\t} else {\n\t\t%s = %s(%s)\n\t}\n",
		goArg(n.Predicate()), left, names[0], list, left, names[1], list,
	)
}
