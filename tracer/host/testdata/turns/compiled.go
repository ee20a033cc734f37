package main

import (
	"fmt"
	"sync"

	"tcdbg/torch"
)

func layer(x *torch.Tensor, k int) *torch.Tensor {
	y := x.Mul(2).Add(1)
	if y.Sum().Item() > 100 {
		y = y.Relu().Sub(float64(k))
	}
	return y.Cos()
}

func main() {
	f := torch.Compile(layer)
	in, out := make(chan int), make(chan string)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for n := range in {
				x := torch.Full([]int{n + 1, 3}, float64(n))
				y := f(x, g%2)
				out <- fmt.Sprintf("%d: %.4f", n, y.Sum().Item())
			}
		}()
	}
	go func() {
		for n := range 24 {
			in <- n % 12
		}
		close(in)
		wg.Wait()
		close(out)
	}()
	for s := range out {
		fmt.Println(s)
	}
}
