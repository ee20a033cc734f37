package torch_test

import (
	"slices"
	"testing"

	"tcdbg/torch"
	"tcdbg/torch/kw"
	F "tcdbg/torch/nn/functional"
)

// The numbers are what PyTorch's CPU generator gives after manual_seed(0).
func TestDistributionsAreTheReferences(t *testing.T) {
	torch.ManualSeed(0)
	near(t, torch.Randn(18, kw.Dtype(torch.Float64)), -2.310411800234176, -0.3732508612577643, -1.2609246557194385, -0.726951062065411, -0.019964750907762653, 0.2102998901016947, 0.17718935139366584, -0.830510051008449, 0.23871805816817063, 0.7335283685272841, -0.7730112772958181, -1.5951814880783068, -0.6870036940435463, 1.4880743158106724, -0.4484158047114511, -0.8910030351707375, 0.6748575435940039, 1.0468653769814655)
	torch.ManualSeed(0)
	near(t, torch.Randn(3), 1.5409960746765137, -0.293428897857666, -2.1787893772125244)
	near(t, torch.Randn(1), 0.5684312582015991) // the second of a cached pair
	near(t, torch.Rand(2), 0.455627977848053, 0.6323062777519226)
	torch.Randn(3) // leaves half a pair behind, which a new seed forgets
	torch.ManualSeed(0)
	near(t, torch.Randn(1), 1.5409960746765137)
	torch.ManualSeed(0)
	same(t, torch.Randint(0, 10, []int{5}), 4, 9, 3, 0, 3)
	same(t, torch.Randint(0, 1<<30, []int{3}), 192771779, 745841673, 626610453)
	same(t, torch.Randint(0, 1<<40, []int{3}), 1041261508388, 377492290630, 931851835992)
	torch.ManualSeed(0)
	same(t, torch.Randperm(10), 4, 1, 7, 5, 3, 9, 0, 8, 6, 2)
	torch.ManualSeed(0)
	same(t, torch.Empty(24).Bernoulli_(0.3), 0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 1, 0)
	torch.ManualSeed(0)
	same(t, F.Dropout(torch.Ones(24)), 0, 0, 2, 0, 0, 0, 2, 2, 0, 2, 2, 2, 2, 0, 2, 2, 2, 2, 0, 0, 2, 0, 2, 0)
	torch.ManualSeed(0)
	same(t, torch.Bernoulli(torch.Full([]int{10}, 0.3)), 0, 0, 1, 1, 0, 0, 0, 0, 0, 0)
}

func same(t *testing.T, got *torch.Tensor, want ...int) {
	t.Helper()
	if !slices.Equal(got.Ints(), want) {
		t.Errorf("got %v, want %v", got.Ints(), want)
	}
}
