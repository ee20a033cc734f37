// The row of docs/guide.md on torch.utils.benchmark.
package main

import (
	"fmt"
	"time"

	"tcdbg/torch"
	"tcdbg/torch/kw"
	"tcdbg/torch/utils/benchmark"
)

func dot(a, b *torch.Tensor) *torch.Tensor { return a.Mul(b).Sum(kw.Dim(-1)) }

func main() {
	fast := torch.Compile(dot)
	table := benchmark.NewCompare()
	for _, shape := range [][]int{{64, 64}, {1024, 64}} {
		a, b := torch.Randn(shape), torch.Randn(shape)
		for _, f := range []struct {
			name string
			call func(a, b *torch.Tensor) *torch.Tensor
		}{{"eager", dot}, {"compiled", fast}} {
			timer := &benchmark.Timer{
				Stmt: func() { f.call(a, b) }, Label: "Batched dot", SubLabel: fmt.Sprint(shape), Description: f.name,
			}
			table.ExtendResults(timer.BlockedAutorange(50 * time.Millisecond))
		}
	}
	table.TrimSignificantFigures()
	table.Print()
}
