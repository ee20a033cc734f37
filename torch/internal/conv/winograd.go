package conv

import (
	"math"
	"sync/atomic"

	"tcdbg/torch/internal/memory"
	"tcdbg/torch/internal/parallel"
	"tcdbg/torch/internal/simd"
)

// This file is convolution with filters of 3x3 that move by one as Winograd's
// F(2x2, 3x3) (Lavin and Gray 2015): 16 products for 2x2 pixels where the plain way takes 36. The transformed
// tiles of a few slivers stay in the second cache while the transformed filters pass, and
// the products of a sliver of filters become pixels while they are in the first.
//
// What is not finite spreads further in sums of this kind than in plain ones, so a
// convolution that shows such a pixel is computed again in the plain way.

const (
	// winogradChannels is the fewest channels, on either side, that pay for transforming
	// the other side.
	winogradChannels = 48
	// winogradTiles is the fewest tiles that pay for transforming the filters, and
	// winogradMany the fewest where transformed filters exceed winogradFilters numbers and
	// come from further away than the second cache each time.
	winogradTiles   = 48
	winogradMany    = 128
	winogradFilters = simd.Points * 256 * 512
	// winogradBytes bounds the transformed tiles of a task.
	winogradBytes = 576 << 10
)

// winogradConv is one convolution in the making.
type winogradConv struct {
	level        simd.Level
	c            *Call
	s            shape2d // of the tiles
	p            *imagePlanes
	out          []float32
	filters      []float32 // by slivers of output channels, each [Points][InCh][height]
	rows         int       // slivers of output channels
	tiles        int
	wide, cols   int // tiles of a sliver, slivers of tiles
	outH, outW   int
	area         int // tiles of an image
	strange      atomic.Bool
	valuesSliver int // floats of a sliver's values
}

// winogradPays reports whether the convolution is computed by Winograd's form.
func (c *Call) winogradPays() bool {
	if len(c.Kernel) != 2 || c.Groups != 1 || c.Transposed || c.Half {
		return false
	}
	for d, k := range c.Kernel {
		if k != 3 || c.Stride[d] != 1 || c.Dilation[d] != 1 {
			return false
		}
	}
	tiles := c.Batch * ((c.OutSize[0] + 1) / 2) * ((c.OutSize[1] + 1) / 2)
	fewest := winogradTiles
	if simd.Points*c.InCh*c.OutCh > winogradFilters {
		fewest = winogradMany
	}
	return min(c.InCh, c.OutCh) >= winogradChannels && tiles >= fewest
}

// winograd computes the convolution of x with weights and reports whether all
// pixels are finite; out is not to be used where they are not.
func winograd(c *Call, x, weights, out []float32) bool {
	threads := parallel.Threads()
	w := newWinograd(c, out)
	w.p = layPlanes(x, w.s, c.Batch, c.InCh, threads)
	defer w.p.giveBack()
	filters := memory.Borrow(simd.Points * c.InCh * c.OutCh)
	defer filters.GiveBack()
	w.filters = filters.Floats
	parallel.Each(threads, w.rows, func(i int) { w.transformFilters(weights, i) })

	most := max(winogradBytes/4/w.valuesSliver, 1)
	tasks := (w.cols + most - 1) / most
	tasks = min((tasks+threads-1)/threads*threads, w.cols)
	parallel.Each(threads, tasks, func(i int) { w.task(w.cols*i/tasks, w.cols*(i+1)/tasks) })
	return !w.strange.Load()
}

func newWinograd(c *Call, out []float32) *winogradConv {
	w := &winogradConv{level: simd.Active(), c: c, out: out, outH: c.OutSize[0], outW: c.OutSize[1]}
	down, across := (w.outH+1)/2, (w.outW+1)/2
	w.s = shape2d{
		in: [2]int{c.InSize[0], c.InSize[1]}, out: [2]int{down, across},
		kernel: [2]int{4, 4}, stride: [2]int{2, 2}, pad: [2]int{c.Pad[0], c.Pad[1]}, dilation: [2]int{1, 1},
	}
	w.rows = (c.OutCh + w.level.Rows() - 1) / w.level.Rows()
	w.area = down * across
	w.tiles = c.Batch * w.area
	w.wide = 2 * w.level.Lanes()
	w.cols = (w.tiles + w.wide - 1) / w.wide
	w.valuesSliver = simd.Points * c.InCh * w.wide
	return w
}

// row is where sliver i of the output channels starts.
func (w *winogradConv) row(i int) int { return i * w.c.OutCh / w.rows }

// transformFilters transforms the filters of sliver i.
func (w *winogradConv) transformFilters(weights []float32, i int) {
	in, r := w.c.InCh, w.row(i)
	h := w.row(i+1) - r
	room := memory.Borrow(9 * in * h)
	defer room.GiveBack()
	w.level.Pack(&room.Floats[0], &weights[r*in*9], in*9*4, 4, in*9, h, h)
	w.level.WinogradFilter(w.filters[r*in*simd.Points:], room.Floats, in, h, in*h)
}

// task computes the pixels of the slivers of tiles from first to last.
func (w *winogradConv) task(first, last int) {
	n := last - first
	values := memory.Borrow(n * w.valuesSliver)
	defer values.GiveBack()
	height := w.level.Rows()
	products := memory.Borrow(n * simd.Points * height * w.wide)
	defer products.GiveBack()
	pixels := memory.Borrow(4 * height * w.wide)
	defer pixels.GiveBack()
	runs := make([][]simd.Run, n)
	for s := range runs {
		runs[s] = w.transformTiles(values.Floats[s*w.valuesSliver:][:w.valuesSliver], first+s)
	}
	for i := range w.rows {
		if w.strange.Load() {
			return
		}
		r := w.row(i)
		h := w.row(i+1) - r
		w.multiply(products.Floats, values.Floats, r, h, first, last)
		for s := range runs {
			w.pixels(products.Floats[s*simd.Points*height*w.wide:], pixels.Floats, r, h, first+s, runs[s])
		}
	}
}

// width is how many lanes sliver s of the tiles has: the last one may do with one
// vector.
func (w *winogradConv) width(s int) int {
	if w.tiles-s*w.wide <= w.wide/2 {
		return w.wide / 2
	}
	return w.wide
}

// transformTiles transforms the tiles of sliver s and returns where they are: each run is
// one of neighbours in a row of tiles.
func (w *winogradConv) transformTiles(values []float32, s int) []simd.Run {
	at, width := s*w.wide, w.width(s)
	n := min(width, w.tiles-at)
	if n < width {
		clear(values) // lanes beyond the last tile are computed too
	}
	across, lanes := w.s.out[1], w.level.Lanes()
	planes := simd.TilePlanes{Channel: w.p.channel, Plane: w.p.phase, Pitch: w.p.pitch}
	var runs []simd.Run
	for done := 0; done < n; {
		tile := at + done
		image, y, x := tile/w.area, tile%w.area/across, tile%across
		count := min(across-x, n-done, lanes)
		from := image*w.p.image + y*w.p.pitch + x
		w.level.WinogradValues(values[done:], w.p.data[from:], w.c.InCh, count, planes, width, w.c.InCh*width)
		runs = append(runs, simd.Run{To: done, From: tile, Len: count})
		done += count
	}
	return runs
}

// multiply computes the products of h transformed filters from row r on with the tiles of
// the slivers from first to last.
func (w *winogradConv) multiply(products, values []float32, r, h, first, last int) {
	in := w.c.InCh
	for p := range simd.Points {
		a := &w.filters[r*in*simd.Points+p*in*h]
		for s := range last - first {
			width := w.width(first + s)
			b := &values[s*w.valuesSliver+p*in*width]
			c := &products[(s*simd.Points*w.level.Rows()*w.wide)+p*h*width]
			w.level.Tile(h, 2*width/w.wide, in, a, b, c, width*4, width, false)
		}
	}
}

// pixels makes the pixels of h output channels from channel r on and the tiles of
// sliver s, and puts them where they belong.
func (w *winogradConv) pixels(products, room []float32, r, h, s int, runs []simd.Run) {
	width, lanes := w.width(s), w.level.Lanes()
	for at := 0; at < width; at += lanes {
		w.level.WinogradPixels(room[2*at:], products[at:], h, h*width, width, 4*width, 2*width)
	}
	if sum := w.level.Sum(room[:4*h*width]); math.IsNaN(sum) || math.IsInf(sum, 0) {
		w.strange.Store(true)
		return
	}
	across := w.s.out[1]
	for _, run := range runs {
		image, y, x := run.From/w.area, 2*(run.From%w.area/across), 2*(run.From%across)
		count := min(2*run.Len, w.outW-x)
		at := (image*w.c.OutCh+r)*w.outH*w.outW + y*w.outW + x
		for i := range h {
			src := room[4*i*width+2*run.To:]
			dst := w.out[at+i*w.outH*w.outW:]
			copy(dst[:count], src)
			if y+1 < w.outH {
				copy(dst[w.outW:][:count], src[2*width:])
			}
		}
	}
}
