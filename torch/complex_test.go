package torch_test

import (
	"compress/gzip"
	"encoding/json"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tcdbg/torch"
	"tcdbg/torch/kw"
)

// complexCases is what PyTorch says of the expressions below.
type complexCases struct {
	Cases []struct {
		Name, DType string
		Shape       []int
		Values      []float64 // a complex number is two
		Grads       [][]float64
	}
	Prints []struct {
		Parts [][2]string
		Shape []int
		Want  string
	}
	Tape map[string]string
}

func readComplexCases(t *testing.T) *complexCases {
	t.Helper()
	f, err := os.Open("testdata/complex.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	c := &complexCases{}
	if err := json.NewDecoder(z).Decode(c); err != nil {
		t.Fatal(err)
	}
	return c
}

// The operands of the expressions, by letter.
var complexOperands = map[byte]any{
	'z': [][]complex64{{1 + 2i, -0.5 + 0.25i, 3 - 1i}, {0.125 - 2i, -1.5 - 0.75i, 0.5}},
	'w': [][]complex64{{0.5 - 1i, 2 + 0.5i, -1 + 1i}, {1 + 1i, 0.25 - 3i, -2 + 0.5i}},
	'x': [][]float32{{1.5, -2, 0.25}, {3, -0.5, 1}},
	's': [][]complex64{{1 + 1i, 2 - 1i}, {0.5i, -1}},
	'p': [][]float32{{1, 2}, {3, -4}, {0, 0}},
}

type tensors = []*torch.Tensor

// complexExpression is a function of the operands that its letters name.
type complexExpression struct {
	operands string
	f        func(a tensors) *torch.Tensor
}

func unaryComplex(f func(*torch.Tensor) *torch.Tensor) complexExpression {
	return complexExpression{"z", func(a tensors) *torch.Tensor { return f(a[0]) }}
}

var complexExpressions = map[string]complexExpression{
	"exp": unaryComplex((*torch.Tensor).Exp), "log": unaryComplex((*torch.Tensor).Log), "sqrt": unaryComplex((*torch.Tensor).Sqrt),
	"rsqrt": unaryComplex((*torch.Tensor).Rsqrt), "square": unaryComplex((*torch.Tensor).Square),
	"reciprocal": unaryComplex((*torch.Tensor).Reciprocal),
	"sin":        unaryComplex((*torch.Tensor).Sin), "cos": unaryComplex((*torch.Tensor).Cos), "tan": unaryComplex((*torch.Tensor).Tan),
	"asin": unaryComplex((*torch.Tensor).Asin), "acos": unaryComplex((*torch.Tensor).Acos), "atan": unaryComplex((*torch.Tensor).Atan),
	"sinh": unaryComplex((*torch.Tensor).Sinh), "cosh": unaryComplex((*torch.Tensor).Cosh), "tanh": unaryComplex((*torch.Tensor).Tanh),
	"asinh": unaryComplex((*torch.Tensor).Asinh), "acosh": unaryComplex((*torch.Tensor).Acosh),
	"atanh":   unaryComplex((*torch.Tensor).Atanh),
	"sigmoid": unaryComplex((*torch.Tensor).Sigmoid), "neg": unaryComplex((*torch.Tensor).Neg), "abs": unaryComplex((*torch.Tensor).Abs),
	"angle": unaryComplex((*torch.Tensor).Angle), "sgn": unaryComplex((*torch.Tensor).Sgn), "real": unaryComplex((*torch.Tensor).Real),
	"imag": unaryComplex((*torch.Tensor).Imag), "conj": unaryComplex((*torch.Tensor).Conj),

	"add":             {"zw", func(a tensors) *torch.Tensor { return a[0].Add(a[1]) }},
	"sub":             {"zw", func(a tensors) *torch.Tensor { return a[0].Sub(a[1]) }},
	"mul":             {"zw", func(a tensors) *torch.Tensor { return a[0].Mul(a[1]) }},
	"div":             {"zw", func(a tensors) *torch.Tensor { return a[0].Div(a[1]) }},
	"add real":        {"zx", func(a tensors) *torch.Tensor { return a[0].Add(a[1]) }},
	"real mul":        {"xw", func(a tensors) *torch.Tensor { return a[0].Mul(a[1]) }},
	"div real":        {"zx", func(a tensors) *torch.Tensor { return a[0].Div(a[1]) }},
	"real div":        {"xw", func(a tensors) *torch.Tensor { return a[0].Div(a[1]) }},
	"add number":      {"z", func(a tensors) *torch.Tensor { return a[0].Add(1.5) }},
	"mul number":      {"z", func(a tensors) *torch.Tensor { return a[0].Mul(2 - 1i) }},
	"real mul number": {"x", func(a tensors) *torch.Tensor { return a[0].Mul(complex64(1 + 2i)) }},
	"add alpha":       {"zw", func(a tensors) *torch.Tensor { return a[0].Add(a[1], kw.Alpha(2)) }},
	"sub alpha":       {"zw", func(a tensors) *torch.Tensor { return a[0].Sub(a[1], kw.Alpha(1i)) }},
	"rsub":            {"z", func(a tensors) *torch.Tensor { return torch.Rsub(a[0], 1) }},
	"number div":      {"z", func(a tensors) *torch.Tensor { return torch.Div(1, a[0]) }},
	"pow 2":           {"z", func(a tensors) *torch.Tensor { return a[0].Pow(2) }},
	"pow 3":           {"z", func(a tensors) *torch.Tensor { return a[0].Pow(3) }},
	"pow half":        {"z", func(a tensors) *torch.Tensor { return a[0].Pow(0.5) }},
	"pow -1":          {"z", func(a tensors) *torch.Tensor { return a[0].Pow(-1) }},
	"pow complex":     {"z", func(a tensors) *torch.Tensor { return a[0].Pow(1 + 1i) }},
	"pow tensor":      {"zw", func(a tensors) *torch.Tensor { return a[0].Pow(a[1]) }},

	"matmul":  {"zw", func(a tensors) *torch.Tensor { return a[0].Matmul(a[1].T()) }},
	"mm conj": {"zw", func(a tensors) *torch.Tensor { return torch.Mm(a[0].T(), a[1].Conj()) }},
	"mv":      {"sz", func(a tensors) *torch.Tensor { return torch.Mv(a[0], a[1].Select(1, 0)) }},
	"dot":     {"zw", func(a tensors) *torch.Tensor { return torch.Dot(a[0].Select(0, 0), a[1].Select(0, 0)) }},
	"vdot":    {"zw", func(a tensors) *torch.Tensor { return torch.Vdot(a[0].Select(0, 0), a[1].Select(0, 0)) }},
	"outer":   {"zw", func(a tensors) *torch.Tensor { return torch.Outer(a[0].Select(0, 0), a[1].Select(0, 1)) }},
	"bmm": {"sz", func(a tensors) *torch.Tensor {
		return torch.Bmm(a[0].Unsqueeze(0).Expand(2, 2, 2), torch.Stack(tensors{a[1], a[1].Mul(2)}))
	}},
	"addmm":   {"wsz", func(a tensors) *torch.Tensor { return torch.Addmm(a[0], a[1], a[2], kw.Beta(0.5), kw.Alpha(2)) }},
	"einsum":  {"sz", func(a tensors) *torch.Tensor { return torch.Einsum("ij,jk->ik", a[0], a[1]) }},
	"trace":   {"s", func(a tensors) *torch.Tensor { return torch.Trace(a[0]) }},
	"inner":   {"zw", func(a tensors) *torch.Tensor { return torch.Inner(a[0], a[1]) }},
	"addcmul": {"zws", func(a tensors) *torch.Tensor { return torch.Addcmul(a[0], a[1], a[1], kw.Value(0.5)) }},

	"sum":      unaryComplex(func(z *torch.Tensor) *torch.Tensor { return z.Sum() }),
	"sum dim":  unaryComplex(func(z *torch.Tensor) *torch.Tensor { return z.Sum(kw.Dim(0)) }),
	"mean":     unaryComplex(func(z *torch.Tensor) *torch.Tensor { return z.Mean() }),
	"mean dim": unaryComplex(func(z *torch.Tensor) *torch.Tensor { return z.Mean(kw.Dim(1), kw.Keepdim(true)) }),
	"eq":       unaryComplex(func(z *torch.Tensor) *torch.Tensor { return z.Eq(z.Conj()).To(torch.Float32) }),
	"ne":       {"zw", func(a tensors) *torch.Tensor { return a[0].Ne(a[1]) }},
	"where":    {"xzw", func(a tensors) *torch.Tensor { return torch.Where(a[0].Gt(0), a[1], a[2]) }},
	"isnan":    unaryComplex((*torch.Tensor).Isnan), "isfinite": unaryComplex((*torch.Tensor).Isfinite),

	"view_as_real":      unaryComplex(torch.ViewAsReal),
	"view_as_real t":    unaryComplex(func(z *torch.Tensor) *torch.Tensor { return torch.ViewAsReal(z.T()) }),
	"view_as_complex":   {"p", func(a tensors) *torch.Tensor { return torch.ViewAsComplex(a[0]) }},
	"complex":           {"x", func(a tensors) *torch.Tensor { return torch.Complex(a[0], a[0].Mul(2)) }},
	"complex broadcast": {"x", func(a tensors) *torch.Tensor { return torch.Complex(a[0], a[0].Select(0, 0)) }},
	"polar":             {"x", func(a tensors) *torch.Tensor { return torch.Polar(a[0].Abs(), a[0]) }},
	"abs square":        unaryComplex(func(z *torch.Tensor) *torch.Tensor { return z.Mul(z.Conj()).Real() }),
	"imag part view":    unaryComplex(func(z *torch.Tensor) *torch.Tensor { return z.Imag().Mul(z.Real()) }),
	"real angle":        {"x", func(a tensors) *torch.Tensor { return a[0].Angle() }},
	"real conj":         {"x", func(a tensors) *torch.Tensor { return a[0].Conj() }},
	"abs zero":          {"p", func(a tensors) *torch.Tensor { return torch.ViewAsComplex(a[0]).Abs() }},
	"angle zero":        {"p", func(a tensors) *torch.Tensor { return torch.ViewAsComplex(a[0]).Angle() }},
	"sgn zero":          {"p", func(a tensors) *torch.Tensor { return torch.ViewAsComplex(a[0]).Sgn() }},

	"cat":        {"zw", func(a tensors) *torch.Tensor { return torch.Cat(tensors{a[0], a[1]}, kw.Dim(1)) }},
	"stack":      {"zw", func(a tensors) *torch.Tensor { return torch.Stack(tensors{a[0], a[1]}) }},
	"index":      unaryComplex(func(z *torch.Tensor) *torch.Tensor { return z.Select(0, 1) }),
	"transpose":  unaryComplex(func(z *torch.Tensor) *torch.Tensor { return z.T().Contiguous() }),
	"flip":       unaryComplex(func(z *torch.Tensor) *torch.Tensor { return z.Flip(1) }),
	"repeat":     unaryComplex(func(z *torch.Tensor) *torch.Tensor { return z.Repeat(2, 1) }),
	"to complex": {"x", func(a tensors) *torch.Tensor { return a[0].To(torch.Complex64) }},
	"zeros_like": unaryComplex(func(z *torch.Tensor) *torch.Tensor { return torch.ZerosLike(z) }),
	"ones_like":  unaryComplex(func(z *torch.Tensor) *torch.Tensor { return torch.OnesLike(z) }),
	"full":       {"x", func(a tensors) *torch.Tensor { return torch.Full([]int{2}, 1-2i).Add(a[0].Select(1, 0)) }},
	"gather": unaryComplex(func(z *torch.Tensor) *torch.Tensor {
		return z.Gather(1, torch.NewTensor([][]int{{0, 2}, {1, 1}}))
	}),
	"index_select": unaryComplex(func(z *torch.Tensor) *torch.Tensor { return z.IndexSelect(1, torch.NewTensor([]int{2, 0})) }),
}

// parts are the elements as PyTorch's view_as_real lists them.
func parts(t *torch.Tensor) []float64 {
	if !t.DType().IsComplex() {
		return t.Detach().Float64s()
	}
	var out []float64
	for _, z := range t.Detach().Complex64s() {
		out = append(out, float64(real(z)), float64(imag(z)))
	}
	return out
}

func differs(got, want []float64) bool {
	if len(got) != len(want) {
		return true
	}
	for i, w := range want {
		if g := got[i]; !(math.Abs(g-w) <= 2e-5+2e-5*math.Abs(w)) && !(math.IsNaN(g) && math.IsNaN(w)) && g != w {
			return true
		}
	}
	return false
}

// rampSeed is the gradient that the reference was given.
func rampSeed(y *torch.Tensor) *torch.Tensor {
	s := torch.Arange(1, y.Numel()+1, kw.Dtype(torch.Float32)).Reshape(y.Shape()...)
	if y.DType().IsComplex() {
		return torch.Complex(s, s.Mul(-0.5))
	}
	return s
}

func TestComplexExpressionsAreTheReferences(t *testing.T) {
	cases := readComplexCases(t).Cases
	if len(cases) != len(complexExpressions) {
		t.Errorf("%d references for %d expressions", len(cases), len(complexExpressions))
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			e, ok := complexExpressions[c.Name]
			if !ok {
				t.Fatal("no such expression")
			}
			var a tensors
			for _, o := range e.operands {
				a = append(a, torch.NewTensor(complexOperands[byte(o)], kw.RequiresGrad(true)))
			}
			y := e.f(a)
			if y.DType().Name() != c.DType || !slices.Equal(y.Shape(), c.Shape) || differs(parts(y), c.Values) {
				t.Errorf("%s %v %v\nwant %s %v %v", y.DType().Name(), y.Shape(), parts(y), c.DType, c.Shape, c.Values)
			}
			if y.RequiresGrad() != (c.Grads != nil) {
				t.Fatalf("requires grad: %v", y.RequiresGrad())
			}
			if c.Grads == nil {
				return
			}
			y.Backward(kw.Gradient(rampSeed(y)))
			for i, want := range c.Grads {
				switch g := a[i].Grad(); {
				case (g == nil) != (want == nil):
					t.Errorf("gradient %d: %v, want %v", i, g, want)
				case g != nil && differs(parts(g), want):
					t.Errorf("gradient %d: %v\nwant %v", i, parts(g), want)
				}
			}
		})
	}
}

func TestPrintedComplexTensorsAreTheReferences(t *testing.T) {
	for i, c := range readComplexCases(t).Prints {
		vals := make([]complex64, len(c.Parts))
		for j, p := range c.Parts {
			re, err := strconv.ParseFloat(p[0], 64)
			im, err2 := strconv.ParseFloat(p[1], 64)
			if err != nil || err2 != nil {
				t.Fatal(err, err2)
			}
			vals[j] = complex(float32(re), float32(im))
		}
		if got := torch.NewTensor(vals).Reshape(c.Shape...).String(); got != c.Want {
			t.Errorf("%d:\n%s\nwant\n%s", i, got, c.Want)
		}
	}
}

func TestPrintedComplexTapeIsTheReferences(t *testing.T) {
	z := torch.NewTensor([]complex64{1 + 2i, 3 - 1i}, kw.RequiresGrad(true))
	got := map[string]*torch.Tensor{
		"requires": z, "mul": z.Mul(2), "real": z.Real(), "imag": z.Imag(), "conj": z.Conj(), "abs": z.Abs(), "angle": z.Angle(),
		"view_as_real": torch.ViewAsReal(z), "complex": torch.Complex(z.Abs(), z.Abs()), "exp": z.Exp(),
		"meta": torch.Zeros(2, kw.Dtype(torch.Complex64), kw.Device("meta")),
	}
	for name, want := range readComplexCases(t).Tape {
		if got[name] == nil || got[name].String() != want {
			t.Errorf("%s: %v\nwant %s", name, got[name], want)
		}
	}
}

// The parts of a complex tensor are its memory.
func TestComplexViewsShareMemory(t *testing.T) {
	z := torch.NewTensor([]complex64{1 + 2i, 3 - 1i, 5i})
	z.Imag().Fill_(7)
	z.Narrow(0, 1, 2).Real().Mul_(10)
	pairs := torch.NewTensor([][]float32{{0, 0}, {1, 2}, {3, 4}})
	torch.ViewAsComplex(pairs.Narrow(0, 1, 2)).Mul_(2i)
	torch.ViewAsReal(z).Select(0, 0).Select(0, 0).Fill_(-4)
	if got, want := z.String(), "tensor([-4.+7.j, 30.+7.j,  0.+7.j])"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if got, want := parts(pairs), []float64{0, 0, -4, 2, -8, 6}; differs(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Go's numbers of several kinds make one complex tensor.
func TestComplexData(t *testing.T) {
	for _, c := range []struct {
		data any
		want string
	}{
		{2 - 3i, "tensor(2.-3.j)"},
		{[]any{1, 2.5, 1i}, "tensor([1.0000+0.j, 2.5000+0.j, 0.0000+1.j])"},
		{[]any{1i, 2, 0.5}, "tensor([0.0000+1.j, 2.0000+0.j, 0.5000+0.j])"},
		{[]complex64{}, "tensor([], dtype=torch.complex64)"},
	} {
		if got := torch.NewTensor(c.data).String(); got != c.want {
			t.Errorf("%v: %s, want %s", c.data, got, c.want)
		}
	}
}

// What has no right answer for complex numbers says so, naming operator and
// dtype in one line.
func TestComplexRefusals(t *testing.T) {
	z := torch.NewTensor([][]complex64{{1 + 2i, 3}, {1i, 2}})
	for name, f := range map[string]func(){
		"lt": func() { z.Lt(z) }, "relu": func() { z.Relu() }, "max": func() { z.Max() }, "sort": func() { z.Sort() },
		"softmax": func() { z.Softmax(0) }, "clamp": func() { z.Clamp(kw.Min(0)) },
		"floor": func() { z.Floor() }, "argmax": func() { z.Argmax() }, "floor_divide": func() { z.FloorDivide(z) },
		"randn": func() { torch.Randn(2, kw.Dtype(torch.Complex64)) }, "Complex64s": func() { z.Float64s() },
		"relu_": func() { z.Relu_() }, "linalg.inv": func() { torch.LinalgInv(z) }, "erf": func() { z.Erf() },
		"div": func() { z.Div(z, kw.RoundingMode("floor")) }, "item": func() { z.Select(0, 0).Select(0, 0).Item() },
	} {
		msg := refusal(f)
		if !strings.Contains(msg, name) || !strings.Contains(msg, "'ComplexFloat'") && !strings.Contains(msg, "complex") ||
			strings.Contains(msg, "\n") {
			t.Errorf("%s: %q", name, msg)
		}
	}
	for want, f := range map[string]func(){
		"imag is not implemented for tensors with non-complex dtypes.": func() { torch.Ones(2).Imag() },
		"view_as_real is only supported for complex tensors":           func() { torch.ViewAsReal(torch.Ones(2)) },
		"Tensor must have a last dimension of size 2": func() {
			torch.ViewAsComplex(torch.Ones(3))
		},
		"Tensor must have a last dimension with stride 1": func() {
			torch.ViewAsComplex(torch.Ones(2, 2).T())
		},
		"Tensor must have a storage_offset divisible by 2": func() {
			torch.ViewAsComplex(torch.Ones(4).Narrow(0, 1, 2))
		},
		"the complex type of Double is not supported": func() {
			torch.Complex(torch.Ones(2, kw.Dtype(torch.Float64)), torch.Ones(2))
		},
		"result type ComplexFloat can't be cast to the desired output type Float": func() { torch.Ones(2, 2).Mul_(z) },
		"grad can be implicitly created only for real scalar outputs but got torch.complex64": func() {
			z.RequiresGrad_().Sum().Backward()
		},
		"For complex Tensors, both grad_output and output are required to have the same dtype.": func() {
			z.RequiresGrad_().Sum().Backward(kw.Gradient(torch.NewTensor(1.0)))
		},
		"complex numbers do not fit in a tensor of dtype torch.float32": func() {
			torch.NewTensor([]complex64{1i}, kw.Dtype(torch.Float32))
		},
		"cannot be changed in place where gradients are wanted": func() { z.RequiresGrad_().Mul(1).Real().Mul_(2) },
	} {
		if msg := refusal(f); !strings.Contains(msg, want) {
			t.Errorf("%q\nwant %q", msg, want)
		}
	}
}

// refusal is the message with which f panics.
func refusal(f func()) (msg string) {
	defer func() {
		if err, ok := recover().(error); ok {
			msg = err.Error()
		}
	}()
	f()
	return ""
}
