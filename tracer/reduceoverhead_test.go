package tracer

import (
	"fmt"
	"sync"
	"testing"

	"tcdbg/torch"
	"tcdbg/tracer/replay"
)

// planBackend interprets graphs; its plans count themselves and return the
// tensors of their first run, refilled, as a plan with memory of its own does.
type planBackend struct {
	mu    sync.Mutex
	plans int
}

func (*planBackend) Name() string { return "planned" }

func (*planBackend) Compile(r *Request) (replay.Runnable, error) { return r.Module.Run, nil }

func (b *planBackend) CompilePlanned(r *Request) (run replay.Runnable, plan func() replay.Runnable, err error) {
	m := r.Module
	plan = func() replay.Runnable {
		b.mu.Lock()
		b.plans++
		b.mu.Unlock()
		var kept []torch.Value
		return func(in []torch.Value) []torch.Value {
			out := m.Run(in)
			if kept == nil {
				kept = out
			}
			for i, v := range out {
				if t, ok := v.(*torch.Tensor); ok && v != kept[i] {
					copy(kept[i].(*torch.Tensor).Storage().Bytes(), t.Storage().Bytes())
				}
			}
			return kept
		}
	}
	return m.Run, plan, nil
}

// runPlanned runs a program whose functions are compiled by a planBackend.
func runPlanned(t *testing.T, body string) (string, *planBackend) {
	t.Helper()
	b := &planBackend{}
	prog, err := load(t, body)
	if err != nil {
		t.Fatal(err)
	}
	o := runLoaded(prog, b)
	if o.exit.Code != 0 {
		t.Fatalf("exit %d: %s", o.exit.Code, o.stderr)
	}
	return o.stdout, b
}

// TestPlansKeepWhatIsNeeded holds the rules of mode reduce-overhead against
// programs that would see a result overwritten too early.
func TestPlansKeepWhatIsNeeded(t *testing.T) {
	for _, c := range []struct {
		name, body, want string
		plans            int
	}{
		{"overwritten by a later call", `
func f(x *torch.Tensor) *torch.Tensor { return x.Mul(2) }
func main() {
	g := torch.Compile(f, kw.Mode("reduce-overhead"))
	a := g(torch.Full([]int{1}, 1)); g(torch.Full([]int{1}, 2)); c := g(torch.Full([]int{1}, 3))
	fmt.Println(a == c, a.Item())
}`, "true 6\n", 2},
		{"x = f(x)", `
func f(x *torch.Tensor) *torch.Tensor { return x.Mul(2) }
func main() {
	g := torch.Compile(f, kw.Mode("reduce-overhead"))
	x := torch.Full([]int{1}, 1)
	for range 5 { y := g(x); fmt.Print(x == y, " "); x = y }
	fmt.Println(x.Item())
}`, "false false false false false 32\n", 2},
		{"a graph that runs three times in one call", `
func f(x *torch.Tensor) *torch.Tensor {
	var all []*torch.Tensor
	for i := 0; i < 3; i++ { x = x.Mul(2); fmt.Print("."); all = append(all, x) }
	return all[0].Add(all[1]).Add(all[2])
}
func main() {
	g := torch.Compile(f, kw.Mode("reduce-overhead"))
	for range 3 { fmt.Println(g(torch.Full([]int{1}, 1)).Item()) }
}`, "...14\n...14\n...14\n", 0},
		{"calls within a call", `
var g func(x *torch.Tensor, n int) *torch.Tensor
var xs []*torch.Tensor
func f(x *torch.Tensor, n int) *torch.Tensor {
	y := x.Mul(2)
	fmt.Print(".")
	if n > 0 { g(xs[n-1], n-1) }
	return y.Add(x)
}
func main() {
	for i := range 5 { xs = append(xs, torch.Full([]int{1}, i)) }
	g = torch.Compile(f, kw.Mode("reduce-overhead"))
	fmt.Println(g(xs[4], 4).Item())
}`, ".....12\n", 0},
		{"callbacks of native code, whose threads are nobody's", `
func f(x *torch.Tensor) *torch.Tensor { return x.Mul(2) }
func main() {
	g := torch.Compile(f, kw.Mode("reduce-overhead"))
	var got []*torch.Tensor
	strings.Map(func(r rune) rune { got = append(got, g(torch.Full([]int{1}, int(r-'a')))); return r }, "abcdef")
	for _, t := range got { fmt.Print(t.Item(), " ") }
}`, "0 2 4 6 8 10 ", 6},
		{"goroutines", `
func f(x *torch.Tensor) *torch.Tensor { return x.Mul(2) }
func main() {
	g := torch.Compile(f, kw.Mode("reduce-overhead"))
	c := make(chan *torch.Tensor)
	g(torch.Full([]int{1}, 0))
	for i := range 6 { go func() { c <- g(torch.Full([]int{1}, i)) }() }
	sum := 0.0
	var got []*torch.Tensor
	for range 6 { got = append(got, <-c) }
	for _, t := range got { sum += t.Item() }
	fmt.Println(sum)
}`, "30\n", 7},
		{"fresh memory after Reset", `
func f(x *torch.Tensor) *torch.Tensor { return x.Mul(2) }
func main() {
	g := torch.Compile(f, kw.Mode("reduce-overhead"))
	x := torch.Full([]int{1}, 1)
	a := g(x); g(x); compiler.Reset(); b := g(x); g(x); c := g(x)
	fmt.Println(a == b, a == c, b == c)
}`, "false false true\n", 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, b := runPlanned(t, c.body)
			if out != c.want {
				t.Errorf("printed %q, want %q", out, c.want)
			}
			if c.plans > 0 && b.plans != c.plans {
				t.Errorf("%d plans, want %d", b.plans, c.plans)
			}
		})
	}
}

// TestManyRunsInOneCall: beyond MaxPlans a graph's runs get memory of their own
// that nobody keeps.
func TestManyRunsInOneCall(t *testing.T) {
	out, b := runPlanned(t, fmt.Sprintf(`
func f(x *torch.Tensor) float64 {
	var all []*torch.Tensor
	for i := 0; i < %d; i++ { x = x.Add(1); fmt.Print(""); all = append(all, x) }
	sum := 0.0
	for _, t := range all { sum += t.Item() }
	return sum
}
func main() {
	g := torch.Compile(f, kw.Mode("reduce-overhead"))
	for range 2 { fmt.Println(g(torch.Full([]int{1}, 0))) }
}`, replay.MaxPlans+4))
	n := (replay.MaxPlans + 4) * (replay.MaxPlans + 5) / 2
	if want := fmt.Sprintf("%d\n%d\n", n, n); out != want {
		t.Errorf("printed %q, want %q", out, want)
	}
	if b.plans > 2*replay.MaxPlans+4 { // of the loop's graph, of the one in front
		t.Errorf("%d plans", b.plans)
	}
}
