package results

import (
	"fmt"
	"slices"

	"tcdbg/explain"
	"tcdbg/explain/remedy"
)

// This file is what a trial measures: counts from its trace, times from its calls.

// Measure sums up a trial. r is the report of its trace, nil where it wrote none.
func Measure(t *Trial, r *explain.Report, exit *int) *remedy.Measured {
	m := &remedy.Measured{Exit: exit, Missing: map[string]string{}}
	if r != nil {
		counts(m, r)
	} else {
		for _, name := range []string{"breaks", "recompiles", "graphs", "failures", "eager_functions", "compile_seconds"} {
			m.Missing[name] = "the program wrote no trace"
		}
	}
	times(m, t)
	memory(m, t)
	if exit == nil {
		m.Missing["exit"] = "the program did not end by itself"
	}
	return m
}

func counts(m *remedy.Measured, r *explain.Report) {
	eager := 0
	for _, fr := range r.Frames {
		if fr.Status == explain.Skipped || fr.Status == explain.Failed || fr.Status == explain.Limit {
			eager++
			if fr.Parent == nil {
				m.Whole = append(m.Whole, fr.Name)
			}
		}
	}
	n := r.Totals
	m.Breaks, m.Recompiles, m.Graphs, m.Failures, m.Eager = &n.DistinctBreaks, &n.Recompiles, &n.Graphs, &n.Failures, &eager
	m.CompileSeconds = &n.CompileSeconds
	if n.Compiles > 0 && n.CompileSeconds == 0 {
		m.CompileSeconds = nil
		m.Missing["compile_seconds"] = "the trace has no times"
	}
}

// times takes the median of the steady calls: those after the last one in which something
// was compiled, of every process.
func times(m *remedy.Measured, t *Trial) {
	var steady []float64
	calls := 0
	for _, p := range t.Processes {
		last := -1
		for i, c := range p.Calls {
			if c.Compiled {
				last = i
			}
		}
		calls += len(p.Calls)
		for _, c := range p.Calls[last+1:] {
			if c.Raised == "" {
				steady = append(steady, float64(c.Nanos)/1e6)
			}
		}
	}
	m.Calls, m.Steady = &calls, len(steady)
	if len(steady) == 0 {
		m.Missing["call_ms"] = "no call came after the last compile"
		if calls == 0 {
			m.Missing["call_ms"] = "no compiled function was called"
		}
		return
	}
	slices.Sort(steady)
	at := func(share float64) *float64 {
		v := steady[min(int(share*float64(len(steady))), len(steady)-1)]
		return &v
	}
	m.LowMS, m.CallMS, m.HighMS, m.LeastMS = at(0.25), at(0.5), at(0.75), at(0)
}

func memory(m *remedy.Measured, t *Trial) {
	var rss, cuda int64
	for _, p := range t.Processes {
		if p.End == nil {
			rss = 0
			break
		}
		rss = max(rss, p.End.PeakRSS)
		cuda = max(cuda, p.End.PeakCUDA)
		m.Cut = m.Cut || p.End.Cut
	}
	if rss > 0 {
		m.PeakRSS = &rss
	} else {
		m.Missing["peak_rss_bytes"] = "the program did not come to the end where it is read, or the system does not say"
	}
	if cuda > 0 {
		m.PeakCUDA = &cuda
	}
}

// Took tells which switches took no effect, "" for none.
func (t *Trial) Took(switches []remedy.Switch) string {
	for _, s := range switches {
		found := false
		for _, p := range t.Processes {
			found = found || p.End != nil && slices.Contains(p.End.Applied, s.String())
		}
		if !found {
			for _, p := range t.Processes {
				if p.End != nil && len(p.End.Problems) > 0 {
					return p.End.Problems[0]
				}
			}
			return fmt.Sprintf("%s took no effect in this program", s)
		}
	}
	return ""
}
