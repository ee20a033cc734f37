// Rows of docs/guide.md on the debug folder.
package main

import (
	"fmt"

	"tcdbg/torch"
	"tcdbg/torch/kw"
)

func main() {
	debugged := torch.Compile(func(x *torch.Tensor) *torch.Tensor { return x.Exp().Add(1) }, kw.Options(map[string]any{"trace.enabled": true}))
	fmt.Println("row 54:", debugged(torch.Zeros(2)))
}
