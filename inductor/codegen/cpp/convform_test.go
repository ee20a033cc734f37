package cpp

import (
	"testing"

	"tcdbg/inductor/ir"
	"tcdbg/inductor/plan"
)

// TestFormOfPlanes: images in planes whose pixels fill no whole vectors have them as the rows of register tiles, with few
// channels to sum over too, since a finished tile costs as much as some twelve of those; images that fill them have them as columns.
func TestFormOfPlanes(t *testing.T) {
	for _, c := range []struct {
		channels, k, side int64
		want              plan.ConvForm
	}{
		{2048, 512, 7, plan.ConvPixels},
		{1024, 256, 14, plan.ConvPixels},
		{1024, 128, 14, plan.ConvColumns},
		{512, 128, 28, plan.ConvColumns},
		{256, 64, 56, plan.ConvColumns},
	} {
		one := &ir.ConvInfo{KH: 1, KW: 1, StepH: 1, StepW: 1, DilH: 1, DilW: 1, OutW: c.side, Block: 1, Lanes: 1}
		if got := ChooseConv(Machine{Lanes: 16}, c.channels, c.k, c.side*c.side, one); got != c.want {
			t.Errorf("%d channels of %dx%d pixels from %d: form %d, want %d", c.channels, c.side, c.side, c.k, got, c.want)
		}
	}
}

// TestFormInStepsOfTwo: windows of 3 x 3 that are two pixels apart take Winograd's form where tiles of 2 x 2 pixels hardly reach
// beyond the result, channels fill vectors, and threads are few.
func TestFormInStepsOfTwo(t *testing.T) {
	for _, c := range []struct {
		threads                         int
		channels, side, block, dilation int64
		want                            plan.ConvForm
	}{
		{2, 128, 28, 16, 1, plan.ConvWinograd},
		{2, 128, 13, 16, 1, plan.ConvDirect}, // 169 of 196 pixels
		{2, 128, 7, 16, 1, plan.ConvDirect},
		{2, 128, 28, 8, 1, plan.ConvDirect},
		{2, 128, 28, 16, 2, plan.ConvDirect},
		{2, 24, 28, 16, 1, plan.ConvDirect},
		{16, 128, 28, 16, 1, plan.ConvDirect},
		{0, 128, 28, 16, 1, plan.ConvDirect}, // exported: nobody knows how many threads there will be
	} {
		conv := &ir.ConvInfo{KH: 3, KW: 3, StepH: 2, StepW: 2, DilH: c.dilation, DilW: c.dilation, OutW: c.side, Block: c.block, Lanes: 16}
		if got := ChooseConv(Machine{Lanes: 16, Threads: c.threads}, c.channels, 9*64, c.side*c.side, conv); got != c.want {
			t.Errorf("%+v: form %d", c, got)
		}
	}
}

// TestFirstLayer: each limit that the runtime has, and one beyond it.
func TestFirstLayer(t *testing.T) {
	for _, c := range []struct {
		channels, width, step, dilation int64
		want                            bool
	}{
		{3, 7, 2, 1, true},
		{4, 8, 4, 1, true},
		{2, 16, 1, 1, true},
		{5, 3, 1, 1, false}, // FEW_CHANNELS
		{1, 3, 5, 1, false}, // FEW_STEPS
		{1, 17, 1, 1, false},
		{3, 11, 1, 1, false}, // 33 numbers in a row of the window
		{3, 7, 1, 2, false},
		{3, 1, 1, 1, false},
	} {
		if got := FirstLayer(c.channels, c.width, c.step, c.dilation); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
