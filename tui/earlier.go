package tui

import (
	"slices"
	"strings"
	"time"

	"tcdbg/explain"
	"tcdbg/tui/keys"
	"tcdbg/tui/syntax"
	"tcdbg/tui/theme"
)

// This file compares kernels with those of the last earlier run of the same
// program.

// kernelsAct goes to the comparison and back, or from kernel to kernel.
func kernelsAct(m *Model, a keys.Action) bool {
	if a != keys.DiffRuns {
		return stepItem(m, a)
	}
	p := m.pane(keys.Kernels)
	if p.mode == kernelDiffMode {
		p.mode = kernelSourceMode
	} else {
		p.mode = kernelDiffMode
	}
	return true
}

// earlier is the run before, read when it is first asked for.
type earlier struct {
	of     time.Time // start of the run that it came before
	asked  bool
	have   bool
	report *explain.Report
	name   string
	why    string // there is none
}

type earlierMsg struct{ earlier }

// before returns the run before, or false while it is read.
func (m *Model) before() (*earlier, bool) {
	e := &m.earlier
	if !e.of.Equal(m.run.Start) {
		*e = earlier{of: m.run.Start}
	}
	if e.have {
		return e, true
	}
	m.texts.missed = true
	if !e.asked {
		e.asked = true
		feed, of := m.feed, e.of
		m.texts.jobs = append(m.texts.jobs, func() any {
			out := earlier{of: of, asked: true, have: true}
			r, name, err := feed.Before()
			if err != nil {
				out.why = err.Error()
			}
			out.report, out.name = r, name
			return earlierMsg{out}
		})
	}
	return nil, false
}

func (m *Model) takeEarlier(msg earlierMsg) {
	if msg.of.Equal(m.earlier.of) {
		m.earlier = msg.earlier
		m.texts.gen++
	}
}

// kernelDiff is a kernel beside the one that the run before had.
func (m *Model) kernelDiff(d *doc, k *explain.Kernel) {
	e, ok := m.before()
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
	m.kernelEdits(d, k, kernelOf(e.report, m.report, k))
	if gone := kernelsGone(e.report, m.report); len(gone) > 0 {
		d.heading("GONE SINCE")
		for _, name := range gone {
			d.add(theme.T(theme.Red, "- "+name))
		}
	}
}

// kernelEdits compares the sources of a kernel and of old, which may be nil.
func (m *Model) kernelEdits(d *doc, k, old *explain.Kernel) {
	switch {
	case old == nil:
		d.wrap(theme.Green, 0, "new: the previous run had no kernel for "+strings.Join(k.Ops, ", "))
		d.blank()
		m.kernelSource(d, k)
		return
	case k.Load == nil || old.Load == nil:
		d.wrap(theme.Faint, 0, "An extern kernel has no source; that run called "+old.Name+" as well.")
		return
	}
	a, aok := m.text("before "+kernelKey(old), old.Load)
	b, bok := m.text(kernelKey(k), k.Load)
	if !aok || !bok {
		d.add(theme.T(theme.Faint, "reading …"))
		return
	}
	if a == b {
		d.add(theme.T(theme.Faint, "the same source, line by line"))
		return
	}
	m.beforeAfter(d, syntax.OfKernel(k.Lang), a, b)
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
