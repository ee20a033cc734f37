package explain

import "testing"

func TestFlowBody(t *testing.T) {
	for name, want := range map[string]string{
		"__compiled_fn_1_forward":                                 "",
		"__compiled_fn_1_forward_true_graph_0":                    "true_graph_0",
		"__compiled_fn_1_backward_while_loop_body_graph_2":        "while_loop_body_graph_2",
		"__compiled_fn_1_scan_combine_graph_0_false_graph_1":      "scan_combine_graph_0_false_graph_1",
		"__compiled_fn_1_associative_scan_combine_graph_0":        "associative_scan_combine_graph_0",
		"__compiled_fn_1_branch12_graph_0":                        "branch12_graph_0",
		"__compiled_fn_1_forward_body_graph_0_while_loop_cond_gr": "",
	} {
		if got := FlowBody(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
