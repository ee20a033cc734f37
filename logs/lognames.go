package logs

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
)

// This file is the table of names that TORCH_LOGS and TCDBG_LOGS know, and the
// reader of that syntax. Help is generated from it.

// logName is one row.
type logName struct {
	name   string
	parent string // log that turns it on at DEBUG; "" for a log itself
	off    bool   // only on when named
	help   string
}

// logTable: logs first, then artifacts. Rows without help of ours are names
// that PyTorch knows and our engine has nothing to print for; they are
// accepted, so that a setting made for PyTorch works unchanged.
var logTable = []logName{
	{"dynamo", "", false, "tracing: breaks, recompiles, guards, graphs, single steps at DEBUG"},
	{"aot", "", false, "AOTAutograd's graphs at DEBUG"},
	{"inductor", "", false, "fusion, schedule and generated code at DEBUG"},
	{"dynamic", "", false, "symbolic sizes"},
	{"torch", "", false, "everything"},
	{"async_compile", "", false, ""},
	{"autograd", "", false, ""},
	{"c10d", "", false, ""},
	{"cache", "", false, ""},
	{"ddp", "", false, ""},
	{"distributed", "", false, ""},
	{"dtensor", "", false, ""},
	{"export", "", false, ""},
	{"fake_tensor", "", false, ""},
	{"flex_gemm", "", false, ""},
	{"fsdp", "", false, ""},
	{"native_dsl", "", false, ""},
	{"onnx", "", false, ""},
	{"pp", "", false, ""},

	{"graph_breaks", "dynamo", false, "each graph break with its reason and the user's stack"},
	{"recompiles", "dynamo", false, "why a function was recompiled: the first failing guard of each entry"},
	{"recompiles_verbose", "dynamo", true, "why a function was recompiled: all failing guards of all entries"},
	{"guards", "dynamo", false, "guards of every compiled function"},
	{"verbose_guards", "dynamo", true, ""},
	{"side_effects", "dynamo", false, "mutations replayed after the graph"},
	{"graph", "dynamo", false, "captured graph as a table"},
	{"graph_code", "dynamo", false, "captured graph as code"},
	{"graph_code_verbose", "dynamo", false, ""},
	{"graph_sizes", "dynamo", false, "sizes of all nodes of the captured graph"},
	{"trace_source", "dynamo", false, "each line as it is traced"},
	{"trace_call", "dynamo", false, ""},
	{"trace_bytecode", "dynamo", false, "each instruction as it is traced, with the symbolic stack"},
	{"bytecode", "dynamo", true, "SSA of every compiled function, and what its entry does in its place"},
	{"not_implemented", "", false, ""},
	{"aot_graphs", "aot", false, "forward and backward graphs after partition"},
	{"aot_joint_graph", "aot", false, "joint graph before partition"},
	{"aot_graphs_effects", "aot", false, ""},
	{"pre_grad_graphs", "inductor", false, "graph before the pre-grad passes"},
	{"post_grad_graphs", "inductor", false, "graph after the post-grad passes"},
	{"inductor_metrics", "", true, ""},
	{"ddp_graphs", "", false, ""},
	{"compiled_autograd", "", false, ""},
	{"compiled_autograd_verbose", "", true, ""},
	{"ir_pre_fusion", "inductor", true, "loops before fusion"},
	{"ir_post_fusion", "inductor", true, "loops after fusion, by kernel"},
	{"fusion", "inductor", true, "each fusion decision with its reason"},
	{"schedule", "inductor", true, "kernels in the order in which they run"},
	{"loop_ordering", "", true, ""},
	{"loop_tiling", "", true, ""},
	{"output_code", "inductor", true, "generated code of each graph"},
	{"kernel_code", "inductor", true, "generated code of each kernel"},
	{"perf_hints", "inductor", true, "advice about kernels: library calls, fallbacks"},
	{"benchmarking", "", true, ""},
	{"autotuning", "inductor", true, "candidates that max-autotune timed, and what it chose"},
	{"autotuning_inputs", "", true, ""},
	{"node_runtime_estimation", "", true, ""},
	{"cudagraphs", "inductor", false, "mode reduce-overhead: that no CUDA graph is recorded, and what is done in its place"},
	{"cudagraph_static_inputs", "", true, ""},
	{"overlap", "", true, ""},
	{"overlap_scheduling", "", true, ""},
	{"compute_dependencies", "", true, ""},
	{"auto_chunker", "", true, ""},
	{"sym_node", "", true, ""},
	{"trace_shape_events", "", true, ""},
	{"caching", "", true, ""},
	{"annotation", "", true, ""},
	{"graph_region_expansion", "", true, ""},
	{"hierarchical_compile", "", true, ""},
	{"onnx_diagnostics", "", true, ""},
	{"incremental", "", true, ""},
	{"native_dsl_compile", "", true, ""},
	{"partitioned_scatter", "", true, ""},
	{"custom_format_test_artifact", "", true, ""},
}

// LogSet is the names that are on.
type LogSet map[string]bool

// UnknownLogError names a setting that does not exist, and all that do.
type UnknownLogError struct{ Name string }

// Error implements error.
func (e *UnknownLogError) Error() string {
	near := ";"
	if n := nearestLog(e.Name); n != "" {
		near = fmt.Sprintf(", did you mean %q?", n)
	}
	return fmt.Sprintf("unknown log %q%s known: %s", e.Name, near, strings.Join(LogNames(), ", "))
}

// SilentLogs lists the names that a setting turns on by name and that our engine has nothing
// to print for.
func SilentLogs(setting string) []string {
	var out []string
	for word := range strings.SplitSeq(setting, ",") {
		name := strings.TrimPrefix(strings.TrimSpace(word), "+")
		if row := findLog(name); row != nil && row.help == "" {
			out = append(out, name)
		}
	}
	return out
}

// LogNames lists the names that our engine prints something for.
func LogNames() []string {
	var out []string
	for _, r := range logTable {
		if r.help != "" {
			out = append(out, r.name)
		}
	}
	sort.Strings(out)
	return append(out, "all")
}

// LogHelp describes every name that our engine prints something for.
func LogHelp() string {
	var b strings.Builder
	b.WriteString("Names for TCDBG_LOGS and TORCH_LOGS, separated by commas; + before a log means DEBUG, - means errors only:\n")
	for _, r := range logTable {
		if r.help == "" {
			continue
		}
		off := ""
		if r.off {
			off = " (only when named)"
		}
		fmt.Fprintf(&b, "  %-20s %s%s\n", r.name, r.help, off)
	}
	b.WriteString("  all                  every log at DEBUG\n")
	for _, module := range slices.Sorted(maps.Keys(moduleLogs)) {
		fmt.Fprintf(&b, "  %s: %s\n", module, moduleLogs[module])
	}
	for _, module := range slices.Sorted(maps.Keys(moduleArtifacts)) {
		fmt.Fprintf(&b, "  +%s: %s\n", module, strings.Join(strings.Fields(moduleArtifacts[module]), ", "))
	}
	return b.String()
}

// ParseLogs reads "graph_breaks,+dynamo,-inductor".
func ParseLogs(setting string) (LogSet, error) {
	set := LogSet{}
	for word := range strings.SplitSeq(setting, ",") {
		word = strings.TrimSpace(word)
		if word == "" {
			continue
		}
		if err := set.add(word); err != nil {
			return nil, err
		}
	}
	return set, nil
}

func (set LogSet) add(word string) error {
	name := strings.TrimLeft(word, "+-")
	debug, quiet := word[0] == '+', word[0] == '-'
	if name == "all" || name == "torch" {
		for _, r := range logTable {
			set[r.name] = !quiet && (!r.off || set[r.name])
		}
		return nil
	}
	if log := moduleLogs[name]; log != "" {
		name = log
	}
	if artifacts, ok := moduleArtifacts[name]; ok {
		for a := range strings.FieldsSeq(artifacts) {
			if debug || quiet { // at INFO a module has no more to say than its log
				set[a] = debug
			}
		}
		return nil
	}
	row := findLog(name)
	if row == nil {
		return &UnknownLogError{name}
	}
	set[name] = !quiet
	if row.parent != "" {
		return nil
	}
	for _, r := range logTable {
		if r.parent != name || r.off {
			continue
		}
		if debug {
			set[r.name] = true
		} else if quiet {
			delete(set, r.name)
		}
	}
	return nil
}

func findLog(name string) *logName {
	for i := range logTable {
		if logTable[i].name == name {
			return &logTable[i]
		}
	}
	return nil
}
