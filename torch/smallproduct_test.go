package torch_test

import (
	"slices"
	"testing"

	"tcdbg/torch"
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
	q := torch.NewTensor([][][]float32{{{8, -7.5, 6.25, 5, -8.5, 3, 2, 7}}}).RequiresGrad_()
	k := torch.NewTensor([][][]float32{{{7.9, -7.3, 6.1, 5.3, -8.2, 3.1, 2.7, 6.9}, {7.7, -7.6, 6.3, 4.9, -8.4, 3.3, 2.2, 7.1}, {8.3, -7.1, 6.2, 5.1, -8.1, 3.2, 2.3, 6.8}}})
	v := torch.NewTensor([][][]float32{{{8, 1, -3, 5, 2, -6, 7, 4}, {-8, 3, 5, -2, 7, 6, -1, 2}, {1, -7, 8, 2, -5, 3, 6, -4}}})
	out := F.ScaledDotProductAttention(q, k, v)
	out.Sum().Backward()
	want := []float64{-0.2052159309387207, -0.10446000099182129, -0.04899096488952637, 0.09798598289489746, -0.05269289016723633, -0.04899168014526367, 0.19874417781829834, 0.05269312858581543}
	got := q.Grad().Float64s()
	for i, w := range want {
		if d := got[i] - w; d > 1e-5+1.3e-6*max(w, -w) || -d > 1e-5+1.3e-6*max(w, -w) {
			t.Errorf("gradient %d is %v, want %v", i, got[i], w)
		}
	}
}
