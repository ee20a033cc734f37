// The row of docs/guide.md on options for one part of a model.
package main

import (
	"fmt"

	"tcdbg/torch"
	"tcdbg/torch/kw"
)

func main() {
	x := torch.Ones(64)
	part := func(x *torch.Tensor) *torch.Tensor { return x.Sin().Add(x.Cos()).Exp() }
	whole := torch.Compile(part)
	small := torch.Compile(func(x *torch.Tensor) *torch.Tensor { return part(x) }, kw.Options(map[string]any{"max_fusion_size": 1}))
	fmt.Println("row 78:", torch.Allclose(whole(x), small(x)))
}
