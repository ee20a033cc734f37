package logs

// This file is the alias table: names drifted between releases, and event keys
// and artifact names are one namespace (inductor_post_grad_graph was both).

// aliases maps a name that some release wrote to the one that readers use.
var aliases = map[string]string{
	"after_post_grad_graph":                        "inductor_post_grad_graph",
	"inductor_pre_grad_graph":                      "before_pre_grad_graph",
	"inductor_triton_kernel_to_post_grad_nodes":    "inductor_provenance_tracking_node_mappings",
	"inductor_post_to_pre_grad_nodes":              "inductor_provenance_tracking_node_mappings",
	"aot_autograd_backward_compilation_metrics":    "bwd_compilation_metrics",
	"dynamo_guards_str":                            "dynamo_cpp_guards_str",
	"graph_break_reason":                           "dynamo_graph_break_reason",
	"dynamo_graph_break":                           "dynamo_graph_break_reason",
	"recompile_reason":                             "recompile_reasons",
	"aot_inference_graph_after_hop_passes":         "aot_inference_graph",
	"inductor_provenance_tracking_kernel_tracings": "inductor_provenance_tracking_kernel_stack_traces",
}

// canonical resolves an alias.
func canonical(name string) string {
	if to, ok := aliases[name]; ok {
		return to
	}
	return name
}

// Is says whether the record carries the named content, be it an event key or
// an artifact.
func (r *Record) Is(name string) bool {
	if r.Kind == "artifact" {
		return r.Name == name
	}
	return r.Kind == name
}

// Content is the canonical name of what the record carries: the artifact's
// name, else the event key.
func (r *Record) Content() string {
	if r.Kind == "artifact" {
		return r.Name
	}
	return r.Kind
}
