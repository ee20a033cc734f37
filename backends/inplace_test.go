package backends

import (
	"strings"
	"sync"
	"testing"

	"tcdbg/internal/test/progfuzz"
	"tcdbg/logs"
)

// This file tests which changes of arguments are written in place: the program
// prints what it prints uncompiled, and so many buffers lie over an input.

type inPlaceCase struct {
	name   string
	body   string // of f
	places int
}

var inPlaceCases = []inPlaceCase{
	{"each element by itself", "p.Mul_(2).Add_(q); return nil", 1},
	{"two, of which one reads the other", "p.Add_(q); q.Mul_(p); return nil", 2},
	{"the other one as it was", "q.Mul_(p); p.Add_(1); return nil", 2},
	{"a row at a time", "p.Copy_(p.Softmax(1)); return nil", 0},
	{"a second pass reads it", "r := p.Sub(p.Mean(kw.Dim(-2))); p.Tanh_(); return p.Mul(r.Mean())", 0},
	{"elements that lie elsewhere", "p.Copy_(p.T().Mul(2)); return nil", 0},
	{"a neighbour", "p.Copy_(p.Flip(1).Mul(2)); return nil", 0},
	{"the old content is a result", "old := p.Clone(); p.Mul_(2); return old", 1},
	{"the new content is a result as well", "r := p.Mul(2); p.Copy_(r); return r", 0},
	{"the old content goes into a result", "old := p.Mul(3); p.Add_(1); return old", 1},
	{"a later product reads the old content", "old := p.Detach(); n := old.Mul(1); p.Add_(1); return q.Matmul(n).Add(n.Matmul(q))", 1},
	{"a product has read it as a whole", "r := q.Matmul(p); p.Add_(r); return nil", 1},
	{"a product reads it while it is written", "p.Copy_(q.Matmul(p).Mul(2)); return nil", 0},
	{"what follows a product, tile by tile", "p.Copy_(q.Matmul(q).Mul(2)); return nil", 1},
	{"before data is checked", "p.Mul_(2); return q.IndexSelect(0, q.Argmax(kw.Dim(1)))", 0},
	{"after data is checked", "r := q.IndexSelect(0, q.Argmax(kw.Dim(1))); p.Add_(r.Matmul(q)); return nil", 1},
	{"a sum over columns", "p.Sub_(p.Sum(kw.Dim(0))); return nil", 0},
	{"exchanged", "t := p.Clone(); p.Copy_(q); q.Copy_(t); return nil", 0},
	{"of another type", "p.Copy_(q.To(torch.Float64).Mul(2)); return nil", 1},
	{"a part", "p.Select(0, 1).Mul_(2); return nil", 0},
}

// inPlaceMain calls f on tensors of their own, then on a view.
const inPlaceMain = `
func main() {
	c := torch.Compile(f)
	for i := range 3 {
		p, q := torch.Arange(16).Reshape(4, 4).Mul(0.1), torch.Rand(4, 4)
		before := p
		if i == 2 {
			big := torch.Zeros(2, 4, 4)
			big.Select(0, 1).Copy_(p)
			before, p = big, big.Select(0, 1)
		}
		fmt.Println(c(p, q))
		fmt.Println(p, q, before)
	}
}`

// codeSink keeps the output code of a run.
type codeSink struct {
	mu   sync.Mutex
	text []string
}

func (s *codeSink) Emit(o logs.Out) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o.Kind == "inductor_output_code" {
		s.text = append(s.text, string(o.Payload))
	}
}

// Stack is as a writer without a table has it.
func (s *codeSink) Stack([]logs.Frame) any { return nil }

func TestInPlace(t *testing.T) {
	ways := differentials(t)
	for _, c := range inPlaceCases {
		t.Run(c.name, func(t *testing.T) {
			prog, err := loadText(t, progfuzz.ModelPrelude+"\nfunc f(p, q *torch.Tensor) *torch.Tensor { "+c.body+" }\n"+inPlaceMain)
			if err != nil {
				t.Fatal(err)
			}
			want, code, _ := runText(prog, nil, "")
			for _, w := range ways {
				sink := &codeSink{}
				got, exit, stderr := runLogged(prog, NewSet(w.cfg), w.backend, sink)
				if d := differs(want, got); d != "" || exit != code || code != 0 {
					t.Errorf("under %s: exit %d, want %d\n%s%s", w.name, exit, code, d, stderr)
				}
				if w.backend == "inductor" {
					if n := strings.Count(sink.text[0], ", in place of "); n != c.places {
						t.Errorf("under %s: %d buffers in place, want %d\n%s", w.name, n, c.places, sink.text[0])
					}
				}
			}
		})
	}
}

// Where data is refused nothing has been written: neither in place nor afterwards.
func TestRefusedDataWritesNothing(t *testing.T) {
	const text = `
func f(p, q, i *torch.Tensor) {
	r := q.IndexSelect(0, i)
	p.Add_(r.Matmul(q))
	q.Mul_(2).IndexAdd_(0, i, r)
}

func main() {
	c := torch.Compile(f)
	p, q := torch.Arange(16).Reshape(4, 4).Mul(0.1), torch.Arange(16).Reshape(4, 4).Sin()
	for _, at := range []int{3, 4, 2, -1} {
		func() {
			defer func() { fmt.Println("refused:", recover()) }()
			c(p, q, torch.Full([]int{4}, at, kw.Dtype(torch.Int64)))
		}()
		fmt.Println(p, q)
	}
}`
	prog, err := loadText(t, progfuzz.ModelPrelude+text)
	if err != nil {
		t.Fatal(err)
	}
	want, _, _ := runText(prog, nil, "")
	if n := strings.Count(want, "refused: index out of range"); n != 2 {
		t.Fatalf("%d calls are refused:\n%s", n, want)
	}
	for _, w := range differentials(t) {
		got, _, stderr := runLogged(prog, NewSet(w.cfg), w.backend, &codeSink{})
		if d := differs(want, got); d != "" {
			t.Errorf("under %s: %s\n%s", w.name, d, stderr)
		}
	}
}
