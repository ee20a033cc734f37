package backends

import "testing"

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
