package main

import (
	"fmt"

	"tcdbg/torch"
	"tcdbg/torch/kw"
)

var captured = torch.Zeros(3)

func views(x *torch.Tensor) (*torch.Tensor, *torch.Tensor, *torch.Tensor) {
	v := x.View(-1)
	v.Narrow(0, 1, 2).Add_(10)
	w := x.T()
	w.SetAt(5, 0, 0)
	x.At(torch.Colon, 1).Mul_(2)
	return v, w, x.At(0)
}

func two(a, b *torch.Tensor) *torch.Tensor {
	a.Add_(1)
	c := b.Mul(2)
	b.Mul_(3)
	return a.Add(b).Add(c)
}

func same(x *torch.Tensor) *torch.Tensor    { return x }
func viewOut(x *torch.Tensor) *torch.Tensor { return x.Narrow(0, 0, 2) }
func capt(x *torch.Tensor) *torch.Tensor {
	captured.Add_(x)
	old := captured
	captured = captured.Mul(2)
	return old.Sum()
}
func twice(x *torch.Tensor) (*torch.Tensor, *torch.Tensor) {
	y := x.Sin()
	return y, y.View(-1)
}
func swap(p, q **torch.Tensor) { *p, *q = *q, (*p).Add(1) }
func strided(x *torch.Tensor) *torch.Tensor {
	y := x.At(torch.Slice_{Step: 2})
	y.Zero_()
	z := x.Expand(3, -1)
	return z.Add(y.Sum()).Sum(kw.Dim(0))
}
func loopview(x *torch.Tensor) *torch.Tensor {
	rows := x.Unbind()
	for i, r := range rows {
		r.Copy_(rows[(i+1)%len(rows)])
	}
	return x.Clone()
}

func main() {
	f := torch.Compile(views)
	for range 2 {
		x := torch.Arange(6).To(torch.Float32).View(2, 3)
		a, b, c := f(x)
		fmt.Println(x, a, b, c)
		a.SetAt(99, 5)
		c.Neg_()
		fmt.Println(x, b)
	}
	g := torch.Compile(two)
	a, b := torch.Ones(3), torch.Full([]int{3}, 2.0)
	fmt.Println(g(a, b), a, b)
	fmt.Println(g(a, a), a)
	base := torch.Arange(5).To(torch.Float32)
	fmt.Println(g(base.Narrow(0, 0, 3), base.Narrow(0, 2, 3)), base)
	fmt.Println(g(a, b), a, b)
	s := torch.Compile(same)
	fmt.Println(s(a) == a, s(b) == b)
	vo := torch.Compile(viewOut)(a)
	vo.Fill_(7)
	fmt.Println(a)
	h := torch.Compile(capt)
	for range 3 {
		fmt.Println(h(torch.Ones(3)), captured)
	}
	y, z := torch.Compile(twice)(a)
	y.Fill_(1)
	fmt.Println(z)
	p, q := torch.Ones(1), torch.Zeros(1)
	sw := torch.Compile(swap)
	sw(&p, &q)
	sw(&p, &q)
	fmt.Println(p, q)
	sw(&p, &p)
	fmt.Println(p)
	st := torch.Compile(strided)
	xx := torch.Arange(6).To(torch.Float32)
	fmt.Println(st(xx), xx)
	fmt.Println(torch.Compile(loopview)(torch.Arange(6).To(torch.Float32).View(3, 2)))
}
