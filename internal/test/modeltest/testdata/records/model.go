// records runs one of the recorded models compiled: the output in evaluation,
// the loss and its gradients, and the loss after a step of AdamW go to a
// safetensors file. Arguments: file of records, model, backend, file of weights
// and input, file of results.
package main

import (
	"os"

	"tcdbg/internal/test/modeltest/zoo"
	"tcdbg/torch"
	"tcdbg/torch/kw"
	"tcdbg/torch/nn"
	"tcdbg/torch/optim"
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	group, name, backend, in, out := os.Args[1], os.Args[2], os.Args[3], os.Args[4], os.Args[5]
	tensors, err := torch.LoadSafetensors(in)
	must(err)
	x := tensors["input"]
	delete(tensors, "input")
	torch.ManualSeed(0)
	m := zoo.Group(group)[name].Make()
	for _, n := range nn.StateDict(m) {
		torch.NoGrad(func() { n.Tensor.Copy_(tensors[n.Name]) })
	}
	result := map[string]*torch.Tensor{}

	nn.Eval(m)
	fast := torch.Compile(m.Forward, kw.Fullgraph(true), kw.Backend(backend))
	torch.NoGrad(func() { result["output"] = fast(x) })

	zoo.Recorded(m)
	loss := torch.Compile(func(x *torch.Tensor) *torch.Tensor { return zoo.Loss(m.Forward(x)) }, kw.Fullgraph(true), kw.Backend(backend))
	y := loss(x)
	y.Backward()
	result["loss"] = y.Detach()
	for _, p := range nn.NamedParameters(m) {
		if g := p.Tensor.Grad(); g != nil {
			result["norm of "+p.Name] = g.To(torch.Float64).Norm()
		}
	}
	optim.NewAdamW(nn.Parameters(m)).Step()
	torch.NoGrad(func() { result["loss after"] = loss(x) })
	must(torch.SaveSafetensors(result, out))
}
