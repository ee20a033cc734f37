package tui

import (
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"tcdbg/explain"
	"tcdbg/tui/keys"
	"tcdbg/tui/syntax"
	"tcdbg/tui/theme"
)

// This file compares kernels with those of the last earlier run of the same
// program.

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

// kernelOf finds in an older report the kernel that stands for k: of the same
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
