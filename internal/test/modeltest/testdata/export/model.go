package main

import (
	"fmt"
	"os"

	"tcdbg/internal/test/modeltest/zoo"
	"tcdbg/torch"
	"tcdbg/torch/kw"
	"tcdbg/torch/nn"
)

func main() {
	name, in, out := os.Args[1], os.Args[2], os.Args[3]
	tensors, err := torch.LoadSafetensors(in)
	if err != nil { panic(err) }
	x := tensors["input"]
	delete(tensors, "input")
	m := zoo.Builds()[name].Make()
	for _, n := range nn.StateDict(m) {
		torch.NoGrad(func() { n.Tensor.Copy_(tensors[n.Name]) })
	}
	nn.Eval(m)
	var want *torch.Tensor
	torch.NoGrad(func() { want = m.Forward(x) })
	var shapes torch.DynamicShapes
	if len(os.Args) > 4 { shapes = torch.DynamicShapes{"x": {0: torch.NewDim("batch")}} }
	_ = kw.Dim
	p, err := torch.Export(m.Forward, []any{x}, kw.DynamicShapes(shapes))
	if err != nil { fmt.Println(name, err); os.Exit(1) }
	if err := p.Save(out + ".pt2"); err != nil { fmt.Println(name, err); os.Exit(1) }
	if err := torch.SaveSafetensors(map[string]*torch.Tensor{"input": x, "output": want}, out+".st"); err != nil { panic(err) }
	if err := p.SaveONNX(out + ".onnx"); err != nil {
		fmt.Println(name, err)
	}
	q, err := torch.LoadExported(out+".pt2")
	if err != nil { fmt.Println(name, err); os.Exit(1) }
	torch.NoGrad(func() {
		got := q.Call(x)[0].(*torch.Tensor)
		fmt.Println(name, "LoadExported", got.Sub(want).Abs().Max().Item(), "of", want.Abs().Max().Item(), q.Program().Nodes[0].Target, len(q.Program().Nodes))
	})
}
