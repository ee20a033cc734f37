package plan

import (
	"fmt"
	"strings"
)

// This file says what a call of control flow does, for the listings of programs.

// FlowArgs are the names of the buffers that a call of control flow takes.
func (p *Plan) FlowArgs(x *Extern) []string {
	var out []string
	for _, a := range x.Args {
		if v, ok := a.(BufferView); ok {
			out = append(out, p.Buffers[v.Buffer].Name)
		} else {
			out = append(out, fmt.Sprint(a))
		}
	}
	return out
}

// FlowText is the call as lines in C's notation, which name the programs of the bodies.
func (p *Plan) FlowText(x *Extern) []string {
	f, args := x.Flow, p.FlowArgs(x)
	var outs []string
	for _, b := range x.Outs {
		outs = append(outs, p.Buffers[b].Name)
	}
	to := strings.Join(outs, ", ")
	if f.Carried > 0 {
		rest := strings.Join(append(append([]string{}, outs...), args[f.Carried:]...), ", ")
		return []string{
			fmt.Sprintf("%s = %s;", to, strings.Join(args[:f.Carried], ", ")),
			fmt.Sprintf("while (*%s(%s))", f.Program(p.Name, 0), rest),
			fmt.Sprintf("    %s = %s(%s);", to, f.Program(p.Name, 1), rest),
		}
	}
	rest := strings.Join(args[1:], ", ")
	return []string{
		fmt.Sprintf("if (*%s)", args[0]), fmt.Sprintf("    %s = %s(%s);", to, f.Program(p.Name, 0), rest),
		"else", fmt.Sprintf("    %s = %s(%s);", to, f.Program(p.Name, 1), rest),
	}
}
