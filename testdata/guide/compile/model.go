// The rows of docs/guide.md on torch.Compile and its options.
package main

import (
	"bytes"
	"fmt"

	"tcdbg/torch"
	"tcdbg/torch/compiler"
	"tcdbg/torch/kw"
	"tcdbg/torch/nn"
)

func double(x *torch.Tensor) *torch.Tensor { return x.Mul(2) }

func inner(x *torch.Tensor) *torch.Tensor { return double(x).Add(1) }

var decorated = torch.Compile(inner)

func pair[T any](x *torch.Tensor, v T, f func(T) float64) *torch.Tensor { return x.Mul(f(v)) }

type scaler struct{ k float64 }

func (s *scaler) scale(x *torch.Tensor) *torch.Tensor { return x.Mul(s.k) }

func tabular(gm *torch.GraphModule, _ []torch.Value) (func([]torch.Value) []torch.Value, error) {
	gm.PrintTabular(&table)
	return gm.Forward, nil
}

func failing(*torch.GraphModule, []torch.Value) (func([]torch.Value) []torch.Value, error) {
	return nil, fmt.Errorf("no code today")
}

var table bytes.Buffer

func try(what string, f func()) {
	defer func() {
		if r := recover(); r != nil {
			fmt.Println(what+":", r)
		}
	}()
	f()
}

func main() {
	x := torch.Ones(3)
	fmt.Println("row 1:", torch.Compile(double)(x))
	fmt.Println("row 2:", decorated(x))
	net := nn.NewSequential(nn.NewSequential(nn.NewReLU()), nn.NewReLU())
	compiled := torch.Compile(net)
	fmt.Println("row 3:", compiled == net, compiled.Forward(x))
	fmt.Println("row 4:", torch.Compile(inner)(x))
	k := 3.0
	s := &scaler{2}
	fmt.Println("row 6:", torch.Compile(s.scale)(x), torch.Compile(func(x *torch.Tensor) *torch.Tensor { return x.Mul(k) })(x),
		torch.Compile(func(x *torch.Tensor) *torch.Tensor { return pair(x, 4, func(v int) float64 { return float64(v) }) })(x))
	fmt.Println("row 9:", torch.Compile(compiler.Disable(inner, kw.Recursive(false)))(x))
	fmt.Println("row 10:", torch.Compile(compiler.Disable(inner))(x))
	fmt.Println("row 11:", torch.Compile(inner, kw.Disable(true))(x))
	fmt.Println("row 12:", torch.Compile(inner, kw.Mode("default"))(x))
	fmt.Println("row 13:", torch.Compile(inner, kw.Mode("reduce-overhead"))(x))
	fmt.Println("row 14:", torch.Compile(inner, kw.Mode("max-autotune"))(x), compiler.ListModeOptions("max-autotune"))
	fmt.Println("row 15:", torch.Compile(inner, kw.Options(map[string]any{"max_autotune": true, "coordinate_descent_tuning": true}))(x))
	try("row 16", func() {
		torch.Compile(func(x *torch.Tensor) *torch.Tensor { fmt.Println("print"); return x }, kw.Fullgraph(true))(x)
	})
	for _, dynamic := range []bool{true, false} {
		g := torch.Compile(double, kw.Dynamic(dynamic))
		fmt.Println("row 18:", dynamic, g(torch.Ones(2)), g(torch.Ones(4)))
	}
	try("row 20", func() {
		y := torch.Ones(4)
		compiler.MarkDynamic(y, 0)
		torch.Compile(func(y *torch.Tensor) *torch.Tensor { return y.Add(torch.Ones(4)) })(y)
	})
	compiler.Reset()
	fmt.Println("row 25:", decorated(x))
	fmt.Println("row 26:", torch.Compile(double, kw.Backend(torch.BackendFunc(tabular)))(x))
	fmt.Print(table.String())
	try("row 27", func() { torch.Compile(double, kw.Backend(torch.BackendFunc(failing)))(x) })
	try("row 28", func() { torch.Compile(double, kw.Backend("cudagraphs")) })
	compiler.RegisterBackend("counting", tabular)
	fmt.Println("row 28:", torch.Compile(double, kw.Backend("counting"))(x), compiler.ListBackends("debug"))
	fmt.Println("row 29:", compiler.ListBackends(), compiler.ListModeOptions("reduce-overhead"))
	fmt.Println("row 30:", torch.Compile(double, kw.Options(map[string]any{"max_fusion_size": 8}))(x), compiler.ListOptions())
	try("row 30", func() { torch.Compile(double, kw.Options(map[string]any{"freezzing": true})) })
	try("row 30", func() { torch.Compile(double, kw.Options(map[string]any{"cuda.arch": "90"})) })
	try("row 30", func() {
		torch.Compile(func(x *torch.Tensor) *torch.Tensor { return x.Log() }, kw.Options(map[string]any{"nan_asserts": true}))(x.Neg())
	})
	fmt.Println("row 44:", len(nn.StateDict(torch.Compile(nn.NewLinear(2, 2)))), "tensors of a compiled module")
	ex := torch.Explain(inner)
	fmt.Println("row 47:", ex(x).GraphCount, "graph")
	old := compiler.Configure(func(c *compiler.Settings) {
		c.SuppressErrors, c.ReorderableLoggingFunctions = true, []any{fmt.Println}
	})
	fmt.Println("row 53:", torch.Compile(double, kw.Backend(torch.BackendFunc(failing)))(x), old.RecompileLimit)
	torch.Compile(func(x *torch.Tensor) *torch.Tensor {
		fmt.Println("row 53: printed after the graph", x)
		return x.Mul(2)
	}, kw.Fullgraph(true))(x)
	compiler.Configure(func(c *compiler.Settings) { c.SuppressErrors, c.Verbose = false, true })
	try("row 53", func() { torch.Compile(double, kw.Backend(torch.BackendFunc(failing)))(x) })
	torch.Compile(double, kw.Options(map[string]any{"debug": true}))(x)
	try("row 63", func() { fmt.Println(torch.Ones(2, kw.Device("cuda"))) })
}
