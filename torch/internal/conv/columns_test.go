package conv

import "testing"

// TestWindowsInside: the columns that inside names are those whose element lies in the
// line.
func TestWindowsInside(t *testing.T) {
	for _, step := range []int{1, 2, 3} {
		for shift := -9; shift < 10; shift++ {
			for n := 1; n < 9; n++ {
				for w := 1; w < 9; w++ {
					first, end := inside(n, w, shift, step)
					for j := range n {
						at := j*step + shift
						if in := j >= first && j < end; in != (at >= 0 && at < w) {
							t.Fatalf("%d columns of a line of %d, shift %d, step %d: column %d, element %d, is inside: %v", n, w,
								shift, step, j, at, in)
						}
					}
				}
			}
		}
	}
}

// TestWindowsComeBack: every element comes back once for each window that shows it, of
// so many channels that threads share them.
func TestWindowsComeBack(t *testing.T) {
	const channels, high, wide = 67, 19, 23
	g := &geometry{
		channels: channels, image: []int{high, wide}, kernel: []int{3, 2}, window: []int{10, 12}, stride: []int{2, 2},
		pad: []int{1, 1}, dilation: []int{1, 1},
	}
	var seen [high][wide]float32
	for row := range 10 * 3 {
		for col := range 12 * 2 {
			y, x := row/3*2+row%3-1, col/2*2+col%2-1
			if y >= 0 && y < high && x >= 0 && x < wide {
				seen[y][x]++
			}
		}
	}
	x, cut := make([]float32, channels*high*wide), make([]float32, g.rows()*g.cols())
	for i := range x {
		x[i] = float32(i + 1)
	}
	columns(cut, x, g)
	back := make([]float32, len(x))
	uncolumns(back, cut, g)
	for i, v := range back {
		if want := seen[i/wide%high][i%wide]; v != want*x[i] {
			t.Fatalf("element %d comes back %v times, want %v", i, v/x[i], want)
		}
	}
}
