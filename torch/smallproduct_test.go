package torch_test

import (
	"slices"
	"testing"

	"tcdbg/torch"
	"tcdbg/torch/kw"
	F "tcdbg/torch/nn/functional"
)

// TestSmallProducts holds small products of batches to the bits of a plain loop.
func TestSmallProducts(t *testing.T) {
	torch.ManualSeed(5)
	x, y := torch.Randn(2, 3, 8), torch.Randn(2, 8, 6)
	a, b := x.Float64s(), y.Float64s()
	var want []float64
	for i := range 2 * 3 * 6 {
		row, col := i/6, i/18*48+i%6
		sum := float32(0)
		for k := range 8 {
			sum += float32(float32(a[row*8+k]) * float32(b[col+k*6]))
		}
		want = append(want, float64(sum))
	}
	if got := x.Matmul(y).Float64s(); !slices.Equal(got, want) {
		t.Errorf("got %v, want the sums of a loop %v", got, want)
	}
}

// TestLargeScores holds the gradients of attention with scores of some hundreds
// against PyTorch's, which take the weights from the logarithm of their sum.
func TestLargeScores(t *testing.T) {
	q := torch.NewTensor([][][]float32{{{8, -7.5, 6.25, 5, -8.5, 3, 2, 7}, {7.1, -7.9, 6.75, 5.3, -8.1, 3.3, 2.6, 7.7}}}).RequiresGrad_()
	k := torch.NewTensor([][][]float32{{
		{7.9, -7.3, 6.1, 5.3, -8.2, 3.1, 2.7, 6.9},
		{7.7, -7.6, 6.3, 4.9, -8.4, 3.3, 2.2, 7.1},
		{8.3, -7.1, 6.2, 5.1, -8.1, 3.2, 2.3, 6.8},
	}})
	v := torch.NewTensor([][][]float32{{{8, 1, -3, 5, 2, -6, 7, 4}, {-8, 3, 5, -2, 7, 6, -1, 2}, {1, -7, 8, 2, -5, 3, 6, -4}}})
	out := F.ScaledDotProductAttention(q, k, v, kw.Scale(2))
	out.Mul(1000).Sum().Backward()
	want := []float64{
		0.708282470703125, 9.357391357421875, -11.053382873535156, 22.065025329589844, 6.9337005615234375,
		-11.04620361328125, 30.684127807617188, -6.930572509765625, 8.192840576171875, 13.980670928955078, -10.31314468383789,
		20.636899948120117, 9.460342407226562, -10.31495189666748, 26.432369232177734, -9.461145401000977,
	}
	got := q.Grad().Float64s()
	for i, w := range want {
		if d := got[i] - w; d > 1e-5+1.3e-6*max(w, -w) || -d > 1e-5+1.3e-6*max(w, -w) {
			t.Errorf("gradient %d is %v, want %v", i, got[i], w)
		}
	}
}
