package tui

import (
	"testing"

	"tcdbg/explain"
	"tcdbg/logs"
)

// TestTritonView: a kernel is shown as Triton too, its lines tied to those of the
// program; the view is passed over where no kernel has that form.
func TestTritonView(t *testing.T) {
	newDriver(t, richFeed(), Options{}, 100, 30).script(`
		keys 8 j v
		expect view: operators and lines
	`)
	f := richFeed()
	ks := f.report.Kernels
	ks[1].Others = []explain.TargetKernel{{
		Language: gpuLanguage, From: 40, To: 42, Load: func() string {
			return "@triton.jit\ndef fused_add_layer_norm_1(in_ptr0):\n    tmp0 = tl.load(in_ptr0)\n"
		},
		Lines: []logs.KernelLine{{Line: 42, Nodes: []string{"add"}, Pos: []logs.Pos{at(45, "Decoder.Forward", "\th = h.Add(x)")}}},
	}}
	ks[2].Others = []explain.TargetKernel{{Language: gpuLanguage, Missing: "stores are not generated"}}
	newDriver(t, f, Options{}, 100, 30).script(`
		keys 8 j v
		expect view: Triton, for a GPU
		expect @triton.jit
		keys enter j j j
		expect line 42 ↔ add
		keys esc j
		expect no Triton text: stores are not generated
		keys g
		expect no Triton text: calls PyTorch's operator there
		keys v
		expect view: operators and lines
	`)
}
