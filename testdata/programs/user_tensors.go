package main

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"

	"tcdbg/torch"
	"tcdbg/torch/kw"
	"tcdbg/torch/nn"
)

type vec []float64
type grid []vec
type ints []int
type scalar float32
type flag bool
type Checkpoint map[string]any
type Params map[string]*torch.Tensor
type Dims []int
type Text string
type Row [2]float64

type Dataset struct {
	X, Y  *torch.Tensor
	names map[int]Text
}

func (d Dataset) Len() int                       { return d.X.Size(0) }
func (d Dataset) Get(i int) (x, y *torch.Tensor) { return d.X.At(i), d.Y.At(i) }

type Loader struct {
	ds interface {
		Len() int
		Get(i int) (x, y *torch.Tensor)
	}
	size int
}

func (l Loader) Each(yield func(int, [2]*torch.Tensor) bool) {
	for i, n := 0, 0; i < l.ds.Len(); i, n = i+l.size, n+1 {
		var xs, ys []*torch.Tensor
		for j := i; j < min(i+l.size, l.ds.Len()); j++ {
			x, y := l.ds.Get(j)
			xs, ys = append(xs, x), append(ys, y)
		}
		if !yield(n, [2]*torch.Tensor{torch.Stack(xs), torch.Stack(ys)}) {
			return
		}
	}
}

func try(name string, f func() any) {
	defer func() {
		if r := recover(); r != nil {
			fmt.Println(name, "panic:", r)
		}
	}()
	fmt.Println(name, f())
}

func main() {
	torch.ManualSeed(5)
	try("vec", func() any { return torch.NewTensor(vec{1, 2}) })
	try("grid", func() any { return torch.NewTensor(grid{{1, 2}, {3, 4}}) })
	try("ints", func() any { return torch.NewTensor(ints{1, 2}) })
	try("scalar", func() any { return torch.NewTensor(scalar(2)) })
	try("flag", func() any { return torch.NewTensor([]flag{true, false}) })
	try("rows", func() any { return torch.NewTensor([]Row{{1, 2}, {3, 4}}) })
	try("arr", func() any { return torch.NewTensor([2][]int{{1}, {2}}) })
	try("add", func() any { return torch.Ones(2).Add(scalar(2)) })
	try("dims", func() any { return torch.Ones(2, 3).Sum(kw.Dim(Dims{0})) })
	try("text", func() any { return torch.NewTensor(Text("x")) })
	try("any", func() any { return torch.NewTensor([]any{1, 2}) })
	ds := Dataset{X: torch.Randn(5, 2), Y: torch.Ones(5), names: map[int]Text{0: "zero"}}
	net := nn.NewLinear(2, 1)
	f := torch.Compile(func(x *torch.Tensor) *torch.Tensor { return net.Forward(x).Squeeze(1) })
	for i, b := range (Loader{ds, 2}).Each {
		fmt.Println(i, f(b[0]).Shape(), b[1])
	}
	dir, err := os.MkdirTemp("", "u11")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "c.pt")
	try("save", func() any {
		return torch.Save(Params{"w": net.Weight.Detach(), "b": net.Bias.Detach()}, path)
	})
	try("load", func() any {
		v, err := torch.Load(path)
		if err != nil {
			return err
		}
		m, ok := v.(map[string]any)
		keys := []string{}
		for k := range m {
			keys = append(keys, k)
		}
		sort.Strings(keys)
		return fmt.Sprint(ok, keys)
	})
	try("ckpt", func() any {
		return torch.Save(Checkpoint{"epoch": 3, "lr": 0.5, "name": "x", "w": torch.Ones(2), "list": []any{1, "a"}}, path)
	})
	try("named", func() any { return torch.Save(Checkpoint{"t": Text("q"), "v": vec{1}, "s": scalar(1)}, path) })
	try("eq", func() any { return torch.Equal(torch.Ones(2), torch.Ones(2)) })
	type pair struct{ a, b *torch.Tensor }
	g := torch.Compile(func(p pair, m Params, s scalar, k Text) (Params, pair) {
		out := Params{"sum": p.a.Add(p.b).Mul(float64(s))}
		if k == "swap" {
			p.a, p.b = p.b, p.a
		}
		for _, n := range []string{"x", "y"} {
			if t, ok := m[n]; ok {
				out[n] = t.Neg()
			}
		}
		return out, p
	})
	out, p := g(pair{torch.Ones(2), torch.Zeros(2)}, Params{"x": torch.Ones(1)}, 3, "swap")
	fmt.Println(out, p.a, p.b)
	out, p = g(pair{torch.Ones(2), torch.Zeros(2)}, Params{"y": torch.Ones(1)}, 3, "keep")
	fmt.Println(out, p.a, len(out))
}
