package explain

import (
	"regexp"
	"strings"
)

// This file knows the programs that control flow runs by their names.

var flowBody = regexp.MustCompile(`(_(true|false|while_loop_cond|while_loop_body|body|(associative_)?scan_combine|branch\d+)_graph_\d+)+$`)

// FlowBody is the body of control flow that a graph or a program of that name is, "" for none.
func FlowBody(name string) string { return strings.TrimPrefix(flowBody.FindString(name), "_") }

// Body is the body of control flow that a kernel is of, "" for none.
func (k *Kernel) Body() string {
	if k.Output == nil {
		return ""
	}
	return FlowBody(strings.TrimSuffix(k.Output.Path, ".c"))
}
