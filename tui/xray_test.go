package tui

import "testing"

// TestXRaySheet: * follows the selected line, enter opens a row where it is told best, and a
// row without a line says so.
func TestXRaySheet(t *testing.T) {
	d := newDriver(t, richFeed(), Options{}, 120, 50)
	d.script(`
		keys 3 *
		expect X-ray of model.go:52
		expect BREAKS AND RECOMPILES
		expect GB0170 branch on a tensor's value
		expect sum_1: f32[] = aten.sum(l_b_)
		keys j enter
		screen Graph
		keys 8 j *
		expect X-ray of model.go:45
		expect fused_add_layer_norm_1
		expect 90 us a call
		keys j j
	`)
	checkFrame(t, d.frame(), 120, 50)
	d.script(`
		keys esc 2 g *
		expect X-ray of model.go:15
		expect // line 15
		size 80x24
		keys esc
		refute X-ray of
		keys 0 *
		expect X-ray: select something that has a line of the program
	`)
}
