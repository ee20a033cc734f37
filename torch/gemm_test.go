package torch_test

import (
	"fmt"
	"testing"

	"tcdbg/torch"
	"tcdbg/torch/internal/simd"
	"tcdbg/torch/kw"
)

// TestProductsOnTiles compares float32 products on every level and on one
// thread and several with float64 ones in plain Go.
func TestProductsOnTiles(t *testing.T) {
	torch.ManualSeed(5)
	was := torch.GetNumThreads()
	defer torch.SetNumThreads(was)
	for _, l := range simd.Levels() {
		for _, threads := range []int{1, 3} {
			t.Run(fmt.Sprintf("%v on %d", l, threads), func(t *testing.T) {
				defer simd.Force(l)()
				torch.SetNumThreads(threads)
				for _, s := range [][3]int{
					{1, 1, 1},
					{2, 3, 4},
					{14, 32, 256},
					{15, 33, 257},
					{6, 16, 8},
					{7, 17, 9},
					{1, 50, 30},
					{50, 1, 30},
					{3, 5, 1},
					{200, 90, 300},
					{90, 200, 300},
					{64, 1030, 33},
					{500, 40, 270},
					{4, 4, 0},
					{0, 3, 2},
					{3, 0, 2},
				} {
					t.Run(fmt.Sprint(s), func(t *testing.T) { checkProducts(t, s[0], s[1], s[2]) })
				}
			})
		}
	}
}

func checkProducts(t *testing.T, m, n, k int) {
	wide := func(x *torch.Tensor) *torch.Tensor { return x.To(torch.Float64) }
	x, y := torch.Randn(m, k), torch.Randn(k, n)
	limit := 1e-6 * float64(k+10)
	closeTo(t, x.Mm(y), wide(x).Mm(wide(y)), limit)
	xt, yt := torch.Randn(k, m).T(), torch.Randn(n, k).T()
	closeTo(t, xt.Mm(yt), wide(xt).Mm(wide(yt)), limit)
	// Every other element: neither dimension has step one.
	xs, ys := torch.Randn(2*m, 2*k).AsStrided([]int{m, k}, []int{4 * k, 2}), torch.Randn(2*k, 2*n).AsStrided([]int{k, n}, []int{4 * n, 2})
	closeTo(t, xs.Mm(ys), wide(xs).Mm(wide(ys)), limit)
	b := torch.Randn(n)
	closeTo(t, torch.Addmm(b, x, y), torch.Addmm(wide(b), wide(x), wide(y)), limit)
	closeTo(t, torch.Addmm(b, x, y, kw.Beta(0.5), kw.Alpha(2)), torch.Addmm(wide(b), wide(x), wide(y), kw.Beta(0.5), kw.Alpha(2)), 2*limit)
	bx, by := torch.Randn(9, m, k), torch.Randn(9, n, k).Transpose(1, 2)
	closeTo(t, bx.Bmm(by), wide(bx).Bmm(wide(by)), limit)
}
