// generate goes on with a prompt by a compiled model. Arguments: case, file of
// weights and input, file of the tokens.
package main

import (
	"os"

	"tcdbg/internal/test/modeltest/zoo"
	"tcdbg/torch"
	"tcdbg/torch/kw"
	"tcdbg/torch/models"
	"tcdbg/torch/nn"
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// compiled is a model whose step is compiled.
type compiled struct {
	step func(ids *torch.Tensor, cache *models.KVCache) *torch.Tensor
}

// ForwardCached runs the compiled step.
func (c compiled) ForwardCached(ids *torch.Tensor, cache *models.KVCache) *torch.Tensor {
	return c.step(ids, cache)
}

func main() {
	tensors, err := torch.LoadSafetensors(os.Args[2])
	must(err)
	g := zoo.Generations()[os.Args[1]]()
	torch.NoGrad(func() {
		for _, n := range nn.StateDict(g.Model) {
			n.Tensor.Copy_(tensors[n.Name])
		}
	})
	nn.Eval(g.Model)
	fast := compiled{torch.Compile(g.Model.ForwardCached, kw.Fullgraph(true))}
	must(torch.SaveSafetensors(map[string]*torch.Tensor{"tokens": g.Generate(fast, tensors["input"])}, os.Args[3]))
}
