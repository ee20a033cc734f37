package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tcdbg/explain"
	"tcdbg/logs"
	"tcdbg/tui/columns"
	"tcdbg/tui/keys"
	"tcdbg/tui/syntax"
	"tcdbg/tui/theme"
)

// This file is screen 8, Kernels: what code runs, and which of my lines is it?

// The views of a kernel.
const (
	kernelSourceMode = iota
	kernelTritonMode
	kernelFactsMode
	kernelWholeMode
	kernelDiffMode
)

// kernelsScreen is the Kernels screen.
type kernelsScreen struct {
	pane
	kernelFirst int // line of the document at which the shown kernel's source begins
	earlier     earlier
}

func newKernels() screen {
	return &kernelsScreen{
		pane: pane{
			columns: columns.Of(
				"compile", "the compile that made it", "per call", "the time of a call", "calls", "how often it was called",
				"share", "its part of the time in kernels", "lang", "its language, where no kernel was timed",
				"bytes", "what a call reads and writes",
			),
			title: keys.Title{
				Name: "Kernels", Short: "Krn", Key: "8",
				Asks: "What code runs, and which of my lines does it compute?",
			},
			leadLines: 3, detailed: true, share: 0.42,
			modes: []string{"source", "Triton, for a GPU", "operators and lines", "full output code", "diff against the previous run"},
			orders: []order{
				{name: "execution order"},
				{
					name: "slowest first", lacks: "no kernel was timed",
					compare: func(a, b row) int { return cmp.Compare(kernelAt(b).RunNanos(), kernelAt(a).RunNanos()) },
					has:     func(r row) bool { return kernelAt(r).RunNanos() > 0 },
				},
				{name: "most bytes first", compare: func(a, b row) int { return cmp.Compare(kernelAt(b).Bytes, kernelAt(a).Bytes) }},
				{name: "by name", compare: func(a, b row) int { return cmp.Compare(kernelAt(a).Name, kernelAt(b).Name) }},
			},
		},
	}
}

func (*kernelsScreen) empty(sc *scene) []string {
	if sc.report.Redacted {
		return []string{"This trace was redacted: of the kernels that were generated it tells nothing."}
	}
	if sc.report.Totals.Graphs > 0 {
		return []string{
			"No kernels are recorded.",
			"Graphs were captured, but no backend that generates code compiled them (eager and aot_eager do not; inductor does), or " +
				"the trace lacks its output code.",
		}
	}
	return []string{
		"No kernel was generated yet.",
		"Each generated kernel appears here with its source, the operators fused in it and the lines of your program that it computes.",
	}
}

func (*kernelsScreen) count(r *explain.Report) int { return r.Totals.Kernels }

func (*kernelsScreen) hidden(sc *scene, mode int) bool {
	inIt := func(k *explain.Kernel) bool { return k.In(gpuLanguage) != nil }
	return mode == kernelTritonMode && !slices.ContainsFunc(sc.report.Kernels, inIt)
}

// kernelLead says which kernel line, node and source line belong together.
func (scr *kernelsScreen) lead(sc *scene, _ int) []theme.Line {
	r, ok := scr.selected().(*kernelRow)
	if !ok {
		return nil
	}
	c := &sc.facts.counts
	text := fmt.Sprintf(" · %s · %s", count(c.extern, "extern kernel"), count(c.kernelOps, "operator"))
	if c.kernelNanos > 0 {
		text += " · " + nanos(int64(c.kernelNanos)) + " in kernels"
	}
	l := theme.Line{{Text: " " + count(len(sc.report.Kernels)-c.extern, "generated kernel"), Style: theme.Bold}, {Text: text}}
	return []theme.Line{l, scr.linked(sc, r.k), r.t.heading(sc, scr.arrange(sc).List.W)}
}

func kernelAt(r row) *explain.Kernel { return r.(*kernelRow).k }

// linked is the line "kernel line ↔ nodes ↔ source line" for the cursor.
func (scr *kernelsScreen) linked(sc *scene, k *explain.Kernel) theme.Line {
	nodes, pos := k.Nodes, k.Pos
	at := cutMiddle(k.Name, 40)
	if c, ok := scr.code(k); ok && scr.inside {
		if kl := c.line(scr.docList.Cursor() - scr.kernelFirst); kl != nil {
			nodes, pos = kl.Nodes, kl.Pos
			at = fmt.Sprintf("line %d", kl.Line)
		}
	}
	l := theme.Line{theme.T(theme.Plain, " "+at), {Text: " ↔ ", Style: theme.Faint}}
	if len(nodes) == 0 {
		l = append(l, theme.Span{Text: "nodes not recorded", Style: theme.Faint})
	} else {
		l = append(l, theme.T(theme.Blue, theme.Cut(strings.Join(nodes, ", "), 48)))
	}
	if len(pos) > 0 {
		l = append(
			l, theme.Span{Text: " ↔ ", Style: theme.Faint}, theme.T(theme.Accent, sc.place(pos[0])+"  "),
			theme.T(theme.Plain, strings.TrimSpace(pos[0].Code)),
		)
		if len(pos) > 1 {
			l = append(l, theme.Span{Text: fmt.Sprintf("  and %s", count(len(pos)-1, "line")), Style: theme.Faint})
		}
	}
	return l
}

func (r *kernelRow) key() string {
	return kernelKey(r.k)
}

// kernelKey tells kernels apart, those of a forward and of a backward pass too.
func kernelKey(k *explain.Kernel) string {
	key := fmt.Sprintf("kernel %s %s %d", k.Name, idText(k.ID), k.From)
	if k.Output != nil {
		key += " " + k.Output.Path
	}
	return key
}

func (r *kernelRow) sel() Selection { return kernelSel(r.k) }

func (r *kernelRow) matches(q string) bool {
	if theme.IndexFold(r.k.Name, q) >= 0 || about(r.k.ID, logs.Pos{}, q) {
		return true
	}
	for _, p := range r.k.Pos {
		if about(r.k.ID, p, q) {
			return true
		}
	}
	for _, op := range r.k.Ops {
		if theme.IndexFold(op, q) >= 0 {
			return true
		}
	}
	for _, p := range r.k.Pos {
		if theme.IndexFold(p.File, q) >= 0 {
			return true
		}
	}
	return false
}

func (scr *kernelsScreen) detail(sc *scene, r row, w int) *doc {
	d := newDoc(sc, w)
	k := r.(*kernelRow).k
	switch scr.mode {
	case kernelDiffMode:
		scr.kernelDiff(d, k)
	case kernelSourceMode, kernelTritonMode:
		scr.kernelSource(d, k)
	case kernelFactsMode:
		kernelFacts(d, k)
	case kernelWholeMode:
		if k.Output == nil {
			d.add(theme.T(theme.Faint, "the trace has no output code for this kernel"))
			return d
		}
		if k.Output.Path != "" {
			d.add(theme.T(theme.Faint, k.Output.Path))
		}
		text, ok := sc.text("output "+idText(k.Output.ID)+k.Output.Path, k.Output.Load)
		if !ok {
			d.add(theme.T(theme.Faint, "reading …"))
			return d
		}
		d.focus = max(0, k.From-1)
		d.code(sc.hl, syntax.Python, text)
	}
	return d
}

// kernelSummary is the line above a kernel's code: its time and its rates.
func kernelSummary(d *doc, k *explain.Kernel) {
	ns, ok := k.CallNanos()
	if !ok {
		return
	}
	text := ""
	if k.Backward() {
		text = "backward pass · "
	}
	text += nanos(int64(ns)) + " per call · " + percent(k.RunNanos(), d.sc.facts.counts.kernelNanos) + " of kernel time"
	if v := k.GBPerSecond(); v > 0 {
		text += fmt.Sprintf(" · %.1f GB/s", v)
	}
	if v := k.GFLOPPerSecond(); v > 0 {
		text += fmt.Sprintf(" · %.1f GFLOP/s", v)
	}
	for _, t := range k.Tuned {
		if t.Changed() {
			text += " · " + t.What + ": " + theme.Clean(t.Chosen)
		}
	}
	d.add(theme.T(theme.Faint, text))
}

// meant reports whether a kernel line belongs to the selection.
func (sc *scene) meant(kl *logs.KernelLine) bool {
	for _, n := range kl.Nodes {
		if n == sc.sel.Node {
			return true
		}
	}
	for _, p := range kl.Pos {
		if sc.sel.Pos.Line > 0 && lineOf(p) == lineOf(sc.sel.Pos) {
			return true
		}
	}
	return false
}

// kernelTimes is how long a kernel takes, and how near that is to what the
// machine can do.
func kernelTimes(d *doc, k *explain.Kernel) {
	ns, ok := k.CallNanos()
	if !ok {
		if d.sc.facts.counts.kernelNanos > 0 {
			d.labelled("time", map[bool]string{true: "not measured", false: "never timed"}[k.Calls < 0])
		}
		return
	}
	d.labelled("time", fmt.Sprintf("%s per call, %s (%d timed)", nanos(int64(ns)), count(int(k.Calls), "call"), k.Timed))
	d.labelled("share", percent(k.RunNanos(), d.sc.facts.counts.kernelNanos)+" of the time of all kernels")
	var rates []string
	if v := k.GBPerSecond(); v > 0 {
		rates = append(rates, fmt.Sprintf("%.1f GB/s", v))
	}
	if v := k.GFLOPPerSecond(); v > 0 {
		rates = append(rates, fmt.Sprintf("%.1f GFLOP/s", v))
	}
	if len(rates) > 0 {
		d.labelled("rate", strings.Join(rates, ", "))
	}
}

// tunedShown is how many candidates of a choice are shown.
const tunedShown = 6

// kernelTuned is what was timed for a kernel, and what was chosen.
func kernelTuned(d *doc, k *explain.Kernel) {
	for _, t := range k.Tuned {
		d.heading("AUTOTUNED: " + t.What + " of " + t.Title())
		if n := len(t.Kernels); n > 1 {
			d.wrap(theme.Faint, 2, fmt.Sprintf("together with %s that compute the same", count(n-1, "kernel")))
		}
		for i, w := range t.Tried {
			if i >= tunedShown && w.Name != t.Chosen {
				continue
			}
			glyph, style, took := "  ", theme.Plain, nanos(w.Nanos)
			if w.Name == t.Chosen {
				glyph, style = "▸ ", theme.Bold
			}
			if w.Nanos == 0 {
				took = "not timed"
			}
			text := theme.FitRight(took, 10) + "  " + theme.Clean(w.Name)
			if w.Name == t.Chosen {
				text += "  (chosen)"
			}
			d.add(theme.T(style, glyph+text))
		}
	}
}

// kernelFacts is what is known of a kernel besides its code.
func kernelFacts(d *doc, k *explain.Kernel) {
	d.add(theme.T(theme.Bold, k.Name), theme.T(theme.Faint, "  "+k.Lang+" "+idText(k.ID)))
	if k.Reason != "" {
		d.wrap(theme.Eager, 2, "extern: "+k.Reason)
	}
	d.blank()
	if k.Output != nil && k.Output.Role != "" {
		d.labelled("pass", k.Output.Role)
	}
	if body := k.Body(); body != "" {
		d.labelled("body", theme.Clean(body)+" of control flow")
	}
	d.labelled("operators", fmt.Sprintf("%d: %s", max(k.Fused, len(k.Ops)), strings.Join(k.Ops, ", ")))
	if k.Bytes >= 0 {
		d.labelled("bytes", bytesText(k.Bytes)+" read and written per call")
	}
	if k.FLOPs > 0 {
		d.labelled("flops", fmt.Sprintf("%.4g", float64(k.FLOPs)))
	}
	kernelTimes(d, k)
	kernelTuned(d, k)
	if len(k.Nodes) > 0 {
		d.heading("NODES")
		for _, n := range k.Nodes {
			s := kernelSel(k)
			s.Node, s.Kernel = n, ""
			d.link(s, theme.T(theme.Blue, "  "+n))
		}
	}
	if len(k.Pos) > 0 {
		d.heading("LINES")
		col := d.sc.placeColumn(k.Pos, d.width)
		for _, p := range k.Pos {
			d.link(posSel(p), theme.T(theme.Accent, "  "+d.sc.placeCell(p, col)), theme.T(theme.Plain, strings.TrimSpace(p.Code)))
		}
	}
}

// kernelTable is what the rows of the list share.
type kernelTable struct {
	total float64 // nanoseconds of all kernels; 0: none was timed
	name  int     // cells that the names want
	shown *columns.Set
}

// wantedName is how much of a name goes before the numbers: the detail has them too.
const wantedName = 22

func (scr *kernelsScreen) rows(in *input) []row {
	t := &kernelTable{total: in.report.KernelNanos(), shown: scr.columns}
	for _, k := range in.report.Kernels {
		t.name = max(t.name, min(wantedName, theme.Width(theme.Clean(k.Name))))
	}
	rows := make([]row, 0, len(in.report.Kernels))
	for _, k := range in.report.Kernels {
		rows = append(rows, &kernelRow{k, t})
	}
	return rows
}

// kernelRow is a kernel or an extern kernel.
type kernelRow struct {
	k *explain.Kernel
	t *kernelTable
}

// cells are the columns that have room beside the names in w cells, of a kernel or, nil, their headings.
func (t *kernelTable) cells(k *explain.Kernel, w int) []columns.Cell {
	of := func(name, head string, width, goes int, text func() string) columns.Cell {
		c := columns.Cell{Name: name, Width: -width, Text: head, Goes: goes}
		if k != nil {
			c.Text = theme.Clean(text())
		}
		return c
	}
	bytes := of("bytes", "BYTES", 8, 1, func() string { return kernelBytes(k) })
	if t.total == 0 {
		return t.shown.Fit(w-t.name, of("lang", "LANG", 8, 0, func() string { return k.Lang }), bytes)
	}
	return t.shown.Fit(
		w-t.name,
		of("per call", "PER CALL", 8, 0, func() string { return kernelCall(k) }),
		of("calls", "CALLS", 6, 3, func() string { return kernelCalls(k) }),
		of("share", "SHARE", 5, 2, func() string { return kernelShare(k, t.total) }),
		bytes,
	)
}

// id is the cell of the compile.
func (t *kernelTable) id(sc *scene, id explain.ID) string {
	if !t.shown.On("compile") {
		return ""
	}
	return sc.idCell(id)
}

// kernelCall is the time of a call; of a kernel that was never called, that.
func kernelCall(k *explain.Kernel) string {
	switch ns, ok := k.CallNanos(); {
	case k.Calls < 0:
		return "-" // not measured
	case k.Calls == 0:
		return "not run"
	case ok:
		return nanos(int64(ns))
	}
	return "?" // called, and no call timed
}

// kernelCalls is how often a kernel was called, "" where that was not measured.
func kernelCalls(k *explain.Kernel) string {
	if k.Calls < 0 {
		return ""
	}
	return fmt.Sprint(k.Calls)
}

func kernelShare(k *explain.Kernel, total float64) string {
	if _, ok := k.CallNanos(); ok && k.Calls > 0 {
		return percent(k.RunNanos(), total)
	}
	return ""
}

func kernelBytes(k *explain.Kernel) string {
	if k.Bytes <= 0 {
		return ""
	}
	return bytesText(k.Bytes)
}

// heading names the columns of a list of w cells.
func (t *kernelTable) heading(sc *scene, w int) theme.Line {
	w -= 2 // the cursor
	lead := "  " + theme.Spaces(theme.Width(t.id(sc, explain.ID{})))
	tail := columns.Behind(t.cells(nil, w-len(lead)))
	return theme.L(theme.Faint, "  "+theme.Fit(lead+"KERNEL", max(0, w-theme.Width(tail)))+tail)
}

func (r *kernelRow) draw(sc *scene, w int) theme.Line {
	k := r.k
	glyph, style := theme.GlyphCompiled, theme.Compiled
	if k.Lang == "extern" {
		glyph, style = theme.GlyphEager, theme.Eager
	}
	l := theme.Line{{Text: glyph + " ", Style: style}, {Text: r.t.id(sc, k.ID), Style: theme.Faint}}
	tail := columns.Behind(r.t.cells(k, w-l.Width()))
	room := max(0, w-l.Width()-theme.Width(tail))
	l = append(l, theme.Span{Text: theme.Fit(cutMiddle(theme.Clean(k.Name), room), room)})
	return append(l, theme.Span{Text: tail, Style: theme.Faint})
}

// cutMiddle shortens a name in its middle: kernels differ at both ends.
func cutMiddle(s string, w int) string {
	n := theme.Width(s)
	if n <= w || w < 8 {
		return theme.Cut(s, w)
	}
	tail := w / 3
	return theme.Cut(s, w-tail) + theme.CutLeft(s, tail+1)[len("…"):]
}
