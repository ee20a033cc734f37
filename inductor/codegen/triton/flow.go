package triton

import (
	"fmt"
	"strings"

	"tcdbg/graph"
	"tcdbg/inductor/ir"
	"tcdbg/inductor/plan"
)

// This file writes control flow as calls of the modules of its bodies, which are called what
// they are here.

// flow calls them.
func (m *module) flow(x *plan.Extern, outs []string) {
	var args []string
	for _, a := range x.Args {
		args = append(args, m.arg(a))
	}
	f, to := x.Flow, strings.Join(outs, ", ")
	call := func(k int, args ...string) string {
		return fmt.Sprintf("%s.call([%s])", strings.TrimLeft(f.Program(m.plan.Name, k), "_"), strings.Join(args, ", "))
	}
	m.p("    # %s: %s", f.Op, x.Reason)
	switch {
	case f.Op == graph.SwitchTarget:
		for k := range f.Names {
			word := "elif %s.item() == %d:"
			switch k {
			case 0:
				word = "if %s.item() <= %d:"
			case len(f.Names) - 1:
				word = "else:"
			}
			if k < len(f.Names)-1 {
				word = fmt.Sprintf(word, args[0], k)
			}
			m.p("    %s\n        fill((%s,), %s)", word, to, call(k, args[1:]...))
		}
	case f.Chooses:
		m.p("    if %s.item():\n        fill((%s,), %s)", args[0], to, call(0, args[1:]...))
		m.p("    else:\n        fill((%s,), %s)", to, call(1, args[1:]...))
	case f.Sliced > 0:
		m.slices(f, args, outs, call)
	default:
		all := append(append([]string{}, outs...), args[f.Carried:]...)
		m.p("    fill((%s,), (%s,))", to, strings.Join(args[:f.Carried], ", "))
		m.p("    while %s[0].item():\n        fill((%s,), %s)", call(0, all...), to, call(1, all...))
	}
}

// slices calls a module for one slice after the other.
func (m *module) slices(f *ir.FlowInfo, args, outs []string, call func(k int, args ...string) string) {
	at := func(names []string, i string) []string {
		var out []string
		for _, n := range names {
			out = append(out, n+"["+i+"]")
		}
		return out
	}
	// The graph of a scan counts on contiguous slices.
	read := func(names []string, i string) []string {
		out := at(names, i)
		for j := range out {
			if f.Op != graph.MapTarget {
				out[j] += ".contiguous()"
			}
		}
		return out
	}
	k, from := f.Carried, 0
	whole, rest, carried := args[k:k+f.Sliced], args[k+f.Sliced:], outs[:k]
	switch {
	case f.Op == graph.AssocTarget:
		carried, from = read(outs, "i - 1"), 1
		m.p("    fill((%s,), (%s,))", strings.Join(at(outs, "0"), ", "), strings.Join(at(whole, "0"), ", "))
	case k > 0:
		m.p("    fill((%s,), (%s,))", strings.Join(outs[:k], ", "), strings.Join(args[:k], ", "))
	}
	to := append(append([]string{}, outs[:k]...), at(outs[k:], "i")...)
	given := append(append(append([]string{}, carried...), read(whole, "i")...), rest...)
	m.p("    for i in range(%d, %s):\n        fill((%s,), %s)", from, f.Length, strings.Join(to, ", "), call(0, given...))
}
