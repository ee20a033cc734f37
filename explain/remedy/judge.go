package remedy

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// This file decides when a remedy is proven, in one place:
//
//   - the trial ended by itself, with the exit code of the baseline,
//   - its results are equal to the baseline's: what the outermost calls of compiled
//     functions returned, within the tolerance of each dtype, and standard output,
//   - at least one of breaks, recompiles, graphs and the time of a steady call is better,
//   - none of breaks, recompiles and failures is worse, and no function more is left to
//     eager execution, where there is nothing to break; nor a whole one of which it was a part.
//
// Where a program's own results differ from run to run, nothing can be said of them; that
// is found by a second run of the baseline, and no remedy is proven then. Nor can where numbers differ
// after others that a program keeps differed by no more than rounding: Comparison.Grown.

// Measured is what one trial measured. A nil field was not measured; Missing says why.
type Measured struct {
	Breaks     *int `json:"breaks"`
	Recompiles *int `json:"recompiles"`
	Graphs     *int `json:"graphs"`
	Failures   *int `json:"failures"`
	// Eager counts the functions that were left to eager execution.
	Eager *int `json:"eager_functions"`
	// Whole names those of them that are whole functions, and not the rest of one after a break.
	Whole          []string `json:"eager_whole,omitempty"`
	CompileSeconds *float64 `json:"compile_seconds"`
	// CallMS is the median of the steady calls: outermost calls after the last compile.
	CallMS  *float64 `json:"call_ms"`
	LowMS   *float64 `json:"call_ms_low"`             // their lower quartile
	HighMS  *float64 `json:"call_ms_high"`            // and the upper one
	LeastMS *float64 `json:"call_ms_least,omitempty"` // the quickest of them, of a baseline that ran twice of both runs
	Steady  int      `json:"steady_calls"`
	Calls   *int     `json:"calls"`
	PeakRSS *int64   `json:"peak_rss_bytes"`
	// PeakCUDA is nil where no CUDA memory was used.
	PeakCUDA *int64            `json:"peak_cuda_bytes,omitempty"`
	Exit     *int              `json:"exit"`
	Cut      bool              `json:"cut,omitempty"` // ended after as many calls as were asked for
	Missing  map[string]string `json:"missing,omitempty"`
}

// Comparison is how the results of a trial differ from the baseline's.
type Comparison struct {
	Equal bool `json:"equal"`
	// First is the first difference, in words; "" for none.
	First string `json:"first,omitempty"`
	// Values and Calls count what was compared.
	Calls  int   `json:"calls"`
	Values int64 `json:"values"`
	// Written and Gradients count tensors that calls wrote, and gradients, that were compared.
	Written   int64 `json:"written"`
	Gradients int64 `json:"gradients"`
	// Grown says that First comes after values that differ by no more than rounding. A program that
	// trains makes such differences larger, so that First may be rounding, too.
	Grown bool `json:"grown,omitempty"`
	// OnlyErrors says that nothing but standard error differs.
	OnlyErrors bool `json:"only_stderr,omitempty"`
	// Limits says what was not compared.
	Limits []string `json:"limits,omitempty"`
	// Fewer counts the lines that the trial did not print, of a remedy that says so.
	Fewer int `json:"fewer_lines,omitempty"`
}

// What lists what was compared.
func (c *Comparison) What() string {
	return fmt.Sprintf("%d values of %d calls, %d tensors that calls wrote, %d gradients, standard output and standard error",
		c.Values, c.Calls, c.Written, c.Gradients)
}

// Verdict is what a trial says of its remedy.
type Verdict struct {
	Proven bool     `json:"proven"`
	Better []string `json:"better,omitempty"` // "1 break fewer"
	Why    string   `json:"why"`              // in one sentence
}

// minSteady is how many steady calls both runs need for their times to be compared, minGain
// which share a call must be faster to be called so, and minGainMS by how much the quickest one: on a machine
// at work the quickest of a few short calls differ by less.
const (
	minSteady = 5
	minGain   = 0.10
	minGainMS = 0.02
)

// Judge says whether a trial proves its remedy.
func Judge(base, m *Measured, c *Comparison) Verdict {
	switch {
	case m.Exit == nil:
		return Verdict{Why: "the program did not end by itself"}
	case base.Exit == nil:
		return Verdict{Why: "the baseline did not end by itself"}
	case *m.Exit == 0 && *base.Exit != 0:
		return Verdict{Why: fmt.Sprintf("there is nothing to compare: the program ends with %d as it is. With the remedy it ends with 0, "+
			"so what fails is in what the remedy changes", *base.Exit)}
	case *m.Exit != *base.Exit:
		return Verdict{Why: fmt.Sprintf("the program ends with %d, and without the remedy with %d", *m.Exit, *base.Exit)}
	case c == nil:
		return Verdict{Why: "the results could not be compared"}
	case c.Grown && strings.HasPrefix(c.First, "line "): // of what is printed it is not known when
		return Verdict{Why: "nothing can be said: " + c.First +
			"; what calls compute differs by no more than rounding, which a program that trains makes larger"}
	case c.Grown:
		return Verdict{Why: "nothing can be said: " + c.First +
			"; before that, results differ by no more than rounding, which a program that trains makes larger"}
	case !c.Equal:
		return Verdict{Why: "the results differ: " + c.First}
	case c.Calls == 0 && c.Values == 0 && !onlyOutput(c):
		return Verdict{Why: "there was no result to compare"}
	}
	var v Verdict
	counts := []struct {
		name      string
		was, is   *int
		mustNot   bool
		one, many string
	}{
		{"breaks", base.Breaks, m.Breaks, true, "1 break %s", "%d breaks %s"},
		{"recompiles", base.Recompiles, m.Recompiles, true, "1 recompile %s", "%d recompiles %s"},
		{"failures", base.Failures, m.Failures, true, "1 failure %s", "%d failures %s"},
		{
			"functions left to eager execution", base.Eager, m.Eager, true, "1 function %s left to eager execution",
			"%d functions %s left to eager execution",
		},
		{"graphs", base.Graphs, m.Graphs, false, "1 graph %s", "%d graphs %s"},
	}
	worse := ""
	for _, n := range counts {
		switch {
		case n.was == nil || n.is == nil:
			if n.mustNot {
				return Verdict{Why: n.name + " were not measured"}
			}
		case *n.is > *n.was && n.mustNot && worse == "":
			worse = changed(*n.is-*n.was, "more", n.one, n.many)
		case *n.is < *n.was:
			v.Better = append(v.Better, changed(*n.was-*n.is, "fewer", n.one, n.many))
		}
	}
	switch {
	case worse != "" && len(v.Better) > 0 && *m.Eager <= *base.Eager: // a higher limit compiles what was left eager, by more recompiles
		return Verdict{Why: worse + ", though " + strings.Join(v.Better, ", ")}
	case worse != "":
		return Verdict{Why: worse}
	}
	if name := leftMore(base.Whole, m.Whole); name != "" {
		return Verdict{Why: name + " is left to eager execution as a whole, which it is not without the remedy"}
	}
	if m.Graphs != nil && base.Graphs != nil && *m.Graphs == 0 && *base.Graphs > 0 {
		return Verdict{Why: "nothing is compiled any more"}
	}
	if s := faster(base, m); s != "" {
		v.Better = append(v.Better, s)
	}
	if len(v.Better) == 0 {
		v.Why = "nothing is better: as many breaks, recompiles and graphs, and calls are not measurably faster"
		return v
	}
	v.Proven = true
	v.Why = strings.Join(v.Better, ", ") + "; same results"
	if faster(m, base) != "" {
		v.Why += fmt.Sprintf(", but a call takes %.0f %% more", 100*(*m.CallMS / *base.CallMS - 1))
	}
	if c.Fewer > 0 {
		v.Why += ", but for " + counted(c.Fewer, "printed line", "printed lines") + " that compiled calls leave out"
	}
	return v
}

// onlyOutput says that standard output was compared, of a program with no calls to compare.
func onlyOutput(c *Comparison) bool { return !slices.Contains(c.Limits, NoOutput) }

// NoOutput is the limit of a comparison that has nothing printed to compare either.
const NoOutput = "the program prints nothing"

// leftMore is a function that a trial leaves to eager execution as a whole and the baseline does not; "" for none.
// Where more of a program runs eagerly it has fewer breaks, and nothing is gained.
func leftMore(base, m []string) string {
	left := slices.Clone(base)
	for _, name := range m {
		i := slices.Index(left, name)
		if i < 0 {
			return name
		}
		left = slices.Delete(left, i, i+1)
	}
	return ""
}

// Faster says whether a trial's calls are measurably faster.
func Faster(base, m *Measured) bool { return faster(base, m) != "" }

// Quicker is a measured baseline with the times of another run of it where these are shorter: what
// else the machine did meanwhile makes calls slower, and never faster.
func (m *Measured) Quicker(again *Measured) *Measured {
	if m.CallMS == nil || again.CallMS == nil || again.Steady < minSteady {
		return m
	}
	out := *m
	if *again.CallMS < *m.CallMS {
		out.CallMS, out.LowMS, out.HighMS, out.Steady = again.CallMS, again.LowMS, again.HighMS, again.Steady
	}
	if m.LeastMS != nil && again.LeastMS != nil {
		least := min(*m.LeastMS, *again.LeastMS)
		out.LeastMS = &least
	}
	return &out
}

// faster says by how much steady calls are faster, where that is certain: by a tenth at
// least, the quickest one, too, which has to gain more than calls differ by anyway, and three in four of them below three in four of
// the baseline's.
func faster(base, m *Measured) string {
	if base.CallMS == nil || m.CallMS == nil || base.Steady < minSteady || m.Steady < minSteady || *base.CallMS <= 0 {
		return ""
	}
	gain := 1 - *m.CallMS / *base.CallMS
	if gain < minGain || *m.HighMS >= *base.LowMS {
		return ""
	}
	// What else the machine did adds to most calls, and seldom to all.
	if m.LeastMS != nil && base.LeastMS != nil && *m.LeastMS > min((1-minGain)**base.LeastMS, *base.LeastMS-minGainMS) {
		return ""
	}
	if gain > 0.99 {
		return "a call takes more than 99 % less"
	}
	return fmt.Sprintf("a call takes %.0f %% less", 100*gain)
}

// changed is how much more or fewer there is; many has a place for the number, and both for the word.
func changed(n int, word, one, many string) string {
	if n == 1 {
		return fmt.Sprintf(one, word)
	}
	return fmt.Sprintf(many, n, word)
}

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Gain orders proven trials: breaks and recompiles that are gone, then graphs, then the
// share of a call's time.
func Gain(base, m *Measured) [3]float64 {
	diff := func(a, b *int) float64 {
		if a == nil || b == nil {
			return 0
		}
		return float64(*a - *b)
	}
	var g [3]float64
	g[0] = diff(base.Breaks, m.Breaks) + diff(base.Recompiles, m.Recompiles)
	g[1] = diff(base.Graphs, m.Graphs)
	if faster(base, m) != "" {
		g[2] = 1 - *m.CallMS / *base.CallMS
	}
	return g
}

// Tolerance is how far two numbers of a dtype may be apart to count as equal: the share of
// the larger one, or of the typical size of the tensor, whichever allows more. A graph that
// is cut or fused otherwise adds in another order, and training carries that along.
func Tolerance(dtype string) float64 {
	switch dtype {
	case "float64", "complex128":
		return 1e-7
	case "float32", "complex64":
		return 1e-4
	case "float16":
		return 1e-2
	case "bfloat16":
		return 4e-2
	}
	if strings.HasPrefix(dtype, "float8") {
		return 0.25
	}
	return 0
}

// Near says whether two numbers are equal within a tolerance; scale is the typical size of
// what they are part of.
func Near(a, b, tolerance, scale float64) bool {
	if a == b || math.IsNaN(a) && math.IsNaN(b) {
		return true
	}
	if math.IsInf(a, 0) || math.IsInf(b, 0) || math.IsNaN(a) || math.IsNaN(b) {
		return false
	}
	return math.Abs(a-b) <= tolerance*max(math.Abs(a), math.Abs(b), scale)
}

// Adds says whether a set of remedies is better than the set without the last one: no count
// is worse, and one is better or a call is faster.
func Adds(without, with *Measured) bool {
	better := faster(without, with) != ""
	for _, n := range [][2]*int{
		{without.Breaks, with.Breaks}, {without.Recompiles, with.Recompiles}, {without.Graphs, with.Graphs}, {without.Eager, with.Eager},
	} {
		switch {
		case n[0] == nil || n[1] == nil:
		case *n[1] > *n[0]:
			return false
		case *n[1] < *n[0]:
			better = true
		}
	}
	return better
}
