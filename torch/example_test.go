package torch_test

import (
	"fmt"

	"tcdbg/torch"
	"tcdbg/torch/kw"
)

func ExampleCompile() {
	f := func(x *torch.Tensor) *torch.Tensor { return x.Mul(2).Relu() }
	fast := torch.Compile(f) // go run calls f, tcdbg run calls the graphs of it
	fmt.Println(fast(torch.NewTensor([]float64{-1, 0.5})))
	// Output: tensor([0., 1.])
}

func ExampleNewTensor() {
	fmt.Println(torch.NewTensor([][]int{{1, 2}, {3, 4}}))
	fmt.Println(torch.NewTensor([]float64{1, 2}, kw.Dtype(torch.Float64)))
	fmt.Println(torch.NewTensor(true))
	// Output:
	// tensor([[1, 2],
	//         [3, 4]])
	// tensor([1., 2.], dtype=torch.float64)
	// tensor(True)
}

func ExampleTensor_At() {
	x := torch.Arange(12).Reshape(3, 4)
	fmt.Println(x.At(0))                            // x[0]
	fmt.Println(x.At(torch.Colon, -1))              // x[:, -1]
	fmt.Println(x.At(torch.Range(1, torch.End), 0)) // x[1:, 0]
	fmt.Println(x.At(torch.Slice_{Step: 2}, 0))     // x[::2, 0]
	fmt.Println(x.At(torch.Ellipsis, 1).At(nil))    // x[..., 1][None]
	fmt.Println(x.At([]int{2, 0}, 2))               // x[[2, 0], 2]
	fmt.Println(x.At(x.Gt(8)))                      // x[x > 8]
	// Output:
	// tensor([0, 1, 2, 3])
	// tensor([ 3,  7, 11])
	// tensor([4, 8])
	// tensor([0, 8])
	// tensor([[1, 5, 9]])
	// tensor([10,  2])
	// tensor([ 9, 10, 11])
}

func ExampleTensor_SetAt() {
	x := torch.Zeros(2, 3)
	x.SetAt(1, 0)                            // x[0] = 1
	x.SetAt([]float64{5, 6}, torch.Colon, 2) // x[:, 2] = torch.tensor([5., 6.])
	x.SetAt(-1, x.Eq(0))                     // x[x == 0] = -1
	fmt.Println(x)
	// Output:
	// tensor([[ 1.,  1.,  5.],
	//         [-1., -1.,  6.]])
}

func ExampleTensor_Backward() {
	w := torch.NewTensor([]float64{1, 2}, kw.RequiresGrad(true))
	loss := w.Mul(w).Sum()
	loss.Backward()
	fmt.Println(loss, w.Grad())
	// Output: tensor(5., grad_fn=<SumBackward0>) tensor([2., 4.])
}

func ExampleGrad() {
	x := torch.NewTensor(3.0, kw.RequiresGrad(true))
	dx := torch.Grad([]*torch.Tensor{x.Pow(3)}, []*torch.Tensor{x}, kw.CreateGraph(true))[0]
	ddx := torch.Grad([]*torch.Tensor{dx}, []*torch.Tensor{x})[0]
	fmt.Println(dx.Item(), ddx.Item())
	// Output: 27 18
}

func ExampleNoGrad() {
	w := torch.Ones(2, kw.RequiresGrad(true))
	torch.NoGrad(func() { w.Sub_(0.25) }) // a leaf that wants gradients may change here
	fmt.Println(w)
	// Output: tensor([0.7500, 0.7500], requires_grad=True)
}

func ExampleMultinomial() {
	torch.ManualSeed(0)
	weights := torch.NewTensor([]float64{0, 10, 3, 0})
	fmt.Println(torch.Multinomial(weights, 2).Sort())
	fmt.Println(torch.Multinomial(weights, 4, kw.Replacement(true)).Eq(0).Any())
	// Output:
	// tensor([1, 2]) tensor([0, 1])
	// tensor(False)
}
