// The rows of docs/guide.md on compiling a model's blocks, and on taking compiled code along.
package main

import (
	"fmt"

	"tcdbg/torch"
	"tcdbg/torch/compiler"
	"tcdbg/torch/nn"
)

type block struct{ up, down *nn.Linear }

func newBlock() *block { return &block{nn.NewLinear(8, 16), nn.NewLinear(16, 8)} }

func (b *block) Forward(x *torch.Tensor) *torch.Tensor {
	return b.down.Forward(b.up.Forward(x).Relu()).Add(x)
}

func (b *block) again(x *torch.Tensor) *torch.Tensor { return b.Forward(x).Mul(2) }

func through(b *block, x *torch.Tensor) *torch.Tensor { return b.Forward(x).Add(1) }

func main() {
	torch.SetGradEnabled(false)
	var blocks []*block
	for range 12 {
		blocks = append(blocks, newBlock())
	}
	shared := torch.Compile(through)
	x := torch.Randn(2, 8)
	for _, b := range blocks {
		x = shared(b, x)
	}
	for _, b := range blocks {
		x = torch.Compile(b.again)(x)
	}
	data, saved := compiler.SaveCacheArtifacts()
	loaded := compiler.LoadCacheArtifacts(data)
	fmt.Println("row 75:", len(saved.Artifacts), "artifacts,", len(loaded.Artifacts), "taken up again")
}
