package modes

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// This file is the table of the options that torch.Compile takes of Inductor's
// (kw.Options), under the names that torch._inductor.config gives them.

// Options are Inductor's options as they were asked for. The zero value is the default.
type Options struct {
	NoEpilogueFusion     bool
	NoLayoutOptimization bool
	MaxFusionSize        int // 0: the default
	CUDAGraphs           bool
	Trace                bool // the debug folder is written
	MaxAutotune          bool // candidates are timed
	CoordinateDescent    bool // and the neighbours of those that won
}

// What is said of options that do not go together.
const (
	Both      = "either mode or options can be specified, but both can't be specified at the same time"
	NotCustom = "options are Inductor's: a backend of the program's own takes none"
)

// DefaultMaxFusion is how many nodes a kernel has at most.
const DefaultMaxFusion = 64

// optionRow is an option: fixed ones are taken with their default only.
type optionRow struct {
	name string
	def  any
	set  func(o *Options, v any) error
	// instead says, of a fixed one, why, and what to use.
	instead string
}

var optionTable = []optionRow{
	{name: "coordinate_descent_tuning", def: false, set: flag(func(o *Options, v bool) { o.CoordinateDescent = v })},
	{name: "epilogue_fusion", def: true, set: flag(func(o *Options, v bool) { o.NoEpilogueFusion = !v })},
	{name: "layout_optimization", def: true, set: flag(func(o *Options, v bool) { o.NoLayoutOptimization = !v })},
	{name: "max_autotune", def: false, set: flag(func(o *Options, v bool) { o.MaxAutotune = v })},
	{name: "max_fusion_size", def: DefaultMaxFusion, set: setMaxFusion},
	{name: "trace.enabled", def: false, set: flag(func(o *Options, v bool) { o.Trace = v })},
	{name: "triton.cudagraphs", def: false, set: flag(func(o *Options, v bool) { o.CUDAGraphs = v })},

	{name: "max_autotune_gemm", def: false, instead: wholeGraphs},
	{name: "max_autotune_pointwise", def: false, instead: wholeGraphs},
	{name: "freezing", def: false, instead: "weights stay inputs, whose packed copies are kept between calls; leave the option out"},
	{name: "shape_padding", def: false, instead: "products of odd sizes run unpadded; leave the option out"},
}

// wholeGraphs is said of what would time some kernels alone.
const wholeGraphs = "kernels are chosen for a graph as a whole; use max_autotune"

// flag sets an option that is on or off.
func flag(set func(o *Options, v bool)) func(*Options, any) error {
	return func(o *Options, v any) error {
		on, ok := v.(bool)
		if !ok {
			return fmt.Errorf("got %T, should be bool", v)
		}
		set(o, on)
		return nil
	}
}

func setMaxFusion(o *Options, v any) error {
	n, ok := v.(int)
	switch {
	case !ok:
		return fmt.Errorf("got %T, should be int", v)
	case n < 1:
		return fmt.Errorf("%d is below 1", n)
	}
	o.MaxFusionSize = n
	return nil
}

// ListOptions lists the options that have an effect.
func ListOptions() []string {
	var out []string
	for _, r := range optionTable {
		if r.set != nil {
			out = append(out, r.name)
		}
	}
	return out
}

// ParseOptions reads what kw.Options was given. Errors are the same for the same
// map, whatever its order.
func ParseOptions(value any) (o Options, err error) {
	given, ok := value.(map[string]any)
	if !ok {
		return o, fmt.Errorf("option options: want a map[string]any, got %T", value)
	}
	for _, key := range slices.Sorted(maps.Keys(given)) {
		name, v := strings.ReplaceAll(key, "-", "_"), given[key]
		i := slices.IndexFunc(optionTable, func(r optionRow) bool { return r.name == name })
		if i < 0 {
			return o, fmt.Errorf("unexpected optimization option %q%s known options are %s", key, nearest(name, optionNames()),
				strings.Join(ListOptions(), ", "))
		}
		switch r := &optionTable[i]; {
		case r.set != nil:
			if err := r.set(&o, v); err != nil {
				return o, fmt.Errorf("optimization option %q: %w", key, err)
			}
		case v != r.def:
			return o, fmt.Errorf("optimization option %q is not supported with %v: %s", key, v, r.instead)
		}
	}
	return o, nil
}

// ModeOptions are the options that a mode sets.
func ModeOptions(mode string) (map[string]any, error) {
	switch mode {
	case "", Default:
		return map[string]any{}, nil
	case ReduceOverhead:
		return map[string]any{"triton.cudagraphs": true}, nil
	case MaxAutotune:
		return map[string]any{"coordinate_descent_tuning": true, "max_autotune": true, "triton.cudagraphs": true}, nil
	case MaxAutotuneNoCUDAGraphs:
		return map[string]any{"coordinate_descent_tuning": true, "max_autotune": true}, nil
	}
	return nil, unknownMode(mode)
}

// Tuned are options with those that a mode sets of what is chosen by timing.
func (o Options) Tuned(mode string) Options {
	if mode == MaxAutotune || mode == MaxAutotuneNoCUDAGraphs {
		o.MaxAutotune, o.CoordinateDescent = true, true
	}
	return o
}

func optionNames() []string {
	var out []string
	for _, r := range optionTable {
		out = append(out, r.name)
	}
	return out
}

// nearest names what is spelt most like name, where one is near, and ends the phrase.
func nearest(name string, among []string) string {
	best, at := len(name)/3+2, ""
	for _, other := range among {
		if d := distance(name, other); d < best {
			best, at = d, other
		}
	}
	if at == "" {
		return ";"
	}
	return fmt.Sprintf(", did you mean %q?", at)
}

// distance is how many letters have to be put in, taken out or replaced.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
