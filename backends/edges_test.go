package backends

import (
	"strings"
	"testing"
)

// edges is a program of operators at the edge of what they take.
const edges = `
func joined(x, y *torch.Tensor) *torch.Tensor { return torch.Cat([]*torch.Tensor{x, y.Narrow(0, 0, 0)}) }
func dropped(x, y *torch.Tensor) *torch.Tensor { return x.Gt(0).Add(y.Gt(0), kw.Alpha(0)) }
func kept(x, y *torch.Tensor) *torch.Tensor { return x.Gt(0).Add(y.Gt(0), kw.Alpha(2)) }
func main() {
	x, y := torch.Randn(5), torch.Randn(5)
	fmt.Println(torch.Compile(joined)(torch.Zeros(0), y))
	fmt.Println(torch.Compile(dropped)(x, y), torch.Compile(kept)(x, y))
}
`

// TestEdges: nothing joined to nothing, and the factors of a bool sum.
func TestEdges(t *testing.T) {
	prog, err := loadText(t, edges)
	if err != nil {
		t.Fatal(err)
	}
	want, _, _ := runText(prog, nil, "")
	for _, w := range differentials(t) {
		if got, _, errs := runText(prog, NewSet(w.cfg), w.backend); got != want {
			t.Errorf("%s: %q, want %q\n%s", w.name, got, want, errs)
		}
	}
}

// classes is a program that gives OneHot classes which are none.
const classes = `
func hot(b *torch.Tensor) *torch.Tensor { return F.OneHot(b, 4).Sum().Add(1) }
func try(f func(*torch.Tensor) *torch.Tensor, v any) {
	defer func() { fmt.Println(recover() != nil) }()
	fmt.Println(f(torch.NewTensor(v)))
}
func main() {
	f := torch.Compile(hot)
	for _, v := range []any{[]int{0, 3}, []int{0, 4}, []int{-1, 2}, [][]int{{1, 2}, {3, 0}}, [][]int{{1, 2}, {3, 9}}, 2, 7} {
		try(f, v)
	}
}
`

// TestClassesOutOfRange: a class that is none ends a compiled OneHot as it ends an eager one.
func TestClassesOutOfRange(t *testing.T) {
	prog, err := loadText(t, classes)
	if err != nil {
		t.Fatal(err)
	}
	want, _, _ := runText(prog, nil, "")
	if strings.Count(want, "true") != 4 {
		t.Fatalf("eager: %q", want)
	}
	for _, w := range differentials(t) {
		if got, _, errs := runText(prog, NewSet(w.cfg), w.backend); got != want {
			t.Errorf("%s: %q, want %q\n%s", w.name, got, want, errs)
		}
	}
}
