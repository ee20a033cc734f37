package fold

import (
	"encoding/json"

	"tcdbg/explain"
	"tcdbg/logs"
)

// This file folds the code of our own graphs for targets other than the one that ran.

// heldTarget is what the form of one kernel for another target holds.
const heldTarget = 256

// tcdbgTarget gives kernels their form for another target and the output code its module.
func tcdbgTarget(f *Fold, r *logs.Record) {
	var v logs.TargetCode
	if !f.versioned(r, &v) {
		return
	}
	if v.Language == "" { // traces of releases that had one such target
		v.Language, v.Ext = "triton", ".py"
	}
	language := f.intern(v.Language)
	load := r.Loader()
	module := func() string { return targetText(load()) }
	if c := f.compileOf(r); c != nil {
		if out := c.outputOf(v.Graph); out != nil {
			code := explain.TargetCode{Language: language, Ext: f.intern(v.Ext), Missing: f.intern(v.Missing), Load: module}
			f.addCode(out, code)
		}
	}
	for _, k := range v.Kernels {
		of := f.kernels[kernelKey{r.Rank, r.Epoch, v.Graph, k.Name}]
		if of == nil || of.In(language) != nil {
			continue
		}
		f.hold(heldTarget)
		form := explain.TargetKernel{Language: language, From: k.From, To: k.To, Lines: k.Lines, Missing: f.intern(k.Missing)}
		if k.Missing == "" {
			form.Load = func() string { return sliceLines(module(), k.From, k.To) }
		}
		of.Others = append(of.Others, form)
	}
}

// addCode gives a graph its code in one more language; of the same language the last one counts.
func (f *Fold) addCode(out *explain.OutputCode, code explain.TargetCode) {
	for i := range out.Others {
		if out.Others[i].Language == code.Language {
			out.Others[i] = code
			return
		}
	}
	f.hold(heldTarget)
	out.Others = append(out.Others, code)
}

// targetText is the module out of its record's payload.
func targetText(payload string) string {
	var v struct{ Data struct{ Text string } }
	if err := json.Unmarshal([]byte(payload), &v); err != nil {
		return "(cannot be read: " + err.Error() + ")"
	}
	return v.Data.Text
}
