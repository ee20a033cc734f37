package tui

import (
	"fmt"
	"strings"

	"tcdbg/explain"
	"tcdbg/logs"
	"tcdbg/tui/syntax"
	"tcdbg/tui/theme"
)

// This file shows the code of one kernel: what was compiled, or the same loops as
// Triton.

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
