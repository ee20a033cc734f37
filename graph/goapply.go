package graph

import (
	"fmt"
	"slices"
	"strings"
)

// This file prints a call of a function with a derivative of its own as Go code: both
// bodies as functions, the forward without tape, the backward as what the tape calls.

func (p *goPrinter) apply(n *Node) {
	a, names := n.Apply, n.BodyNames()
	p.body(names[0], a.Forward)
	p.body(names[1], a.Backward)
	results := make([]string, len(a.Constant))
	values := strings.Split(p.left(n), ", ")
	for i := range results {
		results[i] = "nil"
		if n.Differentiable(i) {
			if values[i] == "_" {
				values[i] = fmt.Sprintf("%s_%d", n.Name, i)
			}
			results[i] = values[i]
		}
	}
	var saved, grads, args []string
	for i := range a.saved() {
		saved = append(saved, fmt.Sprintf("%s_saved_%d", n.Name, i))
	}
	for i := range results {
		grads = append(grads, fmt.Sprintf("grads[%d]", i))
	}
	for _, x := range nodesOf(n.Args) {
		args = append(args, goName(x.Name))
	}
	values = append(values, saved...)
	list := "[]*torch.Tensor{" + strings.Join(results, ", ") + "}"
	if named := slices.DeleteFunc(slices.Clone(values), func(s string) bool { return s == "_" }); len(named) > 0 {
		fmt.Fprintf(&p.sb, "\tvar %s *torch.Tensor\n", strings.Join(named, ", "))
	}
	fmt.Fprintf(&p.sb, "\ttorch.NoGrad(func() { %s = %s(%s) })\n", strings.Join(values, ", "), names[0], strings.Join(args, ", "))
	fmt.Fprintf(
		&p.sb, "\ttorch.WithBackward(%q, []*torch.Tensor{%s}, %s, func(grads []*torch.Tensor) []*torch.Tensor {\n",
		a.Name, goArgs(n.Args[:a.Inputs]), list,
	)
	fmt.Fprintf(
		&p.sb,
		"\t\tfor i, y := range %s {\n\t\t\tif grads[i] == nil && y != nil {\n\t\t\t\tgrads[i] = "+
			"torch.ZerosLike(y.Detach())\n\t\t\t}\n\t\t}\n",
		list,
	)
	var ds []string
	for i := range a.Inputs {
		ds = append(ds, fmt.Sprintf("d%d", i))
	}
	fmt.Fprintf(
		&p.sb, "\t\t%s := %s(%s)\n\t\treturn []*torch.Tensor{%s}\n\t})\n", strings.Join(ds, ", "), names[1],
		strings.Join(append(grads, saved...), ", "), strings.Join(ds, ", "),
	)
}

// body prints g as a function of tensors.
func (p *goPrinter) body(name string, g *Graph) {
	inner := &goPrinter{spell: p.spell}
	var params []string
	for _, n := range g.Placeholders() {
		params = append(params, goName(n.Name)+" "+goType(n.Meta))
	}
	for n := g.first; n != nil; n = n.next {
		inner.node(n)
	}
	head := strings.Join(params, ", ")
	results := strings.TrimSuffix(strings.Repeat("*torch.Tensor, ", len(g.Outputs())), ", ")
	fmt.Fprintf(&p.sb, "\t%s := func(%s) (%s) {\n", name, head, results)
	for _, line := range strings.Split(strings.TrimSuffix(inner.sb.String(), "\n"), "\n") {
		p.sb.WriteString("\t" + line + "\n")
	}
	p.sb.WriteString("\t}\n")
}
