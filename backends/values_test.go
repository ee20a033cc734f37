package backends

import (
	"fmt"
	"strings"
	"testing"
)

// checked are calls of the operators whose eager form looks at the values of its input: x
// is of shape (2, 3), i holds two positions.
var checked = []string{
	"x.IndexSelect(1, i)", "x.Index([]*torch.Tensor{i})", "x.Index([]*torch.Tensor{nil, i})", "x.Gather(1, column)", "x.Take(i.Mul(3))",
	"torch.TakeAlongDim(x, column, kw.Dim(1))", "x.Scatter(1, column, 7)", "x.Scatter(1, column, x)", "x.ScatterAdd(1, column, x)",
	`x.ScatterReduce(1, column, x, "amax")`, "x.IndexAdd(1, i, x.Narrow(1, 0, 2))", "x.IndexCopy(1, i, x.Narrow(1, 0, 2))",
	"x.IndexFill(1, i, 7)",
	`x.IndexReduce(1, i, x.Narrow(1, 0, 2), "mean")`, "x.IndexPut([]*torch.Tensor{i}, torch.Ones(2, 3))",
	"x.IndexPut([]*torch.Tensor{i}, torch.Ones(2, 3), kw.Accumulate(true))", "x.Put(i.Mul(3), torch.Ones(2))",
	"F.Embedding(i, x)", "F.EmbeddingBag(i.Reshape(1, 2), x)", "F.OneHot(i, 3)", "F.OneHot(i, 3).Sum().Add(1)",
	"F.NllLoss(x, i)", "F.CrossEntropy(x, i)", `F.CrossEntropy(x, i, kw.Reduction("none"))`, "F.MultiMarginLoss(x, i)",
	"F.MaxUnpool1d(x.Reshape(1, 2, 3).Narrow(2, 0, 1), i.Mul(9).Reshape(1, 2, 1), 2)",
	"i.RepeatInterleave(i.Sub(1), kw.OutputSize(6))", "i.RepeatInterleave(i.To(torch.Float32), kw.OutputSize(6))", "i.Bincount()",
	"x.Sub(3).Multinomial(2)", "torch.Cholesky(x.Narrow(1, 0, 2).Sub(9))", "i.FloorDivide(i.Sub(i))", "i.Remainder(i.Sub(i))",
}

// TestValuesAreCheckedAsInEager: an operator that refuses values in eager refuses them in
// compiled code, in the same words, and takes the others.
func TestValuesAreCheckedAsInEager(t *testing.T) {
	var sb, run strings.Builder
	sb.WriteString(`
func told(name string, f func(x, i, column *torch.Tensor) *torch.Tensor, x, i *torch.Tensor) {
	defer func() {
		if e := recover(); e != nil {
			fmt.Println("==", name, "refused:", e)
		}
	}()
	fmt.Println("==", name, f(x, i, i.Reshape(2, 1)).Mul(2))
}
`)
	for n, call := range checked {
		fmt.Fprintf(&sb, "func f%d(x, i, column *torch.Tensor) *torch.Tensor { return %s }\n", n, call)
		for _, i := range []string{"1, 0", "1, 5", "-4, 1", "1, -1"} {
			fmt.Fprintf(&run, "\ttold(`%s of %s`, torch.Compile(f%d), x, torch.NewTensor([]int{%s}))\n", call, i, n, i)
		}
	}
	prog, err := loadText(t, sb.String()+"\nfunc main() {\n\tx := torch.Arange(6).To(torch.Float32).Reshape(2, 3)\n"+run.String()+"}\n")
	if err != nil {
		t.Fatal(err)
	}
	want, _, _ := runText(prog, nil, "")
	eager := strings.Split(want, "== ")[1:]
	if n := strings.Count(want, "refused: "); n < 2*len(checked) {
		t.Errorf("%d calls of %d are refused in eager\n%s", n, len(eager), want)
	}
	for _, w := range differentials(t) {
		got, _, stderr := runLogged(prog, NewSet(w.cfg), w.backend, &breakSink{})
		compiled := strings.Split(got, "== ")[1:]
		if len(compiled) != len(eager) {
			t.Fatalf("under %s %d of %d calls ran\n%s", w.name, len(compiled), len(eager), stderr)
		}
		for i := range eager {
			if eager[i] != compiled[i] {
				t.Errorf("under %s: %swant %s", w.name, compiled[i], eager[i])
			}
		}
	}
}
