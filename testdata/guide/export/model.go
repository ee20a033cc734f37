// The rows of docs/guide.md on torch.Export: a function becomes a program, and the program a file, which runs
// without this source, and a shared library for C programs. Argument: where to leave the files; without one they are removed.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"tcdbg/torch"
	"tcdbg/torch/kw"
	"tcdbg/torch/nn"
)

// MLP is a network of two layers.
type MLP struct {
	Hidden, Out *nn.Linear
}

// Forward computes the network.
func (m *MLP) Forward(x *torch.Tensor) *torch.Tensor {
	return m.Out.Forward(m.Hidden.Forward(x).Relu())
}

func must(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func main() {
	torch.ManualSeed(0)
	m := &MLP{nn.NewLinear(4, 8), nn.NewLinear(8, 3)}
	batch := torch.NewDim("batch", kw.Max(64))
	x := torch.Randn(6, 4)
	p, err := torch.Export(m.Forward, []any{x}, kw.DynamicShapes(torch.DynamicShapes{"x": {0: batch}}))
	must(err)
	fmt.Print(p)

	folder, err := os.MkdirTemp("", "export")
	must(err)
	defer os.RemoveAll(folder)
	if len(os.Args) > 1 {
		folder = os.Args[1]
	}
	must(p.Save(filepath.Join(folder, "mlp.pt2")))
	must(p.SaveONNX(filepath.Join(folder, "mlp.onnx")))

	loaded, err := torch.LoadExported(filepath.Join(folder, "mlp.pt2"))
	must(err)
	y := torch.Randn(11, 4)
	same := torch.Allclose(loaded.Call(y)[0].(*torch.Tensor), m.Forward(y))
	fmt.Println("row 42: the file computes the same:", same, len(loaded.StateDict()), "tensors")

	must(loaded.Package(folder, "mlp"))
	library, err := filepath.Glob(filepath.Join(folder, "*mlp.[hs]*"))
	must(err)
	for _, file := range library {
		fmt.Println("row 43: for C programs:", filepath.Base(file))
	}

	_, err = torch.Export(func(x *torch.Tensor) *torch.Tensor { return x.View(6, 4).Relu() }, []any{x},
		kw.DynamicShapes(torch.DynamicShapes{"x": {0: batch}}))
	fmt.Println("row 42:", err)
	_, err = torch.Export(func(x *torch.Tensor) *torch.Tensor {
		if x.Sum().Item() > 0 {
			return x.Neg()
		}
		return x
	}, []any{x})
	fmt.Println("row 42:", err)
}
