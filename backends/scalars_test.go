package backends

import (
	"strings"
	"testing"

	"tcdbg/internal/test"
)

// scalarProgram computes with numbers and with tensors of sizes that data decides, from none to
// many, and differentiates through them.
const scalarProgram = `
func f(x, w *torch.Tensor) *torch.Tensor {
	h := x.Matmul(w).Tanh()
	n := h.Gt(0).Sum().ItemInt()
	torch.Check(n >= 0)
	z := torch.Ones(n+1, 3).Mul(w.Select(0, 0)).Mul(n).Softmax(1)
	picked := h.MaskedSelect(h.Gt(0)).Mul(2).Sin()
	i := torch.Nonzero(h.Lt(0))
	return z.Sum(kw.Dim(0)).Add(picked.Sum()).Mul(i.Size(0)+1).Add(h.Mean()).Add(i.Sum())
}
func show(t *torch.Tensor) {
	for _, v := range t.Reshape(-1).Float64s() { fmt.Printf("%.3f ", math.Round(v*1e3)/1e3+0) }
	fmt.Println()
}
func main() {
	compiler.Configure(func(s *compiler.Settings) { s.CaptureScalarOutputs, s.CaptureDynamicOutputShapeOps = true, true })
	g := COMPILE
	for _, v := range []float64{1, -1, 0.5, -4, 2} {
		x := torch.Arange(6).Reshape(2, 3).Sub(2.5).Mul(v).RequiresGrad_()
		w := torch.Arange(9).Reshape(3, 3).Sub(4+v).Mul(0.2).RequiresGrad_()
		y := g(x, w)
		y.Mul(torch.Arange(1, 4)).Sum().Backward()
		show(y.Detach())
		show(x.Grad())
		show(w.Grad())
	}
	show(g(torch.Zeros(2, 3), torch.Zeros(3, 3)))
}`

// TestScalarsAgree wants the values and gradients of the program as it is, under each backend.
func TestScalarsAgree(t *testing.T) {
	plain, err := loadText(t, strings.Replace(scalarProgram, "COMPILE", "f", 1))
	if err != nil {
		t.Fatal(err)
	}
	want, code, stderr := runText(plain, NewSet(Config{}), "eager")
	if code != 0 {
		t.Fatal(stderr)
	}
	for _, options := range test.Some(t, 1, []string{"", ", kw.Dynamic(true)", `, kw.Mode("reduce-overhead")`}) {
		prog, err := loadText(t, strings.Replace(scalarProgram, "COMPILE", "torch.Compile(f, kw.Fullgraph(true)"+options+")", 1))
		if err != nil {
			t.Fatal(err)
		}
		for _, way := range differentials(t) {
			got, code, stderr := runText(prog, NewSet(way.cfg), way.backend)
			if code != 0 || got != want {
				t.Errorf("%s%s: exit %d\n%s\nwant\n%s\n%s", way.name, options, code, got, want, stderr)
			}
		}
	}
}
