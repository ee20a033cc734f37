package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"tcdbg/explain"
	"tcdbg/logs"
	"tcdbg/tui/keys"
	"tcdbg/tui/syntax"
	"tcdbg/tui/theme"
)

// This file shows the code of one kernel: what was compiled, the same loops as Triton, or what
// changed since the last earlier run of the same program.

// gpuLanguage is the language of the view that shows what did not run.
const gpuLanguage = "triton"

// kernelCode is one text of a kernel.
type kernelCode struct {
	key   string
	lang  syntax.Lang
	load  func() string
	lines []logs.KernelLine
	from  int // number of its first line within its file, from 1
}

// code is the text of k that the screen's view means; false where the view
// shows no code or there is none.
func (scr *kernelsScreen) code(k *explain.Kernel) (kernelCode, bool) {
	switch scr.mode {
	case kernelTritonMode:
		if t := k.In(gpuLanguage); t != nil && t.Load != nil {
			return kernelCode{kernelKey(k) + " " + t.Language, syntax.OfKernel(t.Language), t.Load, t.Lines, max(1, t.From)}, true
		}
	case kernelSourceMode:
		if k.Load != nil {
			return kernelCode{kernelKey(k), syntax.OfKernel(k.Lang), k.Load, k.Lines, max(1, k.From)}, true
		}
	}
	return kernelCode{}, false
}

// line finds what is known of the i-th line of the text.
func (c *kernelCode) line(i int) *logs.KernelLine {
	for j := range c.lines {
		if c.lines[j].Line == c.from+i {
			return &c.lines[j]
		}
	}
	return nil
}

// kernelSource is the kernel's code; lines that belong to the selected source
// line or node are marked.
func (scr *kernelsScreen) kernelSource(d *doc, k *explain.Kernel) {
	c, ok := scr.code(k)
	if !ok {
		scr.noKernelCode(d, k)
		return
	}
	text, ok := d.sc.text(c.key, c.load)
	if !ok {
		d.add(theme.T(theme.Faint, "reading …"))
		return
	}
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	kernelSummary(d, k)
	scr.kernelFirst = d.Len()
	for i := range lines {
		if kl := c.line(i); kl != nil && d.sc.meant(kl) {
			d.focus = d.Len() + i
			break
		}
	}
	if d.focus == 0 {
		d.focus = d.Len() + kernelHead(c.lang, lines)
	}
	gutter := max(4, len(fmt.Sprint(c.from+len(lines)))+1)
	d.parts = append(d.parts, part{
		n: len(lines), code: true,
		line: func(i int) theme.Line {
			number := fmt.Sprint(c.from + i) // as in the file, and as the line above the panes says it
			mark := theme.Span{Text: theme.Fit(number, gutter) + " ", Style: theme.Faint}
			if kl := c.line(i); kl != nil && d.sc.meant(kl) {
				mark = theme.Span{Text: theme.GlyphCursor + theme.Fit(number, gutter-1) + " ", Style: theme.Accent | theme.Bold}
			}
			return append(theme.Line{mark}, d.sc.hl.Line(c.lang, lines[i])...)
		},
		text: func(i int) string { return lines[i] },
		target: func(i int) (Selection, bool) {
			s := kernelSel(k)
			if kl := c.line(i); kl != nil {
				if len(kl.Nodes) > 0 {
					s.Node = kl.Nodes[0]
				}
				if len(kl.Pos) > 0 {
					s.Pos = placeOnly(kl.Pos[0])
				}
				return s, true
			}
			return s, false
		},
	})
}

// kernelHead is the line at which a kernel begins, after the imports and the
// settings that a Triton kernel's file opens with; 0 where there are none.
func kernelHead(lang syntax.Lang, lines []string) int {
	if lang != syntax.Python {
		return 0
	}
	for i, l := range lines {
		if strings.HasPrefix(strings.TrimSpace(l), "@triton.jit") {
			return i
		}
	}
	return 0
}

// noKernelCode says why there is no code, and what is known of the kernel.
func (scr *kernelsScreen) noKernelCode(d *doc, k *explain.Kernel) {
	if scr.mode == kernelTritonMode {
		why := "calls PyTorch's operator there"
		if t := k.In(gpuLanguage); t != nil && t.Missing != "" {
			why = t.Missing
		}
		d.wrap(theme.Eager, 2, "no Triton text: "+why)
		d.blank()
	}
	kernelFacts(d, k)
}

// act goes to the comparison and back, or from kernel to kernel.
func (scr *kernelsScreen) act(sc *scene, a keys.Action) (tea.Cmd, bool) {
	switch {
	case a != keys.DiffRuns:
		return nil, scr.stepItem(sc, a)
	case scr.mode == kernelDiffMode:
		scr.mode = kernelSourceMode
	default:
		scr.mode = kernelDiffMode
	}
	return nil, true
}

// earlier is the run before, read when it is first asked for.
type earlier struct {
	of     time.Time // start of the run that it came before
	have   bool
	report *explain.Report
	name   string
	why    string // there is none
}

// before returns the run before, or false while it is read.
func (scr *kernelsScreen) before(sc *scene) (*earlier, bool) {
	e := &scr.earlier
	if !e.of.Equal(sc.run.Start) {
		*e = earlier{of: sc.run.Start}
	}
	if e.have {
		return e, true
	}
	feed, of := sc.feed, e.of
	sc.texts.later("the run before "+of.String(), func() func() {
		out := earlier{of: of, have: true}
		r, name, err := feed.Before()
		if err != nil {
			out.why = err.Error()
		}
		out.report, out.name = r, name
		return func() {
			if of.Equal(scr.earlier.of) {
				scr.earlier = out
			}
		}
	})
	return nil, false
}

// kernelDiff is a kernel beside the one that the run before had.
func (scr *kernelsScreen) kernelDiff(d *doc, k *explain.Kernel) {
	e, ok := scr.before(d.sc)
	if !ok {
		d.add(theme.T(theme.Faint, "reading the previous run …"))
		return
	}
	if e.report == nil {
		d.wrap(theme.Faint, 0, "Nothing to compare with: "+e.why+". d shows the source again.")
		return
	}
	d.add(theme.T(theme.Bold, "compared with "+e.name))
	d.blank()
	scr.kernelEdits(d, k, kernelOf(e.report, d.sc.report, k))
	if gone := kernelsGone(e.report, d.sc.report); len(gone) > 0 {
		d.heading("GONE SINCE")
		for _, name := range gone {
			d.add(theme.T(theme.Red, "- "+name))
		}
	}
}

// kernelEdits compares the sources of a kernel and of old, which may be nil.
func (scr *kernelsScreen) kernelEdits(d *doc, k, old *explain.Kernel) {
	switch {
	case old == nil:
		d.wrap(theme.Green, 0, "new: the previous run had no kernel for "+strings.Join(k.Ops, ", "))
		d.blank()
		scr.kernelSource(d, k)
		return
	case k.Load == nil || old.Load == nil:
		d.wrap(theme.Faint, 0, "An extern kernel has no source; that run called "+old.Name+" as well.")
		return
	}
	a, aok := d.sc.text("before "+kernelKey(old), old.Load)
	b, bok := d.sc.text(kernelKey(k), k.Load)
	if !aok || !bok {
		d.add(theme.T(theme.Faint, "reading …"))
		return
	}
	if a == b {
		d.add(theme.T(theme.Faint, "the same source, line by line"))
		return
	}
	d.beforeAfter(syntax.OfKernel(k.Lang), a, b)
}

// kernelOf finds in an older report the kernel that is k: of the same
// name, else of the same operators; of several the one in k's place among them.
func kernelOf(old, now *explain.Report, k *explain.Kernel) *explain.Kernel {
	for _, like := range []func(x *explain.Kernel) bool{
		func(x *explain.Kernel) bool { return x.Name == k.Name },
		func(x *explain.Kernel) bool {
			return len(k.Ops) > 0 && x.Lang == k.Lang && slices.Equal(x.Ops, k.Ops)
		},
	} {
		at := 0
		for _, x := range now.Kernels {
			if x == k {
				break
			}
			if like(x) {
				at++
			}
		}
		for _, x := range old.Kernels {
			if like(x) {
				if at == 0 {
					return x
				}
				at--
			}
		}
	}
	return nil
}

// kernelsGone are the names of kernels that only the older report has.
func kernelsGone(old, now *explain.Report) []string {
	left := map[string]int{}
	for _, k := range now.Kernels {
		left[k.Name]++
	}
	var out []string
	for _, k := range old.Kernels {
		if left[k.Name]--; left[k.Name] < 0 {
			out = append(out, k.Name)
		}
	}
	return out
}
