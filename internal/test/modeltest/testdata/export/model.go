// export exports one of the recorded models with any batch size, and leaves files for PyTorch and ONNX Runtime to be
// compared with. Arguments: model, file of weights and input, path of the files without its end.
package main

import (
	"fmt"
	"os"

	"tcdbg/internal/test/modeltest/zoo"
	"tcdbg/torch"
	"tcdbg/torch/kw"
	"tcdbg/torch/nn"
)

func must(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func main() {
	name, in, out := os.Args[1], os.Args[2], os.Args[3]
	tensors, err := torch.LoadSafetensors(in)
	must(err)
	x := tensors["input"]
	delete(tensors, "input")
	m := zoo.Builds()[name].Make()
	must(nn.LoadStateDict(m, tensors))
	nn.Eval(m)
	var want *torch.Tensor
	torch.NoGrad(func() { want = m.Forward(x) })

	batch := torch.NewDim("batch")
	p, err := torch.Export(m.Forward, []any{x}, kw.DynamicShapes(torch.DynamicShapes{"x": {0: batch}}))
	must(err)
	must(p.Save(out + ".pt2"))
	must(p.SaveONNX(out + ".onnx"))
	must(torch.SaveSafetensors(map[string]*torch.Tensor{"in0": x, "out0": want}, out+".safetensors"))

	loaded, err := torch.LoadExported(out + ".pt2")
	must(err)
	torch.NoGrad(func() {
		apart := loaded.Call(x)[0].(*torch.Tensor).Sub(want).Abs().Max().Div(want.Abs().Max()).Item()
		fmt.Printf("%s: loaded again, apart by %.2g\n", name, apart)
		if !(apart < 1e-4) {
			os.Exit(1)
		}
	})
}
