package tracer

import (
	"strings"
	"testing"
)

// TestMarkedSizeThatIsAConstant: MarkDynamic on a size that the code makes a constant is refused in
// PyTorch's words, with the line; MaybeMarkDynamic is not.
func TestMarkedSizeThatIsAConstant(t *testing.T) {
	for _, c := range []struct {
		name, f, mark, n string
		line             string // of the code that is blamed; "": nothing is
		graphs           int
	}{
		{"a branch", "if x.Size(0) == 4 { return x.Mul(2) }; return x", "MarkDynamic", "4", "if x.Size(0) == 4", 1},
		{"a sum", "return x.Add(torch.Ones(4, 3))", "MarkDynamic", "4", "return x.Add(torch.Ones(4, 3))", 1},
		{"another size", "if x.Size(0) == 4 { return x.Mul(2) }; return x.Mul(3)", "MarkDynamic", "5", "", 1},
		{"softly", "return x.Add(torch.Ones(4, 3))", "MaybeMarkDynamic", "4", "", 1},
		{"softly open", "return x.Mul(2)", "MaybeMarkDynamic", "4", "", 1},
		{"one", "return x.Mul(2)", "MarkDynamic", "1", "", 1},
		{"open", "return x.Mul(2)", "MarkDynamic", "4", "", 1},
		{"printed", "y := x.Sin(); fmt.Println(x.Size(0)); return y.Mul(2)", "MarkDynamic", "4", "", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := runProgram(t, `
func f(x *torch.Tensor) *torch.Tensor {
	`+c.f+`
}
func main() {
	defer func() { fmt.Println("raised", recover()) }()
	g := torch.Compile(f)
	x := torch.Ones(`+c.n+`, 3)
	compiler.`+c.mark+`(x, 0)
	g(x)
	compiler.`+c.mark+`(x, -1)
}`, true)
			if n := len(o.graphs()); n != c.graphs {
				t.Errorf("%d graphs, want %d", n, c.graphs)
			}
			want := []string{"raised <nil>"}
			if c.line != "" {
				want = []string{
					"raised Constraints violated (L['x'].size()[0])! For more information, run with TORCH_LOGS=\"+dynamic\".\n" +
						"  - You marked L['x'].size()[0] as dynamic but your code specialized it to be a constant (4).",
					"User stack:\n  File ", "line 10, in f\n    " + c.line,
				}
			}
			for _, w := range want {
				if !strings.Contains(o.stdout, w) {
					t.Errorf("no %q in\n%s%s", w, o.stdout, o.stderr)
				}
			}
		})
	}
}
