// This program packages what it exports: a transformer's layer with any batch and length, which a C program is to
// call, and functions that cannot go into a library. Argument: the folder.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"tcdbg/torch"
	"tcdbg/torch/kw"
	"tcdbg/torch/nn"
	F "tcdbg/torch/nn/functional"
)

// Encoder is a layer of BERT's kind.
type Encoder struct {
	Embed        *nn.Embedding
	QKV, Out     *nn.Linear
	Norm1, Norm2 *nn.LayerNorm
	Up, Down     *nn.Linear
}

// Forward computes it for indices of words.
func (m *Encoder) Forward(ids *torch.Tensor) *torch.Tensor {
	x := m.Embed.Forward(ids)
	b, t := x.Size(0), x.Size(1)
	qkv := m.QKV.Forward(x).View(b, t, 3, 4, 8).Permute(2, 0, 3, 1, 4)
	y := F.ScaledDotProductAttention(qkv.Select(0, 0), qkv.Select(0, 1), qkv.Select(0, 2))
	x = m.Norm1.Forward(x.Add(m.Out.Forward(y.Transpose(1, 2).Reshape(b, t, 32))))
	return m.Norm2.Forward(x.Add(m.Down.Forward(F.Gelu(m.Up.Forward(x)))))
}

var counter = torch.Zeros(3)

func count(x *torch.Tensor) *torch.Tensor {
	counter.Add_(x)
	return x.Add(counter)
}

func must(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func main() {
	folder := os.Args[1]
	torch.ManualSeed(0)
	m := &Encoder{
		nn.NewEmbedding(50, 32), nn.NewLinear(32, 96), nn.NewLinear(32, 32), nn.NewLayerNorm([]int{32}), nn.NewLayerNorm([]int{32}),
		nn.NewLinear(32, 64), nn.NewLinear(64, 32),
	}
	nn.Eval(m)
	shapes := torch.DynamicShapes{"ids": {0: torch.NewDim("batch", kw.Max(16)), 1: torch.NewDim("length", kw.Max(64))}}
	p, err := torch.Export(m.Forward, []any{torch.Randint(0, 50, []int{2, 7})}, kw.DynamicShapes(shapes))
	must(err)
	must(p.Package(folder, "encoder"))
	must(p.Save(filepath.Join(folder, "encoder.pt2")))

	x := torch.Randn(3)
	sorted := func(x *torch.Tensor) *torch.Tensor {
		y, _ := x.Sort()
		return y.Add(x.Erfinv()).Add(x.Mul(2).Erfinv())
	}
	for _, fn := range []any{sorted, count} {
		p, err := torch.Export(fn, []any{x})
		must(err)
		fmt.Println(p.Package(folder, "refused"))
	}
	fmt.Println(p.Package(folder, "a-b"))
}
