package lowering

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"tcdbg/explain"
	"tcdbg/logs"
)

// This file prints a lowered graph as text.

// Emits are the words of --emit.
var Emits = []string{"summary", "graph", "fusion", "c", "triton"}

// Print writes what emit names of a lowered graph. Texts of the trace go through shown.
func Print(w io.Writer, v *View, emit string, shown func(string) string) error {
	r, p := v.Report, &printer{w: w, shown: shown}
	switch emit {
	case "c", "triton":
		p.code(r, emit)
	case "graph":
		for _, g := range r.Graphs {
			for _, s := range g.Stages {
				if s.Name == "inference" {
					p.text(s.Load())
				}
			}
		}
	case "fusion":
		p.fusions(r)
	default:
		p.summary(r, &v.Answer.Lowered)
	}
	return p.err
}

type printer struct {
	w     io.Writer
	shown func(string) string
	err   error
}

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintln(p.w, p.shown(strings.TrimRight(fmt.Sprintf(format, args...), " ")))
	}
}

func (p *printer) text(s string) {
	for line := range strings.Lines(s) {
		p.line("%s", strings.TrimSuffix(line, "\n"))
	}
}

func (p *printer) code(r *explain.Report, language string) {
	for _, f := range r.Frames {
		for _, c := range f.Compiles {
			for _, o := range c.Outputs {
				if language == "c" {
					p.text(o.Load())
				}
				for _, t := range o.Others {
					if t.Language == language {
						p.text(t.Load())
					}
				}
			}
		}
	}
}

func (p *printer) fusions(r *explain.Report) {
	for _, f := range r.Fusions {
		p.line("%d kernels before fusion, %d after", f.Before, f.After)
		for i := range f.Steps {
			s := &f.Steps[i]
			what, why := "fused", fmt.Sprintf("saves %d bytes", s.Score)
			if !s.Fused {
				if what, why = "not fused", s.Reason; s.Why != "" && s.Why != s.Reason {
					why += ": " + s.Why
				}
			}
			p.line("%3d  %-9s  %s + %s  (%s)", i+1, what, f.Label(s.A), f.Label(s.B), why)
		}
	}
}

func (p *printer) summary(r *explain.Report, l *logs.Lowered) {
	ops := 0
	for _, g := range r.Graphs {
		ops += len(g.Ops)
	}
	device := ""
	if l.Device != "" && l.Device != "cpu" {
		device = ", on " + l.Device + " in the trace"
	}
	p.line("%s: %s, %s%s", l.Of, Count(ops, "operator"), Count(l.Ours, "kernel"), device)
	for _, k := range r.Kernels {
		lang := ""
		if k.Lang == "extern" {
			lang = "  extern: " + k.Reason
		}
		p.line("  %s  %s%s", k.Name, strings.Join(k.Ops, " "), lang)
	}
	for _, s := range Differences(l) {
		p.line("%s", s)
	}
}

// Count is "1 kernel" or "3 kernels".
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Differences is how a lowered graph's kernels differ from PyTorch's, a line each.
func Differences(l *logs.Lowered) []string {
	if l.Silent != "" {
		return []string{"not compared with PyTorch's kernels: " + l.Silent}
	}
	out := section(nil, l.Apart, "PyTorch fused, we did not", "PyTorch's", "of ours")
	out = section(out, l.Joined, "we fused, PyTorch did not", "our", "of PyTorch's")
	if len(out) == 0 {
		out = []string{fmt.Sprintf("PyTorch's %s put the same nodes together", Count(l.Theirs, "kernel"))}
	}
	return out
}

func section(out []string, list []logs.Regrouped, title, whose, others string) []string {
	if len(list) == 0 {
		return out
	}
	out = append(out, title+":")
	for _, r := range list {
		out = append(out, fmt.Sprintf("  %s %s is %s %s", whose, r.Kernel, Count(len(r.Parts), "kernel"), others))
		for _, part := range r.Parts {
			out = append(out, fmt.Sprintf("    %s: %s", part.Kernel, strings.Join(part.Nodes, ", ")))
			for _, at := range part.Pos {
				out = append(out, fmt.Sprintf("      %s:%d  %s", at.File, at.Line, strings.TrimSpace(at.Code)))
			}
		}
	}
	return out
}

// Tally is what became of the graphs of a trace.
type Tally struct {
	all, lowered map[string]int // by stage
	missing      map[string]int // operators
}

// NewTally is an empty one.
func NewTally() *Tally {
	return &Tally{map[string]int{}, map[string]int{}, map[string]int{}}
}

// Add counts one form; err is what Run gave.
func (t *Tally) Add(f *Form, err error) string {
	stage := strings.TrimRight(f.Name, " 0123456789")
	t.all[stage]++
	if err == nil {
		t.lowered[stage]++
		return "lowered"
	}
	if r, ok := err.(*Refused); ok { //nolint:errorlint // Run wraps nothing
		for op, n := range r.Missing {
			t.missing[op] += n
		}
		return r.Text
	}
	return err.Error()
}

// Lines are the totals.
func (t *Tally) Lines() []string {
	var out []string
	for _, s := range slices.Sorted(maps.Keys(t.all)) {
		out = append(out, fmt.Sprintf("%s: %d of %d lowered", s, t.lowered[s], t.all[s]))
	}
	names := slices.SortedFunc(maps.Keys(t.missing), func(a, b string) int {
		if d := t.missing[b] - t.missing[a]; d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	for _, n := range names {
		out = append(out, fmt.Sprintf("not supported: %s (%d)", n, t.missing[n]))
	}
	return out
}
