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
		if got := ChooseConv(16, c.channels, c.k, c.side*c.side, one); got != c.want {
			t.Errorf("%d channels of %dx%d pixels from %d: form %d, want %d", c.channels, c.side, c.side, c.k, got, c.want)
		}
	}
}
