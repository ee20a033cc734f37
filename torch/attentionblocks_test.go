package torch_test

import (
	"fmt"
	"math"
	"testing"

	"tcdbg/torch"
	"tcdbg/torch/kw"
	F "tcdbg/torch/nn/functional"
)

// TestAttentionInBlocks compares attention without tape, which runs in blocks,
// with that on the tape, which is made of operators.
func TestAttentionInBlocks(t *testing.T) {
	torch.ManualSeed(3)
	neg := math.Inf(-1)
	for _, c := range []struct {
		name    string
		q, k, v []int
		opts    []torch.Option
	}{
		{"plain", []int{2, 3, 7, 16}, []int{2, 3, 9, 16}, []int{2, 3, 9, 5}, nil},
		{"more rows than a block", []int{2, 150, 8}, []int{2, 70, 8}, []int{2, 70, 8}, nil},
		{"causal", []int{2, 130, 8}, []int{2, 130, 8}, []int{2, 130, 8}, []torch.Option{kw.IsCausal(true)}},
		{"causal, fewer keys", []int{2, 100, 8}, []int{2, 20, 8}, []int{2, 20, 8}, []torch.Option{kw.IsCausal(true)}},
		{"causal, more keys", []int{2, 20, 8}, []int{2, 100, 8}, []int{2, 100, 8}, []torch.Option{kw.IsCausal(true)}},
		{"scale", []int{5, 8}, []int{6, 8}, []int{6, 8}, []torch.Option{kw.Scale(-0.3)}},
		{"groups", []int{2, 6, 5, 8}, []int{2, 3, 7, 8}, []int{2, 3, 7, 8}, []torch.Option{kw.EnableGqa(true)}},
		{"mask of all heads", []int{2, 3, 4, 8}, []int{2, 3, 5, 8}, []int{2, 3, 5, 8}, []torch.Option{kw.AttnMask(torch.Randn(4, 5))}},
		{
			"mask of each head",
			[]int{2, 3, 4, 8},
			[]int{2, 3, 5, 8},
			[]int{2, 3, 5, 8},
			[]torch.Option{kw.AttnMask(torch.Randn(2, 3, 4, 5))},
		},
		{"mask by batch", []int{2, 3, 4, 8}, []int{2, 3, 5, 8}, []int{2, 3, 5, 8}, []torch.Option{kw.AttnMask(torch.Randn(2, 1, 1, 5))}},
		{"mask of bools, one row without keys", []int{1, 2, 3, 8}, []int{1, 2, 3, 8}, []int{1, 2, 3, 8}, []torch.Option{kw.AttnMask(
			torch.NewTensor([][]bool{{true, false, true}, {false, false, false}, {true, true, true}}),
		)}},
		{"mask of infinities", []int{2, 3, 8}, []int{2, 3, 8}, []int{2, 3, 8}, []torch.Option{kw.AttnMask(
			torch.NewTensor([][]float64{{0, neg, 1}, {neg, neg, neg}, {neg, 2, 0}}),
		)}},
		{"broadcast batch", []int{2, 3, 4, 8}, []int{1, 3, 5, 8}, []int{1, 3, 5, 8}, nil},
		{"no queries", []int{2, 0, 8}, []int{2, 5, 8}, []int{2, 5, 8}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			q, k, v := torch.Randn(ints(c.q)...), torch.Randn(ints(c.k)...), torch.Randn(ints(c.v)...)
			got := F.ScaledDotProductAttention(q, k, v, c.opts...)
			want := F.ScaledDotProductAttention(q.Clone().RequiresGrad_(), k, v, c.opts...)
			if !want.RequiresGrad() || got.RequiresGrad() {
				t.Fatal("both went the same way")
			}
			closeTo(t, got, want, 2e-6)
			transposed := F.ScaledDotProductAttention(q.Transpose(-1, -2).Contiguous().Transpose(-1, -2), k, v, c.opts...)
			closeTo(t, transposed, want, 2e-6)
		})
	}
}

func ints(s []int) []any {
	out := make([]any, len(s))
	for i, v := range s {
		out[i] = v
	}
	return out
}

// closeTo compares shapes and elements, up to limit times one and their size.
func closeTo(t *testing.T, got, want *torch.Tensor, limit float64) {
	t.Helper()
	if g, w := fmt.Sprint(got.Shape()), fmt.Sprint(want.Shape()); g != w {
		t.Fatalf("shape %s, want %s", g, w)
	}
	w := want.Float64s()
	for i, g := range got.Float64s() {
		same := g == w[i] || g != g && w[i] != w[i] // infinities and NaN have no distance
		if !same && !(math.Abs(g-w[i]) <= limit*(1+math.Abs(w[i]))) {
			t.Fatalf("element %d is %v, want %v", i, g, w[i])
		}
	}
}
