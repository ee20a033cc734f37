package bundle

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// This file knows the heads of records: what is understood of a head stays, other texts and objects in it may be code.

// keptHeads are the kinds of PyTorch's records whose heads are understood; those of ours have a prefix.
var keptHeads = []string{
	"str", "artifact", "chromium_event", "compilation_metrics", "bwd_compilation_metrics", "compilation_metrics_runtime",
	"bwd_compilation_metrics_runtime", "dynamo_start", "dynamo_output_graph", "dynamo_guards", "dynamo_cpp_guards_str",
	"describe_storage", "describe_tensor", "describe_source", "create_symbol", "create_unbacked_symbol",
	"symbolic_shape_specialization", "guard_added", "guard_added_fast", "guard_on_data_dependent_error", "propagate_real_tensors",
	"propagate_real_tensors_provenance", "expression_created", "missing_fake_kernel", "mismatched_fake_kernel", "link", "dump_file",
	"graph_dump", "export", "exported_program", "inductor_input_graph", "inductor_pre_grad_graph", "inductor_post_grad_graph",
	"inductor_output_code", "aot_joint_graph", "aot_forward_graph", "aot_backward_graph", "aot_inference_graph",
	"compiled_autograd_graph", "optimize_ddp_split_graph", "optimize_ddp_split_child", "torch_version", "dynamo_error",
	"recompile_reasons", "dynamo_graph_break_reason",
}

// contextKeys are those that a record of any kind may have beside its own.
var contextKeys = []string{
	"rank", "compiled_autograd_id", "frame_id", "frame_compile_id", "attempt", "has_payload", "stack", "subgraph_name", "severity",
	"timestamp", "pathname", "thread",
}

const ourRecords = "tcdbg_"

// knownHead is a head without the values of keys that are not understood; false where the record's kind is none that is.
func knownHead(head []byte) ([]byte, bool) {
	d := json.NewDecoder(bytes.NewReader(head))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil, false
	}
	var out bytes.Buffer
	known, unknown := false, false
	for d.More() {
		token, err := d.Token()
		key, isKey := token.(string)
		var value json.RawMessage
		if err != nil || !isKey || d.Decode(&value) != nil {
			return nil, false
		}
		kind := slices.Contains(keptHeads, key) || strings.HasPrefix(key, ourRecords)
		known = known || kind
		if !kind && !slices.Contains(contextKeys, key) {
			unknown = true
			continue
		}
		name, err := json.Marshal(key)
		if err != nil {
			return nil, false
		}
		if out.Len() > 0 {
			out.WriteString(", ")
		}
		out.Write(name)
		out.WriteString(": ")
		out.Write(value)
	}
	if !unknown {
		return head, known
	}
	return []byte("{" + out.String() + "}"), known
}
