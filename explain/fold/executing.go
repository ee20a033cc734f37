package fold

import (
	"tcdbg/explain"
	"tcdbg/explain/diagnose"
	"tcdbg/logs"
)

// placeExecuting puts a failure at the line of the operator that failed.
func (f *Fold) placeExecuting(fl *explain.Failure) {
	if _, stack, ok := explain.Executing(fl.Reason); ok && len(stack) > 0 && len(fl.Stack) == 0 {
		fl.Stack = f.stack(stack)
		fl.Pos = fl.Stack[len(fl.Stack)-1]
	}
}

// partialTrace keeps the graph that the backend had traced when it failed, as a stage,
// and says how far it came.
func partialTrace(f *Fold, r *logs.Record) {
	last, at := explain.LastTraced(r.Text())
	if outsideOfCompiles(f, r) {
		exportStopped(f, r, last, at)
		return
	}
	if c := f.compiles[compileKey{frameKey{r.Rank, r.Epoch, r.Autograd, r.ID.Frame}, max(r.ID.Compile, 0)}]; r.HasID && c != nil {
		c.addStage(explain.Stage{Name: "failed trace", Load: r.Loader(), Seq: r.Seq})
	}
	noteTraced(f, r, last, at)
}

// tracedUntil is partialTrace of a redacted trace, which has no graph.
func tracedUntil(f *Fold, r *logs.Record, last string, at logs.Pos) {
	if outsideOfCompiles(f, r) {
		exportStopped(f, r, last, at)
		return
	}
	noteTraced(f, r, last, at)
}

func noteTraced(f *Fold, r *logs.Record, last string, at logs.Pos) {
	text := "the backend's own trace of the graph failed before its first operator"
	if last != "" {
		text = "the backend's own trace of the graph failed; it came as far as " + last
		if at.File != "" {
			text += " at " + diagnose.ShortPlace(at.File, at.Line)
		}
	}
	f.note(r, "trace", text)
}
