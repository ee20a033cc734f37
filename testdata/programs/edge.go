// want differs eager aot_eager inductor: a call that panics while it compiles changes nothing of the program, as under torch.compile; the sign of zero of maximum(-0, 0) is that of the kernel, as it is between PyTorch's eager and inductor
package main

import (
	"fmt"
	"math"

	"tcdbg/torch"
	"tcdbg/torch/kw"
	"tcdbg/torch/nn"
	F "tcdbg/torch/nn/functional"
)

type T = *torch.Tensor

var count int
var hist []int

func try(n string, f func() any) {
	defer func() {
		if r := recover(); r != nil {
			fmt.Println(n, "panic:", r)
		}
	}()
	fmt.Println(n, f())
}

func main() {
	torch.ManualSeed(0)
	i64 := func(v ...int) T { return torch.NewTensor(v) }
	c2 := func(f func(a, b T) T) func(a, b T) T { return torch.Compile(f) }
	w := torch.Randn(4, 3)
	emb := nn.NewEmbedding(4, 3)
	tests := []struct {
		n string
		f func(a, b T) T
	}{
		{"emb", func(a, b T) T { return emb.Forward(b).Mul(2).Sum().Detach() }},
		{"at", func(a, b T) T { return a.At(b).Mul(2) }},
		{"isel", func(a, b T) T { return a.IndexSelect(0, b).Add(1) }},
		{"gather", func(a, b T) T { return a.Gather(0, b.Unsqueeze(1)).Add(1) }},
		{"scatter", func(a, b T) T { return a.Scatter(0, b.Unsqueeze(1), 5.0).Add(1) }},
		{"indexadd", func(a, b T) T { return a.IndexAdd(0, b, torch.Ones(b.Size(0), 3)).Add(1) }},
		{"ce", func(a, b T) T { return F.CrossEntropy(a.At(torch.Range(0, b.Size(0))), b).Add(1) }},
		{"indexput", func(a, b T) T { y := a.Clone(); y.IndexPut_([]T{b}, torch.NewTensor(9.0)); return y.Sum() }},
		{"take", func(a, b T) T { return a.Take(b).Add(1) }},
		{"side", func(a, b T) T {
			count++
			hist = append(hist, count)
			y := a.Mul(2)
			count += 10
			return y.IndexSelect(0, b).Sum()
		}},
		{"mutate", func(a, b T) T { a.Add_(1); return a.IndexSelect(0, b).Sum() }},
	}
	for _, t := range tests {
		f := c2(t.f)
		for _, ix := range []T{i64(0, 3), i64(0, 4), i64(-1, 2), i64(-5, 1)} {
			a := w.Clone()
			try(t.n, func() any { return f(a, ix) })
			if t.n == "side" || t.n == "mutate" {
				fmt.Println(count, hist, a.Sum())
			}
		}
	}
	ints := []struct {
		n string
		f func(a, b T) T
	}{
		{"fdiv", func(a, b T) T { return a.FloorDivide(b).Add(1) }},
		{"rem", func(a, b T) T { return a.Remainder(b).Add(1) }},
		{"fmod", func(a, b T) T { return a.Fmod(b).Add(1) }},
		{"divt", func(a, b T) T { return a.Div(b, kw.RoundingMode("trunc")).Add(1) }},
		{"div", func(a, b T) T { return a.Div(b).Add(1) }},
		{"pow", func(a, b T) T { return a.Pow(b).Add(1) }},
		{"gcd", func(a, b T) T { return torch.Gcd(a, b).Add(1) }},
		{"abs", func(a, b T) T { return a.Abs().Neg().Mul(b) }},
	}
	for _, t := range ints {
		f := c2(t.f)
		for _, p := range [][2]T{{i64(7, -7), i64(2, 3)}, {i64(7, -7), i64(0, 3)}, {i64(math.MinInt64, 5), i64(-1, -1)}, {i64(1, -8), i64(64, 70)}, {i64(1, -8), i64(-1, -2)}} {
			try(t.n, func() any { return f(p[0], p[1]) })
		}
	}
	fl := torch.Compile(func(x T) []T {
		return []T{x.To(torch.Bool), x.Round(), x.Argmax(), x.Max(), x.Min(), x.Amax(), x.Softmax(0), x.Sign(), x.Clamp(kw.Min(0), kw.Max(1)), x.Maximum(torch.Zeros(1)), x.Relu(), x.Cumsum(0), x.Gt(0), x.Eq(x), x.Pow(2), x.Sigmoid(), x.Tanh(), x.Logsumexp([]int{0}), x.Mean(), x.Std(), x.FloorDivide(2), x.Remainder(2), F.Gelu(x), F.Silu(x), F.Softplus(x)}
	})
	try("nan", func() any {
		return fl(torch.NewTensor([]float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e20, -1e20, 0.5}))
	})
	try("nan2", func() any { return fl(torch.NewTensor([]float64{3, math.NaN(), 2, -1, -0.5, math.Copysign(0, -1)})) })
	em := []struct {
		n string
		f func(x T) T
	}{
		{"max", func(x T) T { return x.Max().Add(1) }}, {"argmax", func(x T) T { return x.Argmax().Add(1) }}, {"mean", func(x T) T { return x.Mean().Add(1) }}, {"sum0", func(x T) T { return x.Sum(kw.Dim(0)).Add(1) }},
		{"softmax", func(x T) T { return x.Softmax(0).Sum() }}, {"mm", func(x T) T { return x.T().Matmul(x).Add(1) }}, {"cat", func(x T) T { return torch.Cat([]T{x, torch.Ones(1, 3)}) }}, {"amax1", func(x T) T { return x.Amax(kw.Dim([]int{1})).Add(1) }},
		{"amax0", func(x T) T { return x.Amax(kw.Dim([]int{0})).Add(1) }}, {"prod", func(x T) T { return x.Prod().Add(1) }}, {"std", func(x T) T { return x.Std().Add(1) }}, {"cumsum", func(x T) T { return x.Cumsum(0).Sum() }}, {"ln", func(x T) T { return F.LayerNorm(x, []int{3}).Sum() }}, {"all", func(x T) T { return x.Gt(0).All() }}, {"sort", func(x T) T { v, _ := x.Sort(kw.Dim(0)); return v.Sum() }}, {"median", func(x T) T { return x.Median().Add(1) }}, {"view", func(x T) T { return x.View(-1, 3).Add(1) }}, {"loss", func(x T) T { return F.MseLoss(x, x.Mul(2)) }}, {"conv", func(x T) T { return F.Linear(x, torch.Ones(2, 3)).Relu() }},
	}
	for _, t := range em {
		f := torch.Compile(t.f)
		try(t.n, func() any { return f(torch.Zeros(0, 3)) })
	}
	// several forwards before one backward
	lin := nn.NewLinear(3, 2)
	sf := torch.Compile(lin.Forward)
	for _, n := range []int{2, 3} {
		a, b := torch.Randn(n, 3), torch.Randn(n, 3)
		nn.ZeroGrad(lin)
		l := sf(a).Sub(sf(b)).Square().Sum().Add(sf(a).Mean())
		l.Backward()
		fmt.Println(l.Detach(), lin.Weight.Grad())
	}
}
