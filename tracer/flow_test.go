package tracer

import (
	"strings"
	"testing"
)

// flowRefusals are calls of control flow that no graph can hold, each with what the break
// says; the program does the same with and without a compiler.
var flowRefusals = []struct{ name, body, ops, why string }{
	{"a branch that changes a variable", `
	n := 1
	y := compiler.Cond(x.Sum().Gt(0), func(a ...*torch.Tensor) *torch.Tensor { n++; return a[0].Sin() },
		func(a ...*torch.Tensor) *torch.Tensor { return a[0].Cos() }, x)
	return y.Mul(n)`, "sum gt | sin mul | cos mul", "changes a variable from outside of it"},
	{"a branch that changes what was there before the call", `
	return compiler.Cond(x.Sum().Gt(0), func(a ...*torch.Tensor) *torch.Tensor { count++; return a[0].Sin() },
		func(a ...*torch.Tensor) *torch.Tensor { return a[0].Cos() }, x)`, "sum gt | sin | cos", "changes count, which is outside of it"},
	{"a branch that fills a map", `
	m := map[string]int{}
	y := compiler.Cond(x.Sum().Gt(0), func(a ...*torch.Tensor) *torch.Tensor { m["a"] = 2; return a[0].Sin() },
		func(a ...*torch.Tensor) *torch.Tensor { return a[0].Cos() }, x)
	return y.Mul(len(m))`, "sum gt | sin mul | cos mul", "stores into a map"},
	{"a branch that writes to an operand", `
	y := x.Mul(2)
	return compiler.Cond(x.Sum().Gt(0), func(a ...*torch.Tensor) *torch.Tensor { return a[0].Add_(1).Sin() },
		func(a ...*torch.Tensor) *torch.Tensor { return a[0].Cos() }, y)`, "mul sum gt | add_ sin | cos", "writes to a tensor from outside of it: add_"},
	{
		"a branch that returns its operand", `
	return compiler.Cond(x.Sum().Gt(0), func(a ...*torch.Tensor) *torch.Tensor { return a[0] },
		func(a ...*torch.Tensor) *torch.Tensor { return a[0].Cos() }, x)`, "sum gt | cos",
		"the true branch returns a tensor from outside of it, or a view of one: return a clone",
	},
	{
		"a branch that returns a view", `
	return compiler.Cond(x.Sum().Gt(0), func(a ...*torch.Tensor) *torch.Tensor { return a[0].Neg() },
		func(a ...*torch.Tensor) *torch.Tensor { return a[0].Reshape(3, 1).T().Reshape(-1) }, x)`, "sum gt | neg | reshape t reshape",
		"the false branch returns a tensor from outside of it, or a view of one",
	},
	{"one of three branches that counts", `
	return compiler.Switch(x.Gt(0).Sum(), []func(...*torch.Tensor) *torch.Tensor{
		func(a ...*torch.Tensor) *torch.Tensor { return a[0].Sin() },
		func(a ...*torch.Tensor) *torch.Tensor { count++; return a[0].Cos() },
		func(a ...*torch.Tensor) *torch.Tensor { count += 2; return a[0].Exp() }}, x)`, "gt sum | exp | sin", "changes count, which is outside of it"},
	{"branches of a list that differ in shape", `
	return compiler.Switch(x.Gt(0).Sum(), []func(...*torch.Tensor) *torch.Tensor{
		func(a ...*torch.Tensor) *torch.Tensor { return a[0].Sin() },
		func(a ...*torch.Tensor) *torch.Tensor { return a[0].Sum() }}, x)`, "gt sum | sum | sin", "the output of branch 0 has dim 1, that of branch 1 0"},
	{"a branch that prints", `
	return compiler.Cond(x.Sum().Gt(0), func(a ...*torch.Tensor) *torch.Tensor { fmt.Println("yes"); return a[0].Sin() },
		func(a ...*torch.Tensor) *torch.Tensor { return a[0].Cos() }, x)`, "sum gt | sin | cos", "call of fmt.Println"},
	{"a branch that branches", `
	return compiler.Cond(x.Sum().Gt(0), func(a ...*torch.Tensor) *torch.Tensor {
			if a[0].Mean().Gt(0).Bool() { return a[0].Sin() }
			return a[0].Exp()
		}, func(a ...*torch.Tensor) *torch.Tensor { return a[0].Cos() }, x)`, "sum gt | mean gt | sin | cos", "branch on the value of gt_1"},
	{
		"branches of two shapes", `
	return compiler.Cond(x.Sum().Gt(0), func(a ...*torch.Tensor) *torch.Tensor { return a[0].Sum() },
		func(a ...*torch.Tensor) *torch.Tensor { return a[0].Cos() }, x)`, "sum gt | sum | cos",
		"the output of the true branch has dim 0, that of the false branch 1",
	},
	{
		"branches of two types", `
	return compiler.Cond(x.Sum().Gt(0), func(a ...*torch.Tensor) *torch.Tensor { return a[0].Mul(2).To(torch.Float64) },
		func(a ...*torch.Tensor) *torch.Tensor { return a[0].Cos() }, x)`, "sum gt | mul to | cos",
		"the output of the true branch has dtype torch.float64, that of the false branch torch.float32",
	},
	{"a branch that draws numbers", `
	return compiler.Cond(x.Sum().Gt(0), func(a ...*torch.Tensor) *torch.Tensor { return torch.RandLike(a[0]) },
		func(a ...*torch.Tensor) *torch.Tensor { return a[0].Cos() }, x)`, "sum gt | rand_like | cos", "draws random numbers"},
	{
		"a branch that is disabled", `
	return compiler.Cond(x.Sum().Gt(0), alone, func(a ...*torch.Tensor) *torch.Tensor { return a[0].Cos() }, x)`, "sum gt | cos",
		"marked not to be compiled",
	},
	{"a branch that returns nil", `
	y := compiler.Cond(x.Sum().Lt(9), func(a ...*torch.Tensor) *torch.Tensor { return a[0].Sin() },
		func(a ...*torch.Tensor) *torch.Tensor { return nil }, x)
	return y.Mul(2)`, "sum lt | sin mul", "the false branch returns nil"},
	{
		"a loop whose body passes on what it got", `
	return compiler.WhileLoop(func(c ...*torch.Tensor) *torch.Tensor { return c[0].Lt(3) },
		func(c ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{c[0].Add(1), c[1]} }, torch.NewTensor(0), x)[1].Neg()`,
		"full | neg", "its body returns a tensor from outside of it, or a view of one: return a clone",
	},
	{
		"a loop whose body returns one tensor twice", `
	return compiler.WhileLoop(func(c ...*torch.Tensor) *torch.Tensor { return c[0].Abs().Sum().Lt(30) },
		func(c ...*torch.Tensor) []*torch.Tensor { y := c[0].Mul(2).Add(0.5); return []*torch.Tensor{y, y} }, x, x)[1].Neg()`,
		"neg", "two tensors that its body returns share memory",
	},
	{
		"a loop that grows what it carries", `
	return compiler.WhileLoop(func(c ...*torch.Tensor) *torch.Tensor { return c[0].Abs().Sum().Lt(30) },
		func(c ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{torch.Cat([]*torch.Tensor{c[0], c[0].Exp()})} }, x)[0].Neg()`,
		"neg | neg", "its body gets a tensor of shape [3] and returns one of [6]",
	},
	{
		"a loop through which gradients would flow", `
	return compiler.WhileLoop(func(c ...*torch.Tensor) *torch.Tensor { return c[0].Abs().Sum().Lt(30) },
		func(c ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{c[0].Mul(3).Add(weight)} }, x)[0].Detach().Neg()`,
		"detach neg", "it reads a tensor that requires gradients",
	},
	{
		"a loop whose body counts", `
	return compiler.WhileLoop(func(c ...*torch.Tensor) *torch.Tensor { return c[0].Abs().Sum().Lt(30) },
		func(c ...*torch.Tensor) []*torch.Tensor { count++; return []*torch.Tensor{c[0].Mul(2).Add(0.5)} }, x)[0].Neg()`,
		"neg", "changes count, which is outside of it",
	},
}

// sliceRefusals are calls of a function for each slice that no graph can hold.
var sliceRefusals = []struct{ name, body, ops, why string }{
	{
		"a map that counts", `
	return compiler.Map(func(a ...*torch.Tensor) []*torch.Tensor { count++; return []*torch.Tensor{a[0].Mul(2)} },
		[]*torch.Tensor{x})[0].Neg()`, "neg", "changes count, which is outside of it",
	},
	{
		"a map that passes on", `
	return compiler.Map(func(a ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{a[0]} },
		[]*torch.Tensor{x})[0].Neg()`, "neg", "its function returns a tensor from outside of it, or a view of one: return a clone",
	},
	{
		"a map that returns one tensor twice", `
	return compiler.Map(func(a ...*torch.Tensor) []*torch.Tensor { y := a[0].Mul(2); return []*torch.Tensor{y, y} },
		[]*torch.Tensor{x})[1].Neg()`, "neg", "two tensors that its function returns share memory",
	},
	{
		"a map whose function branches on data", `
	return compiler.Map(func(a ...*torch.Tensor) []*torch.Tensor {
		if a[0].Gt(0).Bool() { return []*torch.Tensor{a[0].Mul(2)} }
		return []*torch.Tensor{a[0].Neg()}
	}, []*torch.Tensor{x})[0].Neg()`, "neg", "branch on the value of gt",
	},
	{
		"a scan that grows what it carries", `
	c, _ := compiler.Scan(func(c, a []*torch.Tensor) (next, y []*torch.Tensor) {
		return []*torch.Tensor{torch.Cat([]*torch.Tensor{c[0], a[0].Reshape(1)})}, nil
	}, []*torch.Tensor{x}, []*torch.Tensor{x})
	return c[0].Neg()`, "neg", "its function gets a tensor of shape [3] and returns one of [4]",
	},
	{
		"a scan that carries another type", `
	c, _ := compiler.Scan(func(c, a []*torch.Tensor) (next, y []*torch.Tensor) {
		return []*torch.Tensor{c[0].Add(a[0]).To(torch.Float64)}, nil
	}, []*torch.Tensor{x.Sum()}, []*torch.Tensor{x})
	return c[0].Neg()`, "sum | neg", "its function gets a tensor of dtype torch.float32 and returns one of torch.float64",
	},
	{
		"a scan that carries less", `
	c, y := compiler.Scan(func(c, a []*torch.Tensor) (next, y []*torch.Tensor) {
		if len(c) == 1 { return c, []*torch.Tensor{a[0].Mul(2)} }
		return []*torch.Tensor{c[0].Add(a[0])}, []*torch.Tensor{a[0].Mul(2)}
	}, []*torch.Tensor{x.Sum(), x.Sum()}, []*torch.Tensor{x})
	return y[0].Add(c[0])`, "sum sum | add", "its function returns 1 tensors to carry where it is given 2",
	},
	{
		"a scan that draws numbers", `
	_, y := compiler.Scan(func(c, a []*torch.Tensor) (next, y []*torch.Tensor) {
		return []*torch.Tensor{c[0].Add(a[0])}, []*torch.Tensor{torch.RandLike(a[0])}
	}, []*torch.Tensor{x.Sum()}, []*torch.Tensor{x})
	return y[0].Mul(0)`, "sum | mul", "draws random numbers",
	},
	{
		"an associative scan that writes to its slice", `
	return compiler.AssociativeScan(func(a, b []*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{b[0].Mul_(a[0])} },
		[]*torch.Tensor{x.Mul(1)})[0].Neg()`, "mul | neg", "writes to a tensor from outside of it: mul_",
	},
}

const flowProgram = `
var count int
var weight = torch.Ones(3, kw.RequiresGrad(true))
var alone = compiler.Disable(func(a ...*torch.Tensor) *torch.Tensor { return a[0].Sin() })
func f(x *torch.Tensor) *torch.Tensor {
BODY
}
func main() {
	g := torch.Compile(f)
	for _, v := range []float64{1, -1, 1} { fmt.Println(g(torch.Full([]int{3}, v)), count) }
}`

// TestFlowRefused wants a break in front of each, once, with its reason.
func TestFlowRefused(t *testing.T) {
	for _, c := range append(flowRefusals[:len(flowRefusals):len(flowRefusals)], sliceRefusals...) {
		t.Run(c.name, func(t *testing.T) {
			o := both(t, strings.Replace(flowProgram, "BODY", c.body, 1))
			bs := o.breaks()
			if len(bs) == 0 {
				t.Fatalf("no break; graphs %s", o.ops())
			}
			code := "GB0170"
			if strings.Contains(c.body, "WhileLoop") {
				code = "GB9012"
			}
			if strings.Contains(c.body, "Map(") || strings.Contains(c.body, "Scan(") {
				code = "GB9028"
			}
			if b := bs[0]; b.Code != code || !strings.Contains(b.Detail, c.why) || !strings.Contains(b.Detail, "is not captured: ") {
				t.Errorf("break %s: %s, want %s: %s", b.Code, b.Detail, code, c.why)
			}
			if got := o.ops(); got != c.ops {
				t.Errorf("graphs %q, want %q", got, c.ops)
			}
			whole := strings.Replace(strings.Replace(flowProgram, "BODY", c.body, 1), "(f)", "(f, kw.Fullgraph(true))", 1)
			if o := runProgram(t, whole, true); o.exit.Code == 0 || !strings.Contains(o.stderr, c.why) {
				t.Errorf("with Fullgraph: exit %d\n%s", o.exit.Code, o.stderr)
			}
		})
	}
}

// flowCaptured are calls that a graph holds, with its operators.
var flowCaptured = []struct{ name, body, ops string }{
	{"guards of both branches", `
var scale = [2]float64{2, 3}
func f(x *torch.Tensor) *torch.Tensor {
	return compiler.Cond(x.Sum().Gt(0), func(a ...*torch.Tensor) *torch.Tensor { return a[0].Mul(scale[0]) },
		func(a ...*torch.Tensor) *torch.Tensor { return a[0].Mul(scale[1]) }, x)
}
func main() {
	g := torch.Compile(f, kw.Fullgraph(true))
	for i := range 4 {
		scale[1] += float64(i / 2)
		fmt.Println(g(torch.Full([]int{2}, float64(1-2*(i%2)))))
	}
}`, "sum gt cond | sum gt cond | sum gt cond"},
	{"a predicate that is written down", `
func f(x *torch.Tensor, yes bool) *torch.Tensor {
	return compiler.Cond(torch.NewTensor(yes), func(a ...*torch.Tensor) *torch.Tensor { return a[0].Sin() },
		func(a ...*torch.Tensor) *torch.Tensor { return a[0].Cos() }, x).Mul(2)
}
func main() {
	g := torch.Compile(f, kw.Fullgraph(true))
	fmt.Println(g(torch.Ones(2), true), g(torch.Ones(2), false))
}`, "sin mul | cos mul"},
	{"sizes that vary, used in a branch and in a loop", `
func f(x *torch.Tensor) *torch.Tensor {
	n := x.Size(0)
	y := compiler.Cond(x.Sum().Gt(0), func(a ...*torch.Tensor) *torch.Tensor { return a[0].Mul(n).Add(torch.Ones(n, 1)) },
		func(a ...*torch.Tensor) *torch.Tensor { return a[0].Sub(n) }, x)
	return compiler.WhileLoop(func(c ...*torch.Tensor) *torch.Tensor { return c[0].Sum().Lt(20) },
		func(c ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{c[0].Add(n)} }, y)[0]
}
func main() {
	g := torch.Compile(f, kw.Fullgraph(true), kw.Dynamic(true))
	for _, n := range []int{3, 5, 7} { fmt.Println(g(torch.Full([]int{n, 2}, 0.5)), g(torch.Full([]int{n, 2}, -1.0)).Sum()) }
}`, "sum gt cond while_loop"},
	{"under NoGrad, with tensors of a struct and of a slice", `
type net struct{ w *torch.Tensor; list []*torch.Tensor }
func (m *net) f(x *torch.Tensor) *torch.Tensor {
	var y *torch.Tensor
	torch.NoGrad(func() {
		y = compiler.Cond(x.Sum().Gt(0), func(a ...*torch.Tensor) *torch.Tensor { return a[0].Mul(m.w) },
			func(a ...*torch.Tensor) *torch.Tensor {
				s := a[0].Clone()
				for _, t := range m.list { s = s.Add(t) }
				return s
			}, x)
	})
	return y.Mul(m.w)
}
func main() {
	m := &net{torch.Full([]int{2}, 3.0, kw.RequiresGrad(true)), []*torch.Tensor{torch.Ones(2), torch.Ones(1)}}
	g := torch.Compile(m.f, kw.Fullgraph(true))
	for _, v := range []float64{1, -1} {
		y := g(torch.Full([]int{2}, v))
		y.Sum().Backward()
		fmt.Println(y.Detach(), m.w.Grad())
	}
}`, "sum gt cond mul"},
	{"a loop under NoGrad whose result is written", `
func f(x, w *torch.Tensor) *torch.Tensor {
	var r []*torch.Tensor
	torch.NoGrad(func() {
		r = compiler.WhileLoop(func(c ...*torch.Tensor) *torch.Tensor { return c[0].Lt(3).LogicalAnd(c[1].Sum().Lt(50)) },
			func(c ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{c[0].Add(1), c[1].Mul(w)} }, torch.NewTensor(0), x)
	})
	r[1].Mul_(2)
	return r[1].Add(w)
}
func main() {
	g := torch.Compile(f, kw.Fullgraph(true))
	w := torch.Full([]int{2}, 3.0, kw.RequiresGrad(true))
	for _, v := range []float64{1, 40} {
		x := torch.Full([]int{2}, v)
		y := g(x, w)
		y.Sum().Backward()
		fmt.Println(y.Detach(), x, w.Grad())
	}
}`, "full while_loop mul_ add"},
	{"operands of a slice, one of them twice and one unused", `
func f(list []*torch.Tensor) *torch.Tensor {
	return compiler.Cond(list[0].Sum().Gt(0), func(a ...*torch.Tensor) *torch.Tensor { return a[0].Add(a[1]) },
		func(a ...*torch.Tensor) *torch.Tensor { return a[1].Neg() }, list...)
}
func main() {
	g := torch.Compile(f, kw.Fullgraph(true))
	x, y := torch.Ones(2), torch.Full([]int{2}, -2.0)
	fmt.Println(g([]*torch.Tensor{x, x, y}), g([]*torch.Tensor{y, x, y}), g([]*torch.Tensor{y, x}))
}`, "sum gt cond | sum gt cond | sum gt cond"},
}

// slicesCaptured are calls of a function for each slice that a graph holds.
var slicesCaptured = []struct{ name, body, ops string }{
	{"sizes that vary", `
func f(x, w *torch.Tensor) *torch.Tensor {
	n := x.Size(0)
	y := compiler.Map(func(a ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{a[0].Mul(n).Add(w)} }, []*torch.Tensor{x})[0]
	c, z := compiler.Scan(func(c, a []*torch.Tensor) (next, y []*torch.Tensor) {
		return []*torch.Tensor{c[0].Add(a[0])}, []*torch.Tensor{c[0].Mul(0.5)}
	}, []*torch.Tensor{w.Clone()}, []*torch.Tensor{y}, kw.Reverse(true))
	return compiler.AssociativeScan(func(a, b []*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{a[0].Maximum(b[0])} },
		[]*torch.Tensor{z[0]}, kw.Dim(-1))[0].Add(c[0])
}
func main() {
	g := torch.Compile(f, kw.Fullgraph(true), kw.Dynamic(true))
	for _, n := range []int{3, 5, 7} {
		x, w := torch.Arange(2*n).Reshape(n, 2).Mul(0.1).RequiresGrad_(), torch.Ones(2, kw.RequiresGrad(true))
		y := g(x, w)
		y.Sum().Backward()
		fmt.Println(y.Detach(), x.Grad(), w.Grad())
	}
}`, "map_impl clone flip scan flip movedim associative_scan movedim add"},
	{"under NoGrad, in a loop, and as operand of another", `
func f(x *torch.Tensor) *torch.Tensor {
	var y []*torch.Tensor
	torch.NoGrad(func() {
		for range 2 {
			y = compiler.Map(func(a ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{a[0].Exp(), a[0].Sum()} }, []*torch.Tensor{x})
			x = y[0].Mul(0.1)
		}
	})
	return x.Add(y[1].Reshape(-1, 1))
}
func main() {
	g := torch.Compile(f, kw.Fullgraph(true))
	fmt.Println(g(torch.Ones(3, 2)), g(torch.Zeros(3, 2)))
}`, "map_impl mul map_impl mul reshape add"},
	{"a map in a branch, a branch in a map", `
func f(x *torch.Tensor) *torch.Tensor {
	return compiler.Cond(x.Sum().Gt(0), func(a ...*torch.Tensor) *torch.Tensor {
		return compiler.Map(func(b ...*torch.Tensor) []*torch.Tensor {
			return []*torch.Tensor{compiler.Switch(b[0].Gt(0).Sum(), []func(...*torch.Tensor) *torch.Tensor{
				func(c ...*torch.Tensor) *torch.Tensor { return c[0].Neg() },
				func(c ...*torch.Tensor) *torch.Tensor { return c[0].Exp() }}, b[0])}
		}, []*torch.Tensor{a[0]})[0]
	}, func(a ...*torch.Tensor) *torch.Tensor { return a[0].Cos() }, x)
}
func main() {
	g := torch.Compile(f, kw.Fullgraph(true))
	for _, v := range []float64{1, -1} {
		x := torch.Full([]int{3, 2}, v, kw.RequiresGrad(true))
		y := g(x)
		y.Sum().Backward()
		fmt.Println(y.Detach(), x.Grad())
	}
}`, "sum gt cond"},
	{"a branch that is the only one, and one that is written down", `
func f(x *torch.Tensor) *torch.Tensor {
	sin := func(c ...*torch.Tensor) *torch.Tensor { return c[0].Sin() }
	cos := func(c ...*torch.Tensor) *torch.Tensor { return c[0].Cos() }
	type list = []func(...*torch.Tensor) *torch.Tensor
	y := compiler.Switch(x.Gt(0).Sum(), list{sin}, x)
	return compiler.Switch(torch.NewTensor(7), list{sin, cos}, y)
}
func main() { fmt.Println(torch.Compile(f, kw.Fullgraph(true))(torch.Ones(3))) }`, "sin cos"},
	{"a scan of one slice, and whole numbers that are carried", `
func f(x *torch.Tensor) *torch.Tensor {
	c, y := compiler.Scan(func(c, a []*torch.Tensor) (next, y []*torch.Tensor) {
		return []*torch.Tensor{c[0].Add(1), c[1].Mul(a[0])}, []*torch.Tensor{c[1].Mul(c[0])}
	}, []*torch.Tensor{torch.Zeros(1, kw.Dtype(torch.Int64)), x.Select(0, 0).Mul(1)}, []*torch.Tensor{x})
	z := compiler.AssociativeScan(func(a, b []*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{a[0].Mul(b[0])} }, []*torch.Tensor{x})
	return y[0].Add(c[1]).Add(c[0]).Add(z[0])
}
func main() {
	g := torch.Compile(f, kw.Fullgraph(true))
	for _, n := range []int{1, 4} {
		x := torch.Full([]int{n, 2}, 1.5, kw.RequiresGrad(true))
		y := g(x)
		y.Sum().Backward()
		fmt.Println(y.Detach(), x.Grad())
	}
}`, "zeros select mul scan movedim associative_scan movedim add add add | zeros select mul scan movedim associative_scan movedim add add add"},
}

func TestFlowCaptured(t *testing.T) {
	for _, c := range append(flowCaptured[:len(flowCaptured):len(flowCaptured)], slicesCaptured...) {
		t.Run(c.name, func(t *testing.T) {
			o := both(t, c.body)
			if got := o.ops(); got != c.ops || o.codes() != "" {
				t.Errorf("graphs %q with breaks %q, want %q", got, o.codes(), c.ops)
			}
		})
	}
}

// TestPlaceOfFlow wants the node, and what is taken out of it, at the line of the call.
func TestPlaceOfFlow(t *testing.T) {
	o := both(t, `
func f(x *torch.Tensor) *torch.Tensor {
	y := compiler.Cond(x.Sum().Gt(0), func(a ...*torch.Tensor) *torch.Tensor { return a[0].Mul(2) },
		func(a ...*torch.Tensor) *torch.Tensor { return a[0].Neg() }, x)
	return y.Exp()
}
func main() { fmt.Println(torch.Compile(f)(torch.Ones(2))) }`)
	for _, out := range o.log.out {
		if out.Kind != "dynamo_output_graph" {
			continue
		}
		before, _, _ := strings.Cut(string(out.Payload), "torch.ops.higher_order.cond")
		if i := strings.LastIndex(before, "code: "); i < 0 || !strings.HasPrefix(before[i:], "code: y := compiler.Cond(") {
			t.Errorf("the choice is at another line:\n%s", out.Payload)
		}
		return
	}
	t.Error("no graph")
}

// TestHistoryOfFlow: whether a result requires gradients only the branch tells.
func TestHistoryOfFlow(t *testing.T) {
	o := both(t, `
func f(x *torch.Tensor) *torch.Tensor {
	y := compiler.Cond(x.Sum().Gt(0), func(a ...*torch.Tensor) *torch.Tensor { return a[0].Mul(2) },
		func(a ...*torch.Tensor) *torch.Tensor { return torch.ZerosLike(a[0]) }, x)
	if y.RequiresGrad() { return y.Mul(3) }
	return y
}
func main() {
	g := torch.Compile(f)
	fmt.Println(g(torch.Ones(2).RequiresGrad_()).Detach())
}`)
	if bs := o.breaks(); len(bs) == 0 || !strings.Contains(bs[0].Detail, "which the branch decides that runs") {
		t.Errorf("breaks %v", bs)
	}
}

// TestBackwardThroughCond: a backward pass that is captured breaks at a choice.
func TestBackwardThroughCond(t *testing.T) {
	o := both(t, `
func f(x *torch.Tensor) *torch.Tensor {
	y := compiler.Cond(x.Sum().Gt(0), func(a ...*torch.Tensor) *torch.Tensor { return a[0].Mul(a[0]) },
		func(a ...*torch.Tensor) *torch.Tensor { return a[0].Neg() }, x)
	y.Sum().Backward()
	return x.Grad()
}
func main() {
	g := torch.Compile(f, kw.CaptureBackward(true))
	for _, v := range []float64{1, -1} { fmt.Println(g(torch.Full([]int{2}, v, kw.RequiresGrad(true)))) }
}`)
	if bs := o.breaks(); len(bs) == 0 || !strings.Contains(bs[0].Detail, "gradients flow through compiler.Cond") {
		t.Errorf("breaks %v", bs)
	}
}
