package main

import (
	"fmt"

	"tcdbg/torch"
	"tcdbg/torch/nn"
	F "tcdbg/torch/nn/functional"
)

func try(n string, f func() any) {
	defer func() {
		if r := recover(); r != nil {
			fmt.Println(n, "panic:", r)
		}
	}()
	fmt.Println(n, f())
}

type wrap struct{ nn.Module }
type call func(*torch.Tensor) *torch.Tensor

func (c call) Do(x *torch.Tensor) *torch.Tensor { return c(x) }

func main() {
	torch.ManualSeed(0)
	x := torch.Ones(2)
	try("relu", func() any { return torch.Compile(torch.Relu)(x) })
	try("mexpr", func() any { return torch.Compile((*torch.Tensor).Sin)(x) })
	try("mval", func() any { return torch.Compile(x.Exp)() })
	try("F", func() any { return torch.Compile(F.Softsign)(x) })
	try("module", func() any { return torch.Compile(nn.NewLinear(2, 2).Forward)(x).Detach() })
	try("iface", func() any { var m nn.Module = nn.NewTanh(); return torch.Compile(m.Forward)(x) })
	try("wrap", func() any { return torch.Compile(wrap{nn.NewTanh()}.Forward)(x) })
	try("functype", func() any { return torch.Compile(call(torch.Neg))(x) })
	try("functype2", func() any { return torch.Compile(call(torch.Neg).Do)(x) })
	try("generic", func() any { return torch.Compile(gen[float64])(x, 2) })
	try("generic2", func() any { type f float32; return torch.Compile(gen[f])(x, 2) })
	try("many", func() any {
		a, b, c, d := torch.Compile(func(xs ...any) (any, int, error, *torch.Tensor) {
			return xs[1], len(xs), nil, xs[0].(*torch.Tensor).Add(xs[1])
		})(x, 2)
		return []any{a, b, c, d}
	})
	try("noargs", func() any { n := 0; torch.Compile(func() { n++; x = x.Add(1) })(); return []any{n, x} })
	try("clip", func() any {
		return torch.Compile(func(x *torch.Tensor, lo, hi float64) *torch.Tensor { return x.Clamp() })(x, 0, 1)
	})
}

func gen[N ~float32 | ~float64](x *torch.Tensor, n N) *torch.Tensor { return x.Mul(float64(n)) }
