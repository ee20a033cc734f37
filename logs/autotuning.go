package logs

import (
	"fmt"
	"strings"
)

// This file is what was chosen by timing, and how PyTorch prints such tables.

// Autotuning is what a backend chose for one compiled graph by timing candidates.
type Autotuning struct {
	Graph   string  `json:"graph"`
	Seconds float64 `json:"seconds"` // that the search took, building included
	Build   float64 `json:"build_seconds"`
	Threads int     `json:"threads"`
	Cached  bool    `json:"cached,omitempty"` // the choices were on disk, and nothing was timed now
	Ended   string  `json:"ended,omitempty"`  // why the search ended before its end
	// Default and Chosen are the least nanoseconds of a whole call, as cost models have it and with what was chosen,
	// timed in turns; Kept says that the default stays, since it was not slower beyond noise.
	Default int64    `json:"default_ns"`
	Chosen  int64    `json:"chosen_ns"`
	Kept    bool     `json:"default_kept,omitempty"`
	Tables  []Tuning `json:"tables"`
}

// Tuning is the candidates of one choice.
type Tuning struct {
	Kernels []string   `json:"kernels,omitempty"` // that it is made for; none: the whole graph
	Op      string     `json:"op"`                // convolution, mm, bmm, graph, or a kernel's operators
	Shapes  []string   `json:"shapes,omitempty"`
	What    string     `json:"what"` // layout, form, threads, tiles, ...
	Tried   []TunedWay `json:"tried"`
	Chosen  string     `json:"chosen"`
	Was     string     `json:"was"` // what there was before
}

// TunedWay is one candidate.
type TunedWay struct {
	Name  string `json:"name"`
	Nanos int64  `json:"ns"` // the least of a call, of all kernels together; 0: it could not be timed
	Wrong string `json:"wrong,omitempty"`
}

func (Autotuning) ArtifactName() (string, int) { return "tcdbg_autotuning", 1 }

// Changed reports whether something other than the default was chosen.
func (t *Tuning) Changed() bool { return t.Chosen != t.Was }

// Saved is by how many nanoseconds the chosen way is faster than what there was.
func (t *Tuning) Saved() int64 {
	chosen, was := int64(0), int64(0)
	for _, w := range t.Tried {
		switch w.Name {
		case t.Chosen:
			chosen = w.Nanos
		case t.Was:
			was = w.Nanos
		}
	}
	if chosen == 0 || was == 0 {
		return 0
	}
	return was - chosen
}

// Title is what a choice is made for: convolution(2x64x16x16, 64x64x3x3).
func (t *Tuning) Title() string {
	if len(t.Shapes) == 0 {
		return t.Op + "()"
	}
	return t.Op + "(" + strings.Join(t.Shapes, ", ") + ")"
}

// Text is the table as PyTorch prints it, with the kernels that it is made for.
func (t *Tuning) Text() string {
	var sb strings.Builder
	fmt.Fprintf(&sb, "AUTOTUNE %s\n", t.Title())
	if len(t.Kernels) > 0 {
		fmt.Fprintf(&sb, "kernels: %s\n", strings.Join(t.Kernels, ", "))
	}
	best := int64(0)
	for _, w := range t.Tried {
		if w.Nanos == 0 {
			fmt.Fprintf(&sb, "  %s: not timed: %s\n", w.Name, firstLine(w.Wrong))
			continue
		}
		if best == 0 {
			best = w.Nanos
		}
		fmt.Fprintf(&sb, "  %s %.4f ms %.1f%%%s\n", w.Name, float64(w.Nanos)/1e6, 100*float64(best)/float64(w.Nanos), t.mark(w))
	}
	return sb.String()
}

func (t *Tuning) mark(w TunedWay) string {
	if w.Name == t.Chosen {
		return " ← chosen"
	}
	return ""
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// Text is all tables, and what became of them.
func (a *Autotuning) Text() string {
	var sb strings.Builder
	tried := 0
	for i := range a.Tables {
		sb.WriteString(a.Tables[i].Text())
		tried += len(a.Tables[i].Tried)
	}
	fmt.Fprintf(&sb, "SingleProcess AUTOTUNE benchmarking takes %.4f seconds and %.4f seconds precompiling for %d choices\n",
		a.Seconds-a.Build, a.Build, tried)
	sb.WriteString(a.Summary())
	return sb.String()
}

// Summary says in a line what a search came to.
func (a *Autotuning) Summary() string {
	tried := 0
	for _, t := range a.Tables {
		tried += len(t.Tried)
	}
	out := fmt.Sprintf("%d candidates in %.1f s, of which building took %.1f s: ", tried, a.Seconds, a.Build)
	if a.Cached {
		out = "chosen earlier, nothing was timed now: "
	}
	ms := func(ns int64) float64 { return float64(ns) / 1e6 }
	if a.Kept {
		return out + fmt.Sprintf("a call takes %.4g ms by default, and nothing was faster beyond noise", ms(a.Default))
	}
	return out + fmt.Sprintf("a call takes %.4g ms where it took %.4g", ms(a.Chosen), ms(a.Default))
}
