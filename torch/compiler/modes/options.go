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
	AllBlocked           bool // every region that can lies in blocks of channels
	NoPatterns           bool // graphs are not rewritten by patterns
	NoInPlace            bool // results never lie where an argument lies
	NoReuse              bool // no two buffers share memory
	MaxFusionSize        int  // 0: the default
	CUDAGraphs           bool
	Trace                bool // the debug folder is written
	Debug                bool // the logs of a compile go to standard error
	MaxAutotune          bool // candidates are timed
	TuneProducts         bool // of products
	TunePointwise        bool // of all other kernels
	CoordinateDescent    bool // and the neighbours of those that won
	ForgetTuning         bool // choices are not kept on disk
	Freezing             bool // what is made of parameters is made once
	NaNAsserts           bool // arguments and results are searched for NaN and infinities
	NoCodeCache          bool // compiled code is neither taken from the cache nor kept
	NoCaches             bool // nor are choices, whatever else is said of them
	Threads              int  // of kernels; 0: all
	SIMDBits             int  // of vectors; 0: the processor's
	CompileThreads       int  // 0: as many as there are cores
	Contract             string
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
	// get is the value now.
	get func(o *Options) any
	// instead says, of a fixed one, why.
	instead string
}

// optionTable lists the options that switch something, then those of which one value is what is always done.
var optionTable = []optionRow{
	off("allow_buffer_reuse", func(o *Options) *bool { return &o.NoReuse }),
	off("autotune_local_cache", func(o *Options) *bool { return &o.ForgetTuning }),
	count("compile_threads", 0, 1, func(o *Options) *int { return &o.CompileThreads }),
	on("coordinate_descent_tuning", func(o *Options) *bool { return &o.CoordinateDescent }),
	word("cpp.enable_floating_point_contract_flag", func(o *Options) *string { return &o.Contract }, "off", "on", "fast"),
	{name: "cpp.simdlen", def: 0, set: setSIMD, get: func(o *Options) any { return o.SIMDBits }},
	count("cpp.threads", -1, 1, func(o *Options) *int { return &o.Threads }),
	on("debug", func(o *Options) *bool { return &o.Debug }),
	off("epilogue_fusion", func(o *Options) *bool { return &o.NoEpilogueFusion }),
	on("force_disable_caches", func(o *Options) *bool { return &o.NoCaches }),
	on("force_layout_optimization", func(o *Options) *bool { return &o.AllBlocked }),
	on("freezing", func(o *Options) *bool { return &o.Freezing }),
	off("fx_graph_cache", func(o *Options) *bool { return &o.NoCodeCache }),
	off("inplace_buffers", func(o *Options) *bool { return &o.NoInPlace }),
	off("layout_optimization", func(o *Options) *bool { return &o.NoLayoutOptimization }),
	on("max_autotune", func(o *Options) *bool { return &o.MaxAutotune }),
	on("max_autotune_gemm", func(o *Options) *bool { return &o.TuneProducts }),
	on("max_autotune_pointwise", func(o *Options) *bool { return &o.TunePointwise }),
	count("max_fusion_size", DefaultMaxFusion, 1, func(o *Options) *int { return &o.MaxFusionSize }),
	on("nan_asserts", func(o *Options) *bool { return &o.NaNAsserts }),
	off("pattern_matcher", func(o *Options) *bool { return &o.NoPatterns }),
	on("trace.enabled", func(o *Options) *bool { return &o.Trace }),
	on("triton.cudagraphs", func(o *Options) *bool { return &o.CUDAGraphs }),

	{name: "comment_origin", def: true, instead: "kernels always say which operators and lines they come from"},
	{name: "cpp.enable_unsafe_math_opt_flag", def: false, instead: "functions of vectors round by steps that such a compiler takes out"},
	{name: "loop_ordering_after_fusion", def: true, instead: "loops are always ordered when they are fused"},
	{name: "memory_planning", def: true, instead: "memory is always planned; allow_buffer_reuse says whether buffers share it"},
	{name: "shape_padding", def: true, instead: "what products pack is always padded to whole tiles"},
	{name: "size_asserts", def: true, instead: "guards always test sizes and strides"},
	{name: "triton.unique_kernel_names", def: true, instead: "every kernel of a graph has a name of its own"},
	{name: "use_dce", def: true, instead: "values that nobody reads are always dropped"},
}

// on is an option that is off by default.
func on(name string, field func(*Options) *bool) optionRow { return flag(name, false, field) }

// off is an option that is on by default; the field says that it is off.
func off(name string, field func(*Options) *bool) optionRow { return flag(name, true, field) }

func flag(name string, def bool, field func(*Options) *bool) optionRow {
	return optionRow{
		name: name, def: def, get: func(o *Options) any { return *field(o) != def },
		set: func(o *Options, v any) error {
			on, ok := v.(bool)
			if !ok {
				return fmt.Errorf("got %T, should be bool", v)
			}
			*field(o) = on != def
			return nil
		},
	}
}

// count is a number that is at least least, or def, for which the field holds 0.
func count(name string, def, least int, field func(*Options) *int) optionRow {
	return optionRow{
		name: name, def: def,
		get: func(o *Options) any {
			if *field(o) == 0 {
				return def
			}
			return *field(o)
		},
		set: func(o *Options, v any) error {
			n, ok := v.(int)
			switch {
			case !ok:
				return fmt.Errorf("got %T, should be int", v)
			case n == def && def < least:
				n = 0
			case n < least:
				return fmt.Errorf("%d is below %d", n, least)
			}
			*field(o) = n
			return nil
		},
	}
}

// word is one of several words, of which the first is the default.
func word(name string, field func(*Options) *string, words ...string) optionRow {
	return optionRow{
		name: name, def: words[0],
		get: func(o *Options) any {
			if *field(o) == "" {
				return words[0]
			}
			return *field(o)
		},
		set: func(o *Options, v any) error {
			s, ok := v.(string)
			switch {
			case !ok:
				return fmt.Errorf("got %T, should be string", v)
			case !slices.Contains(words, s):
				return fmt.Errorf("%q is none of %s", s, quoted(words))
			case s == words[0]:
				s = ""
			}
			*field(o) = s
			return nil
		},
	}
}

// vectorBits are the sizes of vectors that kernels can be written for.
var vectorBits = []int{128, 256, 512}

func setSIMD(o *Options, v any) error {
	n, ok := v.(int)
	switch {
	case !ok && v != nil:
		return fmt.Errorf("got %T, should be int", v)
	case n != 0 && !slices.Contains(vectorBits, n):
		return fmt.Errorf("%d is no size of vectors: they have 128, 256 or 512 bits", n)
	}
	o.SIMDBits = n
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
		if i < 0 && elsewhere(name) {
			return o, fmt.Errorf("optimization option %q is Inductor's, but %s; leave it out", key, whyNot(name))
		}
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

// CachesCode reports whether compiled code is taken from the cache and kept.
func (o Options) CachesCode() bool { return !o.NoCodeCache && !o.NoCaches }

// KeepsTuning reports whether choices that were timed are read from disk and kept.
func (o Options) KeepsTuning() bool { return !o.ForgetTuning && !o.NoCaches }

// Asked are the options as a program writes them, without those at their defaults.
func (o Options) Asked() map[string]any {
	out := map[string]any{}
	for _, r := range optionTable {
		if r.get == nil {
			continue
		}
		if v := r.get(&o); v != r.def {
			out[r.name] = v
		}
	}
	return out
}

// Tunes reports whether candidates of anything are timed.
func (o Options) Tunes() bool {
	return o.MaxAutotune || o.TuneProducts || o.TunePointwise || o.CoordinateDescent
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
