package explain

import (
	"strings"

	"tcdbg/logs"
	"tcdbg/logs/fx"
)

// This file places a failure after the capture: the backend traces the graph again,
// and what it could not trace has an operator and a line of the user.

// Executing reads the operator, and the line that called it, out of an error:
//
//	While executing %odd : [num_users=1] = call_function[target=torch.ops.mine.odd.default](args = (%y,), kwargs = {})
//	Original traceback:
//	  File "/w/m.py", line 23, in f
//	    return odd(y).cos()
func Executing(reason string) (operator string, stack []logs.Pos, ok bool) {
	_, rest, ok := strings.Cut(reason, "While executing %")
	if !ok {
		return lowering(reason)
	}
	line, rest, _ := strings.Cut(rest, "\n")
	if _, target, found := strings.Cut(line, "[target="); found {
		operator, _, _ = strings.Cut(target, "](")
		operator = strings.TrimPrefix(operator, "torch.ops.")
	} else {
		operator, _, _ = strings.Cut(line, " ")
	}
	if _, trace, found := strings.Cut(rest, "Original traceback:"); found {
		trace, _, _ = strings.Cut(trace, "\n\n")
		stack = ParseStack(trace)
	}
	return operator, stack, true
}

// lowering reads them out of the error of a lowering, Inductor's rule for an operator:
//
//	LoweringException: RuntimeError: ...
//	  target: aten.tanh.default
//	  args[0]: TensorBox(...)
//	Found from :
//	   File "/w/m.py", line 61, in loss
//	    return (x.tanh() * 3).sum()
func lowering(reason string) (operator string, stack []logs.Pos, ok bool) {
	_, rest, ok := strings.Cut(reason, "\n  target: ")
	if !ok {
		return "", nil, false
	}
	operator, rest, _ = strings.Cut(rest, "\n")
	if _, trace, found := strings.Cut(rest, "\nFound from :"); found {
		trace, _, _ = strings.Cut(trace, "\n\n")
		stack = ParseStack(trace)
	}
	return operator, stack, true
}

// LastTraced is the last operator of a graph's text, and the line that called it.
func LastTraced(text string) (target string, at logs.Pos) {
	g := fx.Parse(text)
	if g == nil {
		return "", at
	}
	for _, n := range g.Nodes {
		if n.Op == "call_function" {
			target, at = n.Target, logs.Pos{File: n.Source.File, Line: n.Source.Line, Func: n.Source.Func, Code: n.Source.Code}
		}
	}
	return target, at
}
