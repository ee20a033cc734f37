package fold

import (
	"encoding/json"

	"tcdbg/explain"
	"tcdbg/logs"
)

// heldTriton is what the Triton form of one kernel holds.
const heldTriton = 256

// tcdbgTriton gives kernels their Triton form and the output code its module.
func tcdbgTriton(f *Fold, r *logs.Record) {
	var v logs.TritonCode
	if !f.versioned(r, &v) {
		return
	}
	load := r.Loader()
	module := func() string { return tritonText(load()) }
	if c := f.compileOf(r); c != nil {
		if out := c.outputOf(v.Graph); out != nil {
			out.Triton, out.TritonMissing = module, f.intern(v.Missing)
		}
	}
	for _, k := range v.Kernels {
		of := f.kernels[kernelKey{r.Rank, r.Epoch, v.Graph, k.Name}]
		if of == nil || of.Triton != nil {
			continue
		}
		f.hold(heldTriton)
		of.Triton = &explain.TritonKernel{From: k.From, To: k.To, Lines: k.Lines, Missing: f.intern(k.Missing)}
		if k.Missing == "" {
			from, to := k.From, k.To
			of.Triton.Load = func() string { return sliceLines(module(), from, to) }
		}
	}
}

// tritonText is the module out of its record's payload.
func tritonText(payload string) string {
	var v struct{ Data struct{ Text string } }
	if err := json.Unmarshal([]byte(payload), &v); err != nil {
		return "(cannot be read: " + err.Error() + ")"
	}
	return v.Data.Text
}
