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
	near(t, torch.Randn(18, kw.Dtype(torch.Float64)), -2.310411800234176, -0.3732508612577643, -1.2609246557194385,
		-0.726951062065411, -0.019964750907762653, 0.2102998901016947, 0.17718935139366584, -0.830510051008449,
		0.23871805816817063, 0.7335283685272841, -0.7730112772958181, -1.5951814880783068, -0.6870036940435463, 1.4880743158106724,
		-0.4484158047114511, -0.8910030351707375, 0.6748575435940039, 1.0468653769814655)
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

// same wants exactly these numbers, in row-major order.
func same(t *testing.T, got *torch.Tensor, want ...float64) {
	t.Helper()
	if !slices.Equal(got.Float64s(), want) {
		t.Errorf("got %v, want %v", got.Float64s(), want)
	}
}

// TestMultinomial draws PyTorch's categories, with and without replacement, and
// refuses what is no distribution.
func TestMultinomial(t *testing.T) {
	p := torch.NewTensor([][]float64{{0.1, 0.2, 0.3, 0.4}, {0.7, 0.1, 0.1, 0.1}})
	torch.ManualSeed(0)
	same(t, torch.Multinomial(p, 1).Flatten(), 2, 0)
	same(t, p.Multinomial(2).Flatten(), 3, 1, 0, 3)
	same(t, torch.Multinomial(p, 6, kw.Replacement(true)).Flatten(), 2, 1, 3, 3, 1, 3, 0, 0, 0, 0, 0, 0)
	same(t, torch.Multinomial(p.Select(0, 0), 3, kw.Replacement(true)), 3, 1, 3)
	for _, c := range []struct {
		want string
		draw func()
	}{
		{"cannot sample n_sample > prob_dist.size(-1) samples without replacement", func() { torch.Multinomial(p, 5) }},
		{"cannot sample n_sample <= 0 samples", func() { torch.Multinomial(p, 0) }},
		{"prob_dist must be 1 or 2 dim", func() { torch.Multinomial(p.Unsqueeze(0), 1) }},
		{"multinomial only supports floating-point dtypes for input, got: Long", func() { torch.Multinomial(p.To(torch.Int64), 1) }},
		{"invalid multinomial distribution (sum of probabilities <= 0)", func() { torch.Multinomial(p.Mul(0), 1) }},
		{"probability tensor contains either `inf`, `nan` or element < 0", func() { torch.Multinomial(p.Sub(0.2), 1) }},
	} {
		func() {
			defer func() {
				if e, ok := recover().(error); !ok || e.Error() != c.want {
					t.Errorf("%v, want %s", e, c.want)
				}
			}()
			c.draw()
		}()
	}
}

// TestExponential draws PyTorch's numbers.
func TestExponential(t *testing.T) {
	torch.ManualSeed(0)
	x := torch.Empty(4).Exponential_()
	near(t, x, 3.508326292037964, 1.2303847074508667, 0.615044116973877, 2.535118579864502)
	torch.ManualSeed(0)
	near(t, x.Exponential_(2.0), 1.754163146018982, 0.6151923537254333, 0.3075220584869385, 1.267559289932251)
}
