package explain

import (
	"strings"

	"tcdbg/logs"
	"tcdbg/logs/fx"
)

// This file places a failure behind the capture: the backend traces the graph again,
// and what it could not trace has an operator and a line of the user.

// executing reads the operator, and the line that called it, out of an error:
//
//	While executing %odd : [num_users=1] = call_function[target=torch.ops.mine.odd.default](args = (%y,), kwargs = {})
//	Original traceback:
//	  File "/w/m.py", line 23, in f
//	    return odd(y).cos()
func executing(reason string) (operator string, stack []logs.Pos, ok bool) {
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
		stack = parseStack(trace)
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
		stack = parseStack(trace)
	}
	return operator, stack, true
}

// placeExecuting puts a failure at the line of the operator that failed.
func (f *Fold) placeExecuting(fl *Failure) {
	if _, stack, ok := executing(fl.Reason); ok && len(stack) > 0 && len(fl.Stack) == 0 {
		fl.Stack = f.stack(stack)
		fl.Pos = fl.Stack[len(fl.Stack)-1]
	}
}

// partialTrace keeps the graph that the backend had traced when it failed, as a stage,
// and says how far it came.
func (f *Fold) partialTrace(r *logs.Record) {
	last, at := lastTraced(r.Text())
	if f.outsideOfCompiles(r) {
		f.exportStopped(r, last, at)
		return
	}
	if c := f.compiles[compileKey{frameKey{r.Rank, r.Epoch, r.Autograd, r.ID.Frame}, max(r.ID.Compile, 0)}]; r.HasID && c != nil {
		c.addStage(Stage{Name: "failed trace", Load: r.Loader(), Seq: r.Seq})
	}
	text := "the backend's own trace of the graph failed before its first operator"
	if last != "" {
		text = "the backend's own trace of the graph failed; it came as far as " + last
		if at.File != "" {
			text += " at " + shortPlace(at.File, at.Line)
		}
	}
	f.note(r, "trace", text)
}

// lastTraced is the last operator of a graph's text, and the line that called it.
func lastTraced(text string) (target string, at logs.Pos) {
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
