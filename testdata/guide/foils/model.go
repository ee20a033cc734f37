// The row of docs/guide.md on what torch.Compile is compared with.
package main

import (
	"fmt"
	"strings"

	"tcdbg/torch"
	"tcdbg/torch/fx"
	"tcdbg/torch/jit"
)

// halve goes by the sign of a sum.
func halve(x *torch.Tensor) *torch.Tensor {
	if x.Sum().Gt(0).Bool() {
		return x.Div(2)
	}
	return x.Mul(3)
}

// loud calls another library.
func loud(x *torch.Tensor) *torch.Tensor {
	if strings.ToUpper("quiet") == "QUIET" {
		x = x.Mul(2)
	}
	return x.Add(1)
}

func refused(what string, f func()) {
	defer func() { fmt.Printf("%s: %v\n", what, recover()) }()
	f()
}

func main() {
	up, down := torch.Ones(3), torch.Ones(3).Neg()
	fmt.Println("row 41, trace:", jit.Trace(halve, up).Forward(down), "where eager gives", halve(down))
	fmt.Println("row 41, script:", jit.Script(halve)(down))
	refused("row 41, script", func() { jit.Script(loud) })
	refused("row 41, symbolic trace", func() { fx.SymbolicTrace(halve, up) })
	fmt.Println("row 41, compile:", torch.Compile(halve)(down), torch.Compile(loud)(up))
}
