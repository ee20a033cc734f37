package logs

import (
	"maps"
	"slices"
)

// This file is the modules of PyTorch that TORCH_LOGS takes under their own names, and the name that is spelt most like
// an unknown one.

// moduleLogs are the packages that write a log.
var moduleLogs = map[string]string{
	"torch._dynamo": "dynamo", "torch._functorch": "aot", "torch._functorch._aot_autograd": "aot", "torch._inductor": "inductor",
	"torch.fx.experimental.symbolic_shapes": "dynamic",
}

// moduleArtifacts are modules within those, with what each writes at DEBUG.
var moduleArtifacts = map[string]string{
	"torch._dynamo.convert_frame":                  "bytecode",
	"torch._dynamo.guards":                         "guards recompiles",
	"torch._dynamo.output_graph":                   "graph graph_code graph_sizes",
	"torch._dynamo.side_effects":                   "side_effects",
	"torch._dynamo.symbolic_convert":               "graph_breaks trace_source trace_bytecode",
	"torch._functorch._aot_autograd.graph_compile": "aot_graphs aot_joint_graph",
	"torch._inductor.codecache":                    "output_code autotuning",
	"torch._inductor.compile_fx":                   "pre_grad_graphs post_grad_graphs perf_hints",
	"torch._inductor.cudagraph_trees":              "cudagraphs",
	"torch._inductor.debug":                        "ir_pre_fusion ir_post_fusion",
	"torch._inductor.scheduler":                    "fusion schedule",
	"torch._inductor.select_algorithm":             "autotuning",
}

// nearestLog is the name that takes the fewest changes of a letter, where they are few; "" for none.
func nearestLog(name string) string {
	best, at := len(name)/3+2, ""
	consider := func(other string) {
		if d := changes(name, other); d < best {
			best, at = d, other
		}
	}
	for _, r := range logTable {
		if r.help != "" {
			consider(r.name)
		}
	}
	for _, modules := range []map[string]string{moduleLogs, moduleArtifacts} {
		for _, module := range slices.Sorted(maps.Keys(modules)) {
			consider(module)
		}
	}
	return at
}

// changes is how many letters have to be put in, taken out or replaced.
func changes(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		left := row[0] // above and to the left
		row[0] = i + 1
		for j := range len(b) {
			cost := left
			if a[i] != b[j] {
				cost++
			}
			left = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
