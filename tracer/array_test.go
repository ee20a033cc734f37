package tracer

import (
	"strings"
	"testing"
)

// TestLongArrays: arrays of thousands of numbers are made, filled, read and
// returned inside of graphs; none is described element by element.
func TestLongArrays(t *testing.T) {
	o := both(t, `
type table struct {
	gain [6000]float32
	name string
}

func newTable(k float32) *table {
	t := &table{name: "t"}
	for i := range t.gain {
		t.gain[i] = float32(i) * k
	}
	return t
}

func f(x *torch.Tensor, tab *table, at int) (*torch.Tensor, *table, [5000]int, []int) {
	own := newTable(0.5)
	var counts [5000]int
	for i := range counts { counts[i] = 2 * i }
	if tab.gain == own.gain { counts[999] = -1 }
	list := make([]int, 9000)
	list[8999] = at
	y := x.Mul(float64(own.gain[at] + tab.gain[at]))
	return y, own, counts, list
}

func main() {
	g := torch.Compile(f, kw.Fullgraph(true))
	tab := newTable(1)
	for i := range 3 {
		y, own, counts, list := g(torch.Ones(2), tab, 4000)
		own.gain[1]++
		counts[0]++
		list[0]++
		fmt.Println(i, y, own.gain[1], own.gain[5999], counts[999], counts[0], list[0], list[8999])
	}
	tab.gain[17] = -1
	y, _, _, _ := g(torch.Ones(2), tab, 4000)
	fmt.Println(y)
}`)
	misses := o.recompiles()
	if len(misses) != 1 {
		t.Fatalf("%d recompiles, want 1 when an element changes", len(misses))
	}
	if f := misses[0].Failures[0]; !strings.Contains(f.Message, "6000 elements") && !strings.Contains(f.Message, "gain[17]") {
		t.Errorf("the guard says %q", f.Message)
	}
}

// TestLongArrayIsCopied breaks where an array of the caller would have to be
// copied element by element, and says so.
func TestLongArrayIsCopied(t *testing.T) {
	o := both(t, `
func f(x *torch.Tensor, a *[5000]int) (*torch.Tensor, int) {
	b := *a
	b[1]++
	return x.Mul(2).Add(b[1]), b[1]
}

func main() {
	g := torch.Compile(f)
	a := new([5000]int)
	for range 2 { fmt.Println(g(torch.Ones(2), a)) ; a[1] = 7 }
}`)
	for _, b := range o.breaks() {
		if !strings.Contains(b.Detail, "an array of 5000 elements") {
			t.Errorf("break %s: %s", b.Code, b.Detail)
		}
	}
}

// TestBreakUnderNoGradSaysWhy: a break before torch.NoGrad names what broke
// the graph inside of it.
func TestBreakUnderNoGradSaysWhy(t *testing.T) {
	o := both(t, `
func main() {
	g := torch.Compile(func(x *torch.Tensor) *torch.Tensor {
		y := x.Sin()
		torch.NoGrad(func() {
			y = y.Mul(2)
			fmt.Println("in")
		})
		return y.Cos()
	})
	fmt.Println(g(torch.Ones(2)))
}`)
	if b := o.breaks(); len(b) != 1 || !strings.Contains(b[0].Detail, "call of fmt.Println") ||
		!strings.Contains(b[0].Detail, "model.go:13") {
		t.Errorf("breaks: %+v", b)
	}
}
