package fold

import (
	"tcdbg/explain"
	"tcdbg/logs"
)

// tcdbgAutotuning comes after the kernels of its graph.
func tcdbgAutotuning(f *Fold, r *logs.Record) {
	var v logs.Autotuning
	c := ofCompile(f, r, &v)
	if c == nil {
		return
	}
	f.hold(heldEvent + heldEvent*len(v.Tables))
	f.autotuned = append(f.autotuned, &explain.Autotuned{ID: c.ID, Autotuning: &v})
	for i := range v.Tables {
		for _, name := range v.Tables[i].Kernels {
			if k := f.kernels[kernelKey{r.Rank, r.Epoch, v.Graph, name}]; k != nil {
				k.Tuned = append(k.Tuned, &v.Tables[i])
			}
		}
	}
}
