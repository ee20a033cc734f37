package render

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"tcdbg/explain"
	"tcdbg/explain/gate"
)

// WriteDiffText writes a comparison for people.
func WriteDiffText(w io.Writer, d *gate.Difference) error {
	t := &TextWriter{W: bufio.NewWriter(w)}
	t.line("breaks %d -> %d at %d -> %d places, recompiles %d -> %d, graphs %d -> %d, kernels %d -> %d, failures %d -> %d, compile "+
		"time %.2f s -> %.2f s",
		d.Before.Breaks, d.After.Breaks, d.Before.DistinctBreaks, d.After.DistinctBreaks, d.Before.Recompiles, d.After.Recompiles,
		d.Before.Graphs, d.After.Graphs, d.Before.Kernels, d.After.Kernels, d.Before.Failures, d.After.Failures,
		d.Before.CompileSeconds, d.After.CompileSeconds)
	t.changes("breaks", &d.Breaks)
	t.changes("recompiles", &d.Recompiles)
	t.changes("failures", &d.Failures)
	for _, g := range d.Graphs {
		t.line("~ %s", g)
	}
	for _, c := range d.Code {
		t.line("~ %s", explain.ClipText(c, 300))
	}
	for _, c := range d.Caches {
		t.line("~ cache %s", c)
	}
	if len(d.KernelsNew) > 0 {
		t.line("+ kernels: %s", explain.ClipText(strings.Join(d.KernelsNew, ", "), 300))
	}
	if len(d.KernelsGone) > 0 {
		t.line("- kernels: %s", explain.ClipText(strings.Join(d.KernelsGone, ", "), 300))
	}
	if d.Empty() {
		t.line("no difference but time")
	}
	return t.W.Flush()
}

func (t *TextWriter) changes(kind string, c *gate.Changes) {
	if c.Empty() {
		return
	}
	t.line(
		"%s: %d new, %d fixed, %d moved, %d with a different count, %d the same", kind, len(c.New), len(c.Fixed),
		len(c.Moved), len(c.Counted), c.Same,
	)
	for _, x := range c.New {
		t.line("  + new    %s  %s%s  %s", x.Place, x.What, x.Often(), explain.ClipText(x.Pos.Code, 80))
	}
	for _, x := range c.Fixed {
		t.line("  - fixed  %s  %s%s  %s", x.Place, x.What, x.Often(), explain.ClipText(x.Pos.Code, 80))
	}
	for _, m := range c.Moved {
		times := ""
		if m.From.Count != m.To.Count {
			times = fmt.Sprintf(": %d -> %d times", m.From.Count, m.To.Count)
		}
		t.line("  > moved  %s -> %s  %s%s", m.From.Place, m.To.Place, m.To.What, times)
	}
	for _, m := range c.Counted {
		t.line("  # times  %s  %s: %d -> %d times", m.To.Place, m.To.What, m.From.Count, m.To.Count)
	}
}

// WriteDiffJSON writes a comparison as JSON.
func WriteDiffJSON(w io.Writer, d *gate.Difference) error {
	e := explain.JSONEncoder(w)
	e.SetIndent("", " ")
	return e.Encode(struct {
		Version int            `json:"version"`
		Before  explain.Totals `json:"before"`
		After   explain.Totals `json:"after"`
		*gate.Difference
	}{jsonVersion, d.Before, d.After, d})
}
