package simd

import "unsafe"

// This file is Winograd's F(2x2, 3x3): a tile of 4x4 places of the image and a
// filter of 3x3 become 16 values each, whose products, summed over the channels,
// become 2x2 pixels. Turning takes additions and halves alone.

// Points is how many values a tile and a filter have.
const Points = 16

// winograd is the part of kernels that turns; strides are bytes.
type winograd struct {
	filter func(dst, src *float32, channels, n, point int)
	values func(dst, src *float32, channels, n, channel, plane, pitch, width, point int)
	pixels func(dst, src *float32, n, point, from, to, below int)
}

// WinogradFilter turns the filters of n rows of the weight (at most Lanes): src has,
// for each channel, 9 steps of n lanes, and value p of a channel goes to n lanes at
// dst, point floats after value p-1; channels follow each other.
func (l Level) WinogradFilter(dst, src []float32, channels, n, point int) {
	_, _ = src[9*channels*n-1], dst[(Points-1)*point+channels*n-1]
	table[l].filter(&dst[0], &src[0], channels, n, 4*point)
}

// TilePlanes says where tiles are: element x of row y of the first one is in plane
// y%2*2 + x%2 at row y/2, place x/2; the next one's is its neighbour. Figures are floats.
type TilePlanes struct{ Channel, Plane, Pitch int }

// WinogradValues turns n neighbouring tiles (at most Lanes) of each channel: value p
// goes to n lanes at dst, point floats after value p-1, and width floats after
// that of the channel before.
func (l Level) WinogradValues(dst, src []float32, channels, n int, at TilePlanes, width, point int) {
	_ = dst[(Points-1)*point+(channels-1)*width+n-1]
	_ = src[(channels-1)*at.Channel+3*at.Plane+at.Pitch+n]
	table[l].values(&dst[0], &src[0], channels, n, 4*at.Channel, 4*at.Plane, 4*at.Pitch, 4*width, 4*point)
}

// WinogradPixels makes pixels of n rows of products, Lanes tiles wide: value p of a
// row is point floats after value p-1, the next row from floats on. A row's 2*Lanes
// pixels go to dst, those below them below floats on, the next row's to floats on.
func (l Level) WinogradPixels(dst, src []float32, n, point, from, to, below int) {
	lanes := table[l].lanes
	_, _ = src[(Points-1)*point+(n-1)*from+lanes-1], dst[(n-1)*to+below+2*lanes-1]
	table[l].pixels(&dst[0], &src[0], n, 4*point, 4*from, 4*to, 4*below)
}

// strided is element i of memory whose elements are as many bytes apart.
func strided(p *float32, i, bytes int) *float32 {
	return (*float32)(unsafe.Add(unsafe.Pointer(p), i*bytes))
}

// halves are the sums of three numbers that a filter's row or column becomes.
func halves(a, b, c float32) [4]float32 {
	return [4]float32{a, (a + c + b) * 0.5, (a + c - b) * 0.5, c}
}

func winoFilterPlain(dst, src *float32, channels, n, point int) {
	in := unsafe.Slice(src, 9*channels*n)
	for i := range channels * n {
		c, lane := i/n, i%n
		var rows [4][3]float32
		for x := range 3 {
			f := func(y int) float32 { return in[(c*9+3*y+x)*n+lane] }
			for y, v := range halves(f(0), f(1), f(2)) {
				rows[y][x] = v
			}
		}
		for y, r := range rows {
			for x, v := range halves(r[0], r[1], r[2]) {
				*strided(forward(dst, 4*i), 4*y+x, point) = v
			}
		}
	}
}

// differences are what a tile's row or column becomes.
func differences(d [4]float32) [4]float32 {
	return [4]float32{d[0] - d[2], d[1] + d[2], d[2] - d[1], d[1] - d[3]}
}

func winoValuesPlain(dst, src *float32, channels, n, channel, plane, pitch, width, point int) {
	for c := range channels {
		for lane := range n {
			from, to := forward(src, c*channel+4*lane), forward(dst, c*width+4*lane)
			var rows [4][4]float32
			for x := range 4 {
				var column [4]float32
				for y := range 4 {
					column[y] = *forward(from, (y%2*2+x%2)*plane+y/2*pitch+4*(x/2))
				}
				for y, v := range differences(column) {
					rows[y][x] = v
				}
			}
			for y, r := range rows {
				for x, v := range differences(r) {
					*strided(to, 4*y+x, point) = v
				}
			}
		}
	}
}

func winoPixelsPlain(dst, src *float32, n, point, from, to, below int) {
	for i := range n * plainLanes {
		row, lane := i/plainLanes, i%plainLanes
		in, out := forward(src, row*from+4*lane), forward(dst, row*to+8*lane)
		value := func(y, x int) float32 { return *strided(in, 4*y+x, point) }
		var top, bottom [4]float32
		for x := range 4 {
			top[x] = value(0, x) + value(1, x) + value(2, x)
			bottom[x] = value(1, x) - value(2, x) - value(3, x)
		}
		for y, s := range [][4]float32{top, bottom} {
			*forward(out, y*below) = s[0] + s[1] + s[2]
			*forward(out, y*below+4) = s[1] - s[2] - s[3]
		}
	}
}
