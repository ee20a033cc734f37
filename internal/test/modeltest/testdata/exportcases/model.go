// exportcases exports functions of many kinds, runs each program, and leaves files for PyTorch and ONNX Runtime to be
// compared with: NAME.pt2, NAME.onnx and NAME.safetensors with the inputs and results of a call. Argument: a folder.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"

	"tcdbg/torch"
	"tcdbg/torch/compiler"
	"tcdbg/torch/kw"
	"tcdbg/torch/nn"
	F "tcdbg/torch/nn/functional"
)

// Mixer reads a tensor of its own besides its modules.
type Mixer struct {
	Norm  *nn.LayerNorm
	Proj  *nn.Linear
	Shift *torch.Tensor `torch:",buffer"`
}

// Forward mixes.
func (m *Mixer) Forward(x *torch.Tensor) *torch.Tensor {
	return F.Gelu(m.Proj.Forward(m.Norm.Forward(x)).Add(m.Shift))
}

// Pair returns two tensors and takes one by name.
func (m *Mixer) Pair(x *torch.Tensor, more []*torch.Tensor) (*torch.Tensor, map[string]*torch.Tensor) {
	y := m.Forward(x)
	v, i := y.MaxDim(1)
	return y.Softmax(-1), map[string]*torch.Tensor{"best": v, "where": i, "sum": more[0].Add(more[1])}
}

// choose runs one of two branches.
func (m *Mixer) choose(x *torch.Tensor) *torch.Tensor {
	return compiler.Cond(x.Sum().Gt(0),
		func(a ...*torch.Tensor) *torch.Tensor { return m.Norm.Forward(a[0]).Sin() },
		func(a ...*torch.Tensor) *torch.Tensor { return a[0].Cos().Mul(2).Add(1) }, x).Add(1)
}

// loop goes on until a count is reached.
func loop(x *torch.Tensor) []*torch.Tensor {
	return compiler.WhileLoop(
		func(c ...*torch.Tensor) *torch.Tensor { return c[0].Lt(5) },
		func(c ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{c[0].Add(1), c[1].Mul(1.5).Add(x)} },
		torch.NewTensor(0), x)
}

func scan(x *torch.Tensor) []*torch.Tensor {
	carry, y := compiler.Scan(func(c, s []*torch.Tensor) (a, b []*torch.Tensor) {
		inner := compiler.Cond(s[0].Sum().Gt(0),
			func(a ...*torch.Tensor) *torch.Tensor { return a[0].Mul(3) },
			func(a ...*torch.Tensor) *torch.Tensor { return a[0].Neg() }, s[0])
		return []*torch.Tensor{c[0].Add(inner)}, []*torch.Tensor{c[0].Mul(s[0])}
	}, []*torch.Tensor{torch.Zeros(4)}, []*torch.Tensor{x})
	return append(carry, y...)
}

func mapped(x, w *torch.Tensor) []*torch.Tensor {
	return compiler.Map(func(a ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{a[0].Mul(2).Add(a[1])} }, []*torch.Tensor{x}, w)
}

var shared = nn.NewLinear(4, 4)

type one struct {
	name  string
	fn    any
	args  []any
	shape torch.DynamicShapes
}

func main() {
	torch.ManualSeed(0)
	m := &Mixer{nn.NewLayerNorm([]int{4}), nn.NewLinear(4, 6), torch.Randn(6)}
	table := torch.Randn(5, 4)
	conv := nn.NewSequential(nn.NewConv2d(3, 8, 3, kw.Padding(1), kw.Stride(2)), nn.NewBatchNorm2d(8), nn.NewReLU(kw.Inplace(true)),
		nn.NewMaxPool2d(2), nn.NewConvTranspose2d(8, 4, 3, kw.Stride(2)), nn.NewGroupNorm(2, 4), nn.NewAdaptiveAvgPool2d(2))
	nn.Eval(conv)
	batch, time := torch.NewDim("batch"), torch.NewDim("time", kw.Min(2), kw.Max(100))
	x := torch.Randn(3, 4)
	cases := []one{
		{"mixer", m.Forward, []any{x}, torch.DynamicShapes{"x": {0: batch}}},
		{"pair", m.Pair, []any{x, []*torch.Tensor{x.Mul(2), torch.Randn(3, 1)}}, torch.DynamicShapes{"x": {0: batch}, "more[0]": {0: batch}, "more[1]": {0: batch}}},
		{"conv", conv.Forward, []any{torch.Randn(2, 3, 16, 16)}, torch.DynamicShapes{"x": {0: batch}}},
		{"constant", func(i *torch.Tensor) *torch.Tensor { return F.Embedding(i, table).Add(1) }, []any{torch.NewTensor([]int{1, 4, 0})}, nil},
		{"global", func(x *torch.Tensor) *torch.Tensor { return shared.Forward(x).Tanh() }, []any{x}, nil},
		{"two", func(x *torch.Tensor) *torch.Tensor { return shared.Forward(x).Add(m.Norm.Forward(x)) }, []any{x}, nil},
		{"sizes", func(x *torch.Tensor) *torch.Tensor {
			b, t := x.Size(0), x.Size(1)
			y := x.Reshape(b*t, x.Size(2)).Add(torch.Arange(b * t).Unsqueeze(1))
			return y.View(b, t, -1).Mean(kw.Dim(1), kw.Keepdim(true)).Expand(b, t, -1)
		}, []any{torch.Randn(3, 5, 4)}, torch.DynamicShapes{"x": {0: batch, 1: time}}},
		{"attention", func(q, k, v *torch.Tensor) *torch.Tensor {
			return F.ScaledDotProductAttention(q, k, v, kw.IsCausal(true)).Transpose(1, 2).Flatten(kw.StartDim(2))
		}, []any{torch.Randn(2, 2, 6, 8), torch.Randn(2, 2, 6, 8), torch.Randn(2, 2, 6, 8)},
			torch.DynamicShapes{"q": {2: time}, "k": {2: time}, "v": {2: time}}},
		{"scalars", func(x *torch.Tensor, n int, flag bool) *torch.Tensor {
			if flag {
				x = x.Mul(n)
			}
			return torch.Where(x.Gt(0), x.Pow(2).Div(3), x.Neg().Add(x, kw.Alpha(2))).Clamp(kw.Min(-1.5)).Sub(1).Exp()
		}, []any{x, 3, true}, nil},
		{"inplace", func(x *torch.Tensor) *torch.Tensor {
			y := x.Mul(2)
			y.Add_(1)
			y.Relu_()
			return torch.Cat([]*torch.Tensor{y, x}, kw.Dim(1))
		}, []any{x}, nil},
		{"pieces", func(x *torch.Tensor) []*torch.Tensor {
			p := x.Chunk(2, kw.Dim(1))
			return []*torch.Tensor{p[0].Cumsum(0), torch.Stack([]*torch.Tensor{p[1], p[0]}, kw.Dim(1)), x.Select(0, -1), x.Slice(kw.Dim(0), kw.Start(1), kw.End(3))}
		}, []any{torch.Randn(4, 6)}, nil},
	}
	cases = append(cases, []one{
		{"cond", m.choose, []any{x}, torch.DynamicShapes{"x": {0: batch}}},
		{"cond_other", m.choose, []any{x.Abs().Neg()}, nil},
		{"while", loop, []any{x}, nil},
		{"scan", scan, []any{x}, nil},
		{"map", mapped, []any{x, torch.Randn(4)}, nil},
	}...)
	for _, c := range cases {
		if err := run(os.Args[1], c); err != nil {
			fmt.Println(c.name+":", err)
		}
	}
}

// run exports one function, and compares a call of the file's program with one of the function.
func run(folder string, c one) error {
	p, err := torch.Export(c.fn, c.args, kw.DynamicShapes(c.shape))
	if err != nil {
		return err
	}
	path := filepath.Join(folder, c.name)
	if err := p.Save(path + ".pt2"); err != nil {
		return err
	}
	if err := p.SaveONNX(path + ".onnx"); err != nil {
		fmt.Println(c.name+":", err)
	}
	q, err := torch.LoadExported(path + ".pt2")
	if err != nil {
		return err
	}
	var args []reflect.Value
	for _, a := range c.args {
		args = append(args, reflect.ValueOf(a))
	}
	var want []*torch.Tensor
	for _, r := range reflect.ValueOf(c.fn).Call(args) {
		want = append(want, tensors(r.Interface())...)
	}
	got, all := tensors(q.Call(c.args...)), map[string]*torch.Tensor{}
	for i, w := range want {
		if far := w.Sub(got[i]).Abs().Max().Item(); !(far <= 1e-5) {
			return fmt.Errorf("result %d is %v away", i, far)
		}
		all[fmt.Sprintf("out%d", i)] = w.Detach().Contiguous()
	}
	for i, a := range tensors(c.args) {
		all[fmt.Sprintf("in%d", i)] = a
	}
	fmt.Println(c.name, len(want), "agrees")
	return torch.SaveSafetensors(all, path+".safetensors")
}

// tensors are those of a value, in the order of the program.
func tensors(v any) []*torch.Tensor {
	var out []*torch.Tensor
	switch v := v.(type) {
	case *torch.Tensor:
		return []*torch.Tensor{v}
	case []*torch.Tensor:
		return v
	case []any:
		for _, e := range v {
			out = append(out, tensors(e)...)
		}
	case map[string]*torch.Tensor:
		for _, k := range []string{"best", "sum", "where"} {
			out = append(out, v[k])
		}
	}
	return out
}
