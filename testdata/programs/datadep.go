package main

import (
	"fmt"

	"tcdbg/torch"
	"tcdbg/torch/kw"
)

func sel(x *torch.Tensor) *torch.Tensor {
	m := x.Gt(0)
	return x.At(m).Mul(2)
}
func sel2(x *torch.Tensor) *torch.Tensor { return x.MaskedSelect(x.Lt(0)).Abs().Sum() }
func nz(x *torch.Tensor) (*torch.Tensor, int) {
	i := x.Nonzero()
	return i.Squeeze(1).Add(1), i.Size(0)
}
func size(x, n *torch.Tensor) *torch.Tensor {
	k := n.ItemInt()
	return torch.Zeros(k, 2).Add(x)
}
func repeat(x, n *torch.Tensor) *torch.Tensor { return x.RepeatInterleave(n).Sin() }
func uniq(x *torch.Tensor) *torch.Tensor      { return x.Unique()[0].Mul(3) }
func item(x *torch.Tensor) *torch.Tensor {
	s := x.Sum().Item()
	return x.Div(s)
}
func branch(x *torch.Tensor) *torch.Tensor {
	n := 0
	for x.Norm().Item() > 1 && n < 10 {
		x = x.Mul(0.5)
		n++
	}
	return x.Add(n)
}
func setmask(x *torch.Tensor) *torch.Tensor {
	y := x.Clone()
	y.SetAt(0, x.Lt(0))
	y.IndexPut_([]*torch.Tensor{torch.NewTensor([]int{0, 1})}, torch.NewTensor([]float64{9, 8}))
	return y
}
func topk(x, k *torch.Tensor) *torch.Tensor {
	v, _ := x.Topk(k.ItemInt())
	return v.Sum()
}
func list(x *torch.Tensor) *torch.Tensor {
	s := torch.Zeros(1)
	for _, v := range x.Ints() {
		s = s.Add(v)
	}
	return s
}
func splitBy(x, lens *torch.Tensor) []*torch.Tensor {
	out := x.SplitWithSizes(lens.Ints())
	for i := range out {
		out[i] = out[i].Sum()
	}
	return out
}
func ge(x *torch.Tensor) *torch.Tensor {
	m := torch.Where(x.Gt(0), x, torch.Zeros(1))
	if m.Any().Bool() {
		return m.Max()
	}
	return m.Min().Sub(1)
}

func main() {
	torch.ManualSeed(0)
	x := torch.Randn(6)
	fs, f2, fn, fz := torch.Compile(sel), torch.Compile(sel2), torch.Compile(nz), torch.Compile(size)
	rp, un, it, br := torch.Compile(repeat), torch.Compile(uniq), torch.Compile(item), torch.Compile(branch)
	sm, tk, li, sb, g := torch.Compile(setmask), torch.Compile(topk), torch.Compile(list), torch.Compile(splitBy), torch.Compile(ge)
	for i := range 3 {
		fmt.Println(fs(x), f2(x))
		fmt.Println(fn(x.Gt(0)))
		fmt.Println(fz(torch.Ones(2), torch.NewTensor(i+2)))
		fmt.Println(rp(torch.Arange(3), torch.NewTensor([]int{i, 1, 2})))
		fmt.Println(un(torch.Arange(5).Remainder(i + 2)))
		fmt.Println(it(x), br(x.Mul(i*3)), sm(x), tk(x, torch.NewTensor(i+1)), li(torch.Arange(i+2)))
		fmt.Println(sb(x, torch.NewTensor([]int{i + 1, 5 - i})), g(x), g(x.Abs().Neg()))
		x = torch.Randn(6)
	}
	_ = kw.Dim
}
