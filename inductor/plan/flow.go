package plan

import (
	"fmt"
	"strings"

	"tcdbg/graph"
	"tcdbg/inductor/ir"
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
	to, call := strings.Join(outs, ", "), func(k int, args ...string) string {
		return fmt.Sprintf("%s(%s)", f.Program(p.Name, k), strings.Join(args, ", "))
	}
	switch {
	case f.Op == graph.SwitchTarget:
		lines := []string{fmt.Sprintf("switch (*%s)", args[0])}
		for k := range f.Names {
			lines = append(lines, fmt.Sprintf("case %d: %s = %s; break;", k, to, call(k, args[1:]...)))
		}
		return lines
	case f.Chooses:
		return []string{
			fmt.Sprintf("if (*%s)", args[0]), fmt.Sprintf("    %s = %s;", to, call(0, args[1:]...)),
			"else", fmt.Sprintf("    %s = %s;", to, call(1, args[1:]...)),
		}
	case f.Sliced > 0:
		return sliceText(f, args, outs, call)
	}
	all := append(append([]string{}, outs...), args[f.Carried:]...)
	return []string{
		fmt.Sprintf("%s = %s;", to, strings.Join(args[:f.Carried], ", ")),
		fmt.Sprintf("while (*%s)", call(0, all...)),
		fmt.Sprintf("    %s = %s;", to, call(1, all...)),
	}
}

// sliceText is a call of a body for each slice.
func sliceText(f *ir.FlowInfo, args, outs []string, call func(k int, args ...string) string) []string {
	at := func(names []string, i string) []string {
		var out []string
		for _, n := range names {
			out = append(out, n+"["+i+"]")
		}
		return out
	}
	k, from := f.Carried, 0
	whole, rest := args[k:k+f.Sliced], args[k+f.Sliced:]
	carried := outs[:k]
	var lines []string
	switch {
	case f.Op == graph.AssocTarget:
		carried, from = at(outs, "i - 1"), 1
		lines = append(lines, fmt.Sprintf("%s = %s;", strings.Join(at(outs, "0"), ", "), strings.Join(at(whole, "0"), ", ")))
	case k > 0:
		lines = append(lines, fmt.Sprintf("%s = %s;", strings.Join(outs[:k], ", "), strings.Join(args[:k], ", ")))
	}
	to := append(append([]string{}, outs[:k]...), at(outs[k:], "i")...)
	given := append(append(append([]string{}, carried...), at(whole, "i")...), rest...)
	head := fmt.Sprintf("for (i = %d; i < %s; i++)", from, f.Length)
	return append(lines, head, fmt.Sprintf("    %s = %s;", strings.Join(to, ", "), call(0, given...)))
}
