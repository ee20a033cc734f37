// Package numerics is what a comparison of compiled code with eager execution found, as reports
// and screens show it, and as text.
//
// It imports logs; it is a part of explain's report. Open this file.
package numerics

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"tcdbg/logs"
	"tcdbg/logs/printable"
)

// Report is what was compared in a run; nil where nothing was.
type Report struct {
	Graphs  []*Graph              `json:"graphs"`
	Capture *logs.NumericsCapture `json:"capture,omitempty"`
}

// Graph is one compiled graph beside eager execution.
type Graph struct {
	logs.Numerics
	Function string `json:"function,omitempty"` // the compiled function
	Rank     int    `json:"rank"`               // -1: none
	Seq      int64  `json:"-"`
}

// Clone is a copy that later records do not change.
func (r *Report) Clone() *Report {
	if r == nil {
		return nil
	}
	out := &Report{Capture: r.Capture}
	for _, g := range r.Graphs {
		c := *g
		out.Graphs = append(out.Graphs, &c)
	}
	return out
}

// Differs reports whether something is wrong.
func (r *Report) Differs() bool {
	if r == nil {
		return false
	}
	for _, g := range r.Graphs {
		if g.Result == logs.NumericsDiffers {
			return true
		}
	}
	return r.Capture != nil && r.Capture.Result == logs.NumericsDiffers
}

// Worst is the value of a graph that lies farthest from eager, nil where none was compared.
func (g *Graph) Worst() *logs.NumericsValue {
	var worst *logs.NumericsValue
	for i := range g.Values {
		if v := &g.Values[i]; worst == nil || v.Worst > worst.Worst {
			worst = v
		}
	}
	return worst
}

// Name is the compile with its function: 0/1 forward.
func (g *Graph) Name() string {
	if g.Function == "" {
		return g.Compile
	}
	return g.Compile + " " + logs.FunctionTitle(g.Function)
}

// WorstText is how far the results of a graph lie from eager at most.
func (g *Graph) WorstText() string {
	w := g.Worst()
	switch {
	case w == nil:
		return ""
	case w.Worst == 0:
		return "the same bits"
	}
	out := Times(w.Worst) + " of what " + w.DType + " allows"
	if w.Worst > 1 && g.Result == logs.NumericsEqual {
		out += ", as near to double precision as eager"
	}
	return out
}

// Boundless is the largest difference that a trace tells.
const Boundless = 1e30

// Times is a difference in units of what is allowed.
func Times(x float64) string {
	switch {
	case x >= Boundless:
		return "without bound"
	case x >= 100:
		return fmt.Sprintf("%.0fx", x)
	case x >= 10:
		return fmt.Sprintf("%.1fx", x)
	}
	return fmt.Sprintf("%.2gx", x)
}

// Place is where a fault lies, in words: decomposition, at gelu (gelu_1), model.go:12.
func Place(f *logs.NumericsFault) string {
	out := f.Stage
	if f.Part != "" && f.Part != "inference" {
		out += " of the " + f.Part + " graph"
	}
	if f.Node != "" {
		out += ", at " + f.Node
		if f.Op != "" && f.Op != f.Node {
			out += " (" + f.Op + ")"
		}
	}
	if f.Kernel != "" {
		out += ", kernel " + f.Kernel
	}
	return out
}

// PosText is a line of the program with its text.
func PosText(p *logs.Pos) string {
	if p == nil {
		return ""
	}
	return strings.TrimSpace(fmt.Sprintf("%s:%d  %s", p.File, p.Line, strings.TrimSpace(p.Code)))
}

// ValueText is how one value differs.
func ValueText(v *logs.NumericsValue) string {
	out := fmt.Sprintf("%s %s%s: ", v.What, v.DType, list(v.Shape))
	switch {
	case v.Worst == 0:
		return out + "the same bits"
	case v.Beyond == 0:
		out += Times(v.Worst) + " of what is allowed at most"
	default:
		out += fmt.Sprintf("%d of %d elements differ by more than is allowed, %s at most", v.Beyond, v.Elems, Times(v.Worst))
		if v.Excused > 0 {
			out += fmt.Sprintf("; %d are as near to double precision as eager", v.Excused)
		}
	}
	if v.Compiled != "" {
		out += fmt.Sprintf("; at %s compiled %s, eager %s", list(v.At), v.Compiled, v.Eager)
		if v.Exact != "" {
			out += ", in double precision " + v.Exact
		}
	}
	return out
}

// list is numbers as PyTorch prints a shape.
func list(xs []int) string { return strings.ReplaceAll(fmt.Sprint(xs), " ", ", ") }

// BornText is where a NaN or an Inf comes from.
func BornText(b *logs.NumericsBorn) string {
	if b.Input != "" {
		return fmt.Sprintf("input %s has %s already in call %d", b.Input, b.What, b.Call)
	}
	of := "none of its input tensors has any"
	if b.OfInf {
		of = "its input tensors have Inf and no NaN"
	}
	out := fmt.Sprintf("%s gives %s in call %d; %s", b.Node, b.What, b.Call, of)
	if b.Op != "" && b.Op != b.Node {
		out = b.Op + " (" + out[:len(b.Node)] + ")" + out[len(b.Node):]
	}
	return out
}

// Summary is the verdict of a run in one line.
func (r *Report) Summary() string {
	var calls, compared int64
	n := map[string]int{}
	for _, g := range r.Graphs {
		calls, compared = calls+g.Calls, compared+g.Compared
		n[g.Result]++
	}
	out := fmt.Sprintf("%d of %d calls of %s compared with eager execution: ", compared, calls, count(len(r.Graphs), "graph"))
	var parts []string
	for _, k := range []string{logs.NumericsEqual, logs.NumericsDiffers, logs.NumericsUndecided, logs.NumericsNone} {
		if n[k] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[k], k))
		}
	}
	if len(parts) == 0 {
		parts = []string{"none"}
	}
	return out + strings.Join(parts, ", ")
}

func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// WriteText writes the report as plain text.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	line := func(format string, args ...any) {
		b.WriteString(strings.TrimRight(printable.Clean(fmt.Sprintf(format, args...)), " ") + "\n")
	}
	line("%s", r.Summary())
	name := 28
	for _, g := range r.Graphs {
		name = max(name, min(60, utf8.RuneCountInString(g.Name())))
	}
	for _, g := range r.Graphs {
		line("  %-*s %-12s %d of %s%s", name, g.Name(), g.Result, g.Compared, count(int(g.Calls), "call"), prefixed(", ", g.WorstText()))
		g.details(line)
	}
	if c := r.Capture; c != nil {
		line("  %-*s %-12s %s", name, "capture", c.Result, CaptureText(c))
		for _, text := range CaptureFaultText(c.Fault) {
			line("      %s", text)
		}
		for _, l := range c.Limits {
			line("      not compared: %s", l)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func prefixed(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}

// CaptureText is what came out of the comparison of whole runs.
func CaptureText(c *logs.NumericsCapture) string {
	switch {
	case c.Why != "":
		return c.Why
	case c.First != "":
		return c.First
	}
	return fmt.Sprintf("%s of compiled functions give the same without a compiler", count(c.Calls, "call"))
}

// CaptureFaultText says where a capture differs, a line each.
func CaptureFaultText(f *logs.CaptureFault) (out []string) {
	if f == nil {
		return nil
	}
	at := func(p *logs.Pos) string {
		if p == nil {
			return ""
		}
		return ", " + PosText(p)
	}
	switch {
	case !f.Found():
		out = append(out, "no operator is named: "+f.Why)
	case f.Captured == "":
		out = append(out, fmt.Sprintf("in call %d eager execution calls %s%s", f.Call, f.Eager, at(f.EagerPos)),
			"no captured graph has it")
	default:
		where := fmt.Sprintf("in call %d the captured graph has %s", f.Call, f.Captured)
		if f.Node != "" {
			where += " as node " + f.Node
		}
		out = append(out, where+at(f.CapturedPos))
		switch {
		case f.Eager == "":
			out = append(out, "eager execution calls nothing there")
		case f.Note != "":
			out = append(out, fmt.Sprintf("eager execution calls it %s%s", f.Note, at(f.EagerPos)))
		default:
			out = append(out, fmt.Sprintf("eager execution calls %s there%s", f.Eager, at(f.EagerPos)))
		}
	}
	if f.Agreed != "" {
		out = append(out, fmt.Sprintf("before it both compute the same up to %s%s", f.Agreed, at(f.AgreedPos)))
	}
	return out
}

func (g *Graph) details(line func(string, ...any)) {
	if g.Why != "" {
		line("      %s", g.Why)
	}
	if f := g.Fault; f != nil {
		line("      first in %s, in call %d", Place(f), f.Call)
		if f.Pos != nil {
			line("      %s", PosText(f.Pos))
		}
		line("      %s", ValueText(&f.Value))
		for _, s := range f.Ran {
			line("        %s", s)
		}
	}
	for _, b := range g.Sources() {
		line("      %s", BornText(b))
		if b.Pos != nil {
			line("      %s", PosText(b.Pos))
		}
	}
	for _, n := range g.NotCompared {
		if n != g.Why {
			line("      not compared: %s", n)
		}
	}
	if g.Repro != "" {
		line("      reproducer: %s", g.Repro)
	}
}
