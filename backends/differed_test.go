package backends

import (
	"testing"

	"tcdbg/internal/test/progfuzz"
)

// This file keeps the smallest forms of model programs that once printed
// something else when compiled.

// differed are such programs, which go after ModelPrelude.
var differed = map[string]string{
	"a size that only the backward graph computes with": `
func f(net *Net, x, ids *torch.Tensor) *torch.Tensor { return net.Emb.Forward(ids.Remainder(5)) }

func main() {
	net := newNet()
	c := torch.Compile(f, kw.Dynamic(true))
	for _, rows := range []int{7, 3} {
		c(net, torch.Rand(rows, 4), torch.Arange(rows)).Square().Mean().Backward()
		net.print()
	}
}`,
	"a view of what a graph without gradients has made, written after a break": `
func f(x, w *torch.Tensor) *torch.Tensor {
	t := torch.Cat([]*torch.Tensor{x, x.Neg()}).Narrow(0, 0, 2)
	fmt.Println("break")
	t.Select(0, 0).Mul_(w)
	return t
}

func main() { fmt.Println(torch.Compile(f)(torch.Ones(2, 4), torch.Ones(4).RequiresGrad_()).Detach()) }`,
	"a list of one view": `
func f(x *torch.Tensor) []*torch.Tensor { return append(x.Mul(2).Chunk(2), x.Unbind()...) }

func main() {
	x := torch.Ones(1, 4).RequiresGrad_()
	out := torch.Compile(f)(x)
	out[0].Mul(out[1]).Sum().Backward()
	fmt.Println(len(out), x.Grad())
}`,
	"a result that a kernel has reshaped, written in place": `
func f(net *Net, ids *torch.Tensor) *torch.Tensor {
	t := net.Emb.Forward(ids)
	t.Add_(net.State.Mean())
	return t
}

func main() {
	net := newNet()
	torch.Compile(f)(net, torch.Arange(3)).Square().Mean().Backward()
	fmt.Println(net.Emb.Weight.Grad())
	plain := newNet() // a plain backward pass must reach the weight as well
	f(plain, torch.Arange(3)).Square().Mean().Backward()
	fmt.Println(plain.Emb.Weight.Grad() != nil)
}`,
	"two draws, of which the later one could run first": `
func f(net *Net, z *torch.Tensor) *torch.Tensor {
	t := torch.Minimum(z, net.Scale)
	net.Drop.Forward(net.Scale.Sub(2))
	return net.Drop.Forward(t)
}

func main() { fmt.Println(torch.Compile(f)(newNet(), torch.Rand(1, 3, 4)).Detach()) }`,
	"an input that only results without a gradient depend on": `
func f(net *Net, x *torch.Tensor, named map[string]*torch.Tensor) *torch.Tensor {
	named["a"] = net.Scale.Div(2)
	return net.Lin.Forward(x)
}

func main() {
	net, named := newNet(), map[string]*torch.Tensor{}
	c := torch.Compile(f)
	c(net, torch.Rand(5, 4), named).Mean().Backward()
	fmt.Println(net.Scale.Grad() == nil)
}`,
	"a gradient of zeros where copy_ has overwritten what wants one": `
func f(net *Net, x, ids *torch.Tensor) *torch.Tensor {
	t := net.Emb.Forward(ids)
	t.Copy_(x)
	u := net.Lin.Forward(x)
	u.Select(0, 1).Copy_(x.Select(0, 0))
	return t.Add(u)
}

func main() {
	net := newNet()
	torch.Compile(f)(net, torch.Rand(3, 4), torch.Arange(3)).Square().Mean().Backward()
	net.print()
}`,
	"a detached tensor with gradients of its own": `
func f(net *Net, x *torch.Tensor) (a, b, c *torch.Tensor) {
	d := x.Detach()
	d.Copy_(net.Scale)
	e := d.Narrow(1, 0, 2).Mul(3)
	x.Mul_(2)
	d.Select(0, 0).Mul_(net.Scale)
	y := net.Lin.Forward(x)
	z := y.Detach()
	z.Add_(net.Scale)
	return d, e.Sum().Add(d.Sum()).Add(y.Square().Sum()), z
}

func main() {
	net, x := newNet(), torch.Rand(3, 4)
	a, b, c := torch.Compile(f)(net, x)
	fmt.Println(x, x.RequiresGrad(), a.RequiresGrad(), b.RequiresGrad(), c.RequiresGrad())
	fmt.Println(a.Detach(), b.Detach(), c.Detach())
	a.Square().Mean().Add(b).Add(c.Square().Mean()).Backward()
	net.print()
	x.Fill_(7)
	fmt.Println(a.Detach(), c.Detach())
}`,
}

func TestModelsThatDiffered(t *testing.T) {
	ways := differentials(t)
	for name, body := range differed {
		t.Run(name, func(t *testing.T) {
			prog, err := loadText(t, progfuzz.ModelPrelude+body)
			if err != nil {
				t.Fatal(err)
			}
			want, code, _ := runText(prog, nil, "")
			if code != 0 {
				t.Fatalf("the plain run ends with %d:\n%s", code, want)
			}
			for _, w := range ways {
				got, exit, stderr := runText(prog, NewSet(w.cfg), w.backend)
				if d := differs(want, got); d != "" || exit != code {
					t.Errorf("under %s: exit %d, want %d\n%s%s", w.name, exit, code, d, stderr)
				}
			}
		})
	}
}
