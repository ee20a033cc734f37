package stop_test

import (
	"strings"
	"testing"

	"tcdbg/logs"
	"tcdbg/torch"
	"tcdbg/tracer"
	"tcdbg/tracer/replay"
)

const bornInside = `
func f(x *torch.Tensor) *torch.Tensor {
	y := x.Sub(1)
	z := y.Log() // born
	return z.Mul(2)
}

func main() {
	x := torch.NewTensor([]float32{1, 2, 3})
	fmt.Println(x.Sub(4).Log().Data()) // eagerly
	g := torch.Compile(f)
	fmt.Println(g(x).Data())
}
`

// A NaN or Inf stops where it comes into being: at an eager operator, and in a graph,
// with the operator and the line.
func TestNaN(t *testing.T) {
	s := load(t, "\n"+bornInside)
	st := s.run("nan")
	if st.Kind != logs.StopNaN || st.Where.Line != s.line("// eagerly") || !strings.Contains(st.Reason, "operator Log gives 3 NaN") {
		t.Errorf("%+v", st)
	}
	st = s.run()
	if st.Kind != logs.StopNaN || st.Where.Line != s.line("// born") ||
		!strings.Contains(st.Reason, "operator log of __compiled_fn_0 gives 1 Inf") ||
		st.Compiled != "f" || st.Compile != "0/0" {
		t.Errorf("%+v", st)
	}
	if e := s.finish(); e.Code != 0 || s.stdout.String() != "[NaN NaN NaN]\n[-Inf 0 1.3862943649291992]\n" {
		t.Errorf("%+v %q", e, s.stdout.String())
	}
}

// A NaN stops where an operator makes it that is no call by name: a func value, from a variable,
// a field, a map or an argument, a method value or expression, a method of an interface; and in a
// backward pass.
func TestNaNOfFuncValues(t *testing.T) {
	for _, body := range []string{
		"f := torch.Log; f(x) // born",
		"f := x.Log; f() // born",
		"f := (*torch.Tensor).Log; f(x) // born",
		"var l interface{ Log() *torch.Tensor } = x; l.Log() // born",
		"m := map[string]func(*torch.Tensor) *torch.Tensor{\"log\": torch.Log}; m[\"log\"](x) // born",
		"l := layer{torch.Log}; l.f(x) // born",
		"apply((*torch.Tensor).Log, x)",
		"w := x.Mul(0).RequiresGrad_(true); y := w.Sqrt().Sum(); y.Backward() // born",
	} {
		text := `
type layer struct{ f func(*torch.Tensor) *torch.Tensor }

func apply(f func(*torch.Tensor) *torch.Tensor, x *torch.Tensor) *torch.Tensor { BODY }

func main() {
	x := torch.NewTensor([]float32{-1, -2})
	` + body + `
}
`
		in := "return f(x)"
		if strings.HasPrefix(body, "apply") {
			in += " // born"
		}
		s := load(t, strings.Replace(text, "BODY", in+"\n", 1))
		st := s.run("nan")
		backward := strings.Contains(st.Reason, "SqrtBackward0, in the backward pass, gives 2 Inf")
		eager := strings.Contains(st.Reason, "operator Log gives 2 NaN")
		if st.Kind != logs.StopNaN || st.Where.Line != s.line("// born") || !backward && !eager {
			t.Errorf("%s: %+v", body, st)
		}
		if st, more := s.nextAfter(); more {
			t.Errorf("%s: it stops again: %s", body, st.Reason)
		}
	}
}

// nextAfter is the next stop, unless the program ends before it.
func (s *session) nextAfter() (logs.Stop, bool) {
	s.t.Helper()
	s.send("continue", "")
	return s.nextOrEnd()
}

// wrong is a backend whose graphs give 1 too much in every element.
type wrong struct{}

func (wrong) Name() string { return "wrong" }

func (wrong) Compile(r *tracer.Request) (replay.Runnable, error) {
	return func(in []torch.Value) []torch.Value {
		out := r.Module.Run(in)
		for i, v := range out {
			if x, ok := v.(*torch.Tensor); ok {
				out[i] = x.Add(1)
			}
		}
		return out
	}, nil
}

const compared = `
func f(x *torch.Tensor, seen *torch.Tensor) *torch.Tensor {
	seen.Add_(1)
	return x.Mul(2)
}

func noise(x *torch.Tensor) *torch.Tensor {
	return x.Add(torch.Rand(3))
}

func main() {
	seen := torch.Zeros(1)
	g, h := torch.Compile(f), torch.Compile(noise)
	for range 2 {
		fmt.Println(g(torch.Ones(3), seen).Data(), seen.Data())
	}
	h(torch.Ones(3))
}
`

// A compiled graph is compared with its operators, on copies: what it writes is written
// once. A right one does not stop; one with random numbers is refused in words.
func TestDiffers(t *testing.T) {
	s := load(t, "\n"+compared)
	if p := s.point("differs"); p.Error != "" {
		t.Fatal(p.Error)
	}
	s.send("continue", "")
	if e := s.ended(); e.Code != 0 || s.stdout.String() != "[2 2 2] [1]\n[2 2 2] [2]\n" {
		t.Errorf("%+v %q", e, s.stdout.String())
	}
	refused := false
	for _, st := range s.states {
		refused = refused || strings.Contains(st.Text, "is not compared: it draws random numbers")
	}
	if !refused || s.seen != len(s.stops) {
		t.Errorf("refused: %v, %d stops", refused, len(s.stops))
	}

	backend = wrong{}
	defer func() { backend = eager{} }()
	s = load(t, "\n"+compared)
	st := s.run("differs")
	if st.Kind != logs.StopDiffers || !strings.Contains(st.Reason, "output 0 of __compiled_fn_0 differs from eager: 3 of 3 elements") ||
		!strings.Contains(st.Reason, "compiled 3, eager 2") || len(st.Symbolic) != 2 || st.Compiled != "f" {
		t.Errorf("%+v", st)
	}
	s.finish()
}
