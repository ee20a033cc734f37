// The rows of docs/guide.md on what a graph cannot hold: a library's function, complex operators, agreement with eager.
package main

import (
	"fmt"
	"math"

	"tcdbg/torch"
)

// dct is a function of numbers, as another library would have it.
func dct(x []float64) []float64 {
	out := make([]float64, len(x))
	for k := range out {
		for n, v := range x {
			out[k] += v * math.Cos(math.Pi/float64(len(x))*(float64(n)+0.5)*float64(k))
		}
	}
	return out
}

func transformed(x *torch.Tensor) *torch.Tensor {
	y := x.Mul(2)
	z := torch.NewTensor(dct(y.Data()))
	return z.Add(1)
}

func spectrum(x *torch.Tensor) *torch.Tensor {
	y := x.Mul(3)
	return torch.Complex(y, x).Mul(2).Abs().Add(1)
}

func main() {
	x := torch.Arange(4).To(torch.Float32)
	for _, f := range []struct {
		row  string
		call func(*torch.Tensor) *torch.Tensor
	}{{"row 39", transformed}, {"row 38", spectrum}} {
		fmt.Println(f.row+":", torch.Allclose(torch.Compile(f.call)(x), f.call(x)))
	}
	a := func(x *torch.Tensor) *torch.Tensor { return x.Sin().Pow(2).Add(x.Cos().Pow(2)) }
	b := func(x *torch.Tensor) *torch.Tensor { return torch.OnesLike(x) }
	fmt.Println("row 40:", torch.Allclose(torch.Compile(a)(x), torch.Compile(b)(x)), torch.Allclose(a(x), b(x)))
}
