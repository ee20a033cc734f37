package inductor

import (
	"fmt"
	"slices"
	"strings"

	"tcdbg/inductor/codegen"
	"tcdbg/inductor/ir"
	"tcdbg/logs"
)

// This file compiles the graphs that control flow holds: each becomes a program of its own,
// which a step between the kernels of this one runs.

// bodies compiles them. They are called once in so many runs, with operands that change, so
// that nothing of theirs is computed in advance.
func (c *compiler) bodies() (int, error) {
	count := 0
	for i := range c.plan.Steps {
		x := c.plan.Steps[i].Extern
		if x == nil || x.Flow == nil {
			continue
		}
		for k, b := range x.Flow.Bodies {
			g, _ := b.Clone(x.Flow.Program(c.graph.Name, k))
			opt := c.opt
			opt.Params, opt.Replaces, opt.Decisions = nil, nil, min(opt.Decisions, 0)
			p, err := c.compile(g, opt)
			if err != nil {
				return 0, fmt.Errorf("inductor: %s of %s: %w", x.Flow.Names[k], c.graph.Name, err)
			}
			p.Graph = g
			if c.out.Bodies == nil {
				c.out.Bodies = map[string][]*Program{}
			}
			c.out.Bodies[x.Name] = append(c.out.Bodies[x.Name], p)
			count++
		}
	}
	return count, nil
}

// checkBodies wants each body of control flow, by the name that the text calls.
func (c *compiler) checkBodies() error {
	for i := range c.plan.Steps {
		x := c.plan.Steps[i].Extern
		if x == nil || x.Flow == nil {
			continue
		}
		for k, p := range c.out.Bodies[x.Name] {
			if p.Name != x.Flow.Program(c.graph.Name, k) || len(p.Outputs) != len(x.Outs) && k > 0 {
				return fmt.Errorf("inductor: %s is no body of %s", p.Name, x.Name)
			}
		}
	}
	return nil
}

// placeFlow says where in the output code the call of control flow is listed.
func (c *compiler) placeFlow(entry *logs.Kernel, n *ir.Node) {
	lines := strings.Split(c.module.Text, "\n")
	at := slices.IndexFunc(lines, func(s string) bool { return strings.HasPrefix(s, codegen.FlowMark+entry.Name+" ") })
	if at < 0 {
		return
	}
	entry.From = at + 1
	for at++; at < len(lines) && strings.HasPrefix(lines[at], codegen.FlowIndent); at++ {
	}
	entry.To = at
	for _, o := range n.Origins {
		for i := entry.From; i <= entry.To; i++ {
			entry.Lines = codegen.AddLine(entry.Lines, i, o)
		}
	}
}

// All are the program and the bodies of its control flow, each before what it calls.
func (p *Program) All() []*Program {
	out := []*Program{p}
	for i := range p.Steps {
		if x := p.Steps[i].Extern; x != nil {
			for _, b := range p.Bodies[x.Name] {
				out = append(out, b.All()...)
			}
		}
	}
	return out
}
