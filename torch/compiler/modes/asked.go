package modes

// Asked are the options as a program writes them, without those at their defaults.
func (o Options) Asked() map[string]any {
	out := map[string]any{}
	if o.MaxAutotune {
		out["max_autotune"] = true
	}
	if o.CoordinateDescent {
		out["coordinate_descent_tuning"] = true
	}
	if o.NoEpilogueFusion {
		out["epilogue_fusion"] = false
	}
	if o.NoLayoutOptimization {
		out["layout_optimization"] = false
	}
	if o.MaxFusionSize > 0 {
		out["max_fusion_size"] = o.MaxFusionSize
	}
	if o.CUDAGraphs {
		out["triton.cudagraphs"] = true
	}
	return out
}
