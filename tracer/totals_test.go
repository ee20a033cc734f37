package tracer

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"tcdbg/logs"
)

// TestOperatorsLeftEager counts the operators that run outside of graphs, for
// each frame the most of one call: after a break, in a callee that is
// disabled, in a frame that reached its limit; not those of the graphs, of
// compiled functions called from there, or of main.
func TestOperatorsLeftEager(t *testing.T) {
	for _, c := range []struct{ name, program, want string }{
		{"none", `
func f(x *torch.Tensor) *torch.Tensor { return x.Sin().Cos() }
func main() { g := torch.Compile(f); fmt.Println(g(torch.Ones(2)).Exp().Log()) }`, "f 0"},
		{"a break on the way", `
func f(x *torch.Tensor) *torch.Tensor { y := x.Sin(); n := y.Nonzero(); return n.Cos().Exp() }
func main() { g := torch.Compile(f); fmt.Println(g(torch.Ones(2)), g(torch.Ones(2))) }`, "f 1, torch_dynamo_resume_in_f_at 0"},
		{"disabled", `
var slow = compiler.Disable(func(x *torch.Tensor) *torch.Tensor { return x.Exp().Log().Neg() })
func f(x *torch.Tensor) *torch.Tensor { return slow(x.Sin()).Cos() }
func main() { g := torch.Compile(f); fmt.Println(g(torch.Ones(2)), g(torch.Ones(2))) }`, "f 3, torch_dynamo_resume_in_f_at 0"},
		{"a compiled function called after a break", `
var h = torch.Compile(func(x *torch.Tensor) *torch.Tensor { y := x.Tanh(); fmt.Println("h"); return y.Nonzero() }, kw.Name("h"))
var slow = compiler.Disable(func(x *torch.Tensor) *torch.Tensor { return h(x).Neg() }, kw.Recursive(false))
func f(x *torch.Tensor) *torch.Tensor { return slow(x.Sin()).Cos() }
func main() { g := torch.Compile(f); fmt.Println(g(torch.Ones(2))) }`, "f 1, h 1, torch_dynamo_resume_in_f_at 0"},
		{"in the body of a NoGrad that breaks", `
func f(x *torch.Tensor) *torch.Tensor {
	y := x.Sin()
	torch.NoGrad(func() { y = y.Cos(); fmt.Println("y"); y = y.Exp().Neg() })
	return y.Tanh()
}
func main() { g := torch.Compile(f); fmt.Println(g(torch.Ones(2))) }`, "f 3, torch_dynamo_resume_in_f_at 0"},
		{"callbacks within callbacks, and one that panics", `
func f(x *torch.Tensor) *torch.Tensor {
	y := x.Sin()
	func() {
		defer func() { fmt.Println(recover()) }()
		torch.NoGrad(func() { torch.EnableGrad(func() { y = y.Exp() }); y = y.Neg(); panic("over") })
	}()
	return y
}
func main() { g := torch.Compile(f); fmt.Println(g(torch.Ones(2))) }`, "f 0, torch_dynamo_resume_in_f.func1_at 2"},
		{"a callback that native code keeps", `
func f(x *torch.Tensor) *torch.Tensor {
	y := x.Sin()
	y.RegisterHook(func(g *torch.Tensor) *torch.Tensor { return g.Mul(2).Neg() })
	fmt.Println("y")
	return y
}
func main() {
	g := torch.Compile(f)
	x := torch.Ones(2, kw.RequiresGrad(true))
	g(x).Sum().Backward()
	fmt.Println(x.Grad())
}`, "f 0"},
		{"the limit", `
func f(x *torch.Tensor, n int) *torch.Tensor { y := x; for range n { y = y.Mul(n) }; return y }
func main() { g := torch.Compile(f, kw.RecompileLimit(2)); for i := range 6 { fmt.Println(g(torch.Ones(2), i)) } }`, "f 5"},
		{"nn", `
func main() {
	l := nn.NewLinear(2, 2)
	f := compiler.Disable(l.Forward)
	g := torch.Compile(func(x *torch.Tensor) *torch.Tensor { return f(x).Sin() }, kw.Name("g"))
	fmt.Println(g(torch.Ones(1, 2)).Shape())
}`, "g 1, torch_dynamo_resume_in_main.func1_at 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := both(t, c.program)
			all := artifacts[logs.Aggregate](o.log)
			var got []string
			for _, f := range all[len(all)-1].Frames {
				name, _, _ := strings.Cut(frameName(o, f.Frame), "_at_")
				got = append(got, fmt.Sprintf("%s %d", name, f.EagerOps))
			}
			want := strings.ReplaceAll(c.want, "_at ", " ")
			if text := strings.Join(got, ", "); text != want {
				t.Errorf("got %s, want %s", text, want)
			}
		})
	}
}

// frameName is the name under which a frame was first compiled.
func frameName(o *outcome, frame int) string {
	for _, out := range o.log.out {
		if meta, ok := out.Meta.(map[string]string); ok && meta["name"] == "tcdbg_frame" && out.ID.Frame == frame {
			var body struct{ Data logs.FrameInfo }
			if json.Unmarshal(out.Payload, &body) == nil {
				return body.Data.Name
			}
		}
	}
	return "?"
}
