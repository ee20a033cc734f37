package main

import (
	"fmt"
	"io"
	"math"
	"strings"

	"tcdbg/torch"
	"tcdbg/torch/nn"
)

type Vec []float64

func (v Vec) Format(s fmt.State, verb rune) {
	w, wok := s.Width()
	p, pok := s.Precision()
	fmt.Fprintf(s, "<%c %d/%v %d/%v", verb, w, wok, p, pok)
	for _, f := range "+-# 0" {
		if s.Flag(int(f)) {
			fmt.Fprintf(s, " '%c'", f)
		}
	}
	io.WriteString(s, fmt.Sprintf(" "+fmt.FormatString(s, 'g')+">", []float64(v)))
}

type G struct{ a, B int }

func (g G) GoString() string { return fmt.Sprintf("G!%d", g.a) }

type S struct {
	N   int
	t   *torch.Tensor
	In  G
	P   *G
	M   map[G]string
	E   error
	F   func()
	V   Vec
	Any any
	Arr [2]bool
	Str Str
	By  []byte
	Emb
}
type Emb struct{ X, y float32 }
type Str string

func (s Str) String() string { return "S(" + string(s) + ")" }

type PS struct{ n int }

func (p *PS) String() string { return fmt.Sprintf("PS%d", p.n) }

type Err struct{ code int }

func (e Err) Error() string  { return fmt.Sprintf("E%d", e.code) }
func (e Err) String() string { return "never" }

type Bad struct{}

func (b *Bad) String() string { panic("bad string") }

type NilS struct{ n int }

func (n *NilS) String() string { return fmt.Sprint("n", n.n) }

type Enum uint8

func (e Enum) String() string { return [...]string{"zero", "one"}[e] }

type Forwarder interface {
	Forward(*torch.Tensor) *torch.Tensor
}
type Named interface{ Name() string }
type Both interface {
	Forwarder
	Named
}
type base struct{ name string }

func (b *base) Name() string    { return "base:" + b.name }
func (b *base) Rename(s string) { b.name = s }

type Lin struct {
	*base
	w *torch.Tensor
}

func (l Lin) Forward(x *torch.Tensor) *torch.Tensor { return x.Mul(l.w) }

type Wrap struct {
	Both
	n int
}

func (w Wrap) Name() string { return "wrap(" + w.Both.Name() + ")" }

type Deep struct {
	Wrap
	*nn.Linear
}

func (d *Deep) Forward(x *torch.Tensor) *torch.Tensor { return d.Linear.Forward(d.Wrap.Forward(x)) }

func main() {
	v := Vec{1, 2.5}
	fmt.Printf("%v|%+v|%#v|%8.3f|%-5x|% d|%03q|%s\n", v, v, v, v, v, v, v, v)
	fmt.Println(v, []Vec{v}, map[string]Vec{"a": v}, &v)
	s := S{N: 1, In: G{1, 2}, P: nil, M: map[G]string{{1, 2}: "x", {0, 5}: "y"}, E: Err{3}, V: v, Any: Str("q"), Str: "z", By: []byte("hi"), Emb: Emb{1, 2}}
	fmt.Printf("%v\n%+v\n", s, s)
	s.F = nil
	fmt.Printf("%#v\n", s)
	fmt.Printf("%T %T %T %T %T\n", s, s.M, s.F, struct{ A Enum }{}, func(Both) (Str, error) { return "", nil })
	fmt.Printf("%d %x %X %q %s %v\n", Str("ab"), Str("ab"), Str("ab"), Str("ab"), Str("ab"), []Str{"a"})
	fmt.Printf("%v %v %s %d\n", PS{1}, &PS{2}, []*PS{nil}[0:0], &PS{3})
	fmt.Printf("%v %s %d %+v %#v\n", Err{4}, Err{4}, Err{4}, []error{Err{5}, nil}, Err{6})
	fmt.Printf("%v %v %v %s\n", &Bad{}, (*Bad)(nil), (*NilS)(nil), Enum(1))
	fmt.Printf("%v %d %v\n", Enum(0), Enum(7), Enum(7))
	fmt.Printf("%!|%z|%d %d|%[2]d %[1]d|%[3]d|%*d|%.*f|%s\n", 1, 2, 3)
	fmt.Printf("%6.2f|%-8s|%+d|%x|%08b|%o|%#o|%U|%#U|%c|%t|%e|%G\n", math.Pi, Str("s"), 3, "hex", 5, 8, 8, 'x', 'ä', 'y', true, 12345.678, 1e-10)
	fmt.Printf("%v %v %v %.2f %5v|%-5v|\n", math.NaN(), math.Inf(-1), -0.0, []float64{1, 2}, true, nil)
	fmt.Printf("%p %v %t\n", nil, struct{}{}, 3)
	fmt.Printf("%w %v %s\n", Err{1}, fmt.Errorf("%w, %w", Err{1}, Err{2}), fmt.Errorf("%v %d", G{1, 2}, Enum(1)))
	fmt.Printf("%x %X % x %#x %q\n", []byte("abc"), Vec{1}, []byte("abc"), [3]byte{1, 2, 3}, []string{"a", "b"})
	fmt.Printf("%v %+v %T\n", &s.Emb, &s.Emb, &s.Emb)
	fmt.Printf("%v %v\n", &[]int{1}, &map[Enum]int{1: 2})
	fmt.Printf("%5t|%-7.3s|%07.2f|%+.1e|% 5d|%x\n", true, "abcdef", -3.14159, 1234.5, 42, -255)
	fmt.Println(strings.Repeat("=", 3), fmt.Sprint("a", 1, 2, "b", Str("c"), Enum(1), 3), fmt.Sprintln(Err{1}, nil))

	torch.ManualSeed(1)
	d := &Deep{Wrap: Wrap{Both: Lin{&base{"b"}, torch.NewTensor([]float64{1, 2, 3}).To(torch.Float32)}, n: 1}, Linear: nn.NewLinear(3, 2)}
	f := torch.Compile(d.Forward)
	fmt.Println(f(torch.Ones(2, 3)).Detach(), d.Name(), d.Wrap.Both.Name())
	d.Both.(Lin).Rename("c")
	var b Both = d
	fmt.Println(b.Name(), b.(Named).Name())
	_, ok := b.(interface{ Rename(string) })
	_, ok2 := b.(*Deep).Both.(interface{ Rename(string) })
	fmt.Println(ok, ok2)
	name := d.Name
	d.Both.(Lin).Rename("d")
	fw := Forwarder.Forward
	fmt.Println(name(), Both.Name(d.Wrap), fw(d.Wrap, torch.Ones(3)))
	d.Both = d.Wrap
	fmt.Println(d.Name(), f(torch.Ones(1, 3)).Detach())
	fmt.Printf("%.3f %v %T %T\n", torch.Ones(2).Sum().Item(), torch.Ones(2), torch.Ones(1), d.Linear)
	func() {
		defer func() {
			r := recover()
			fmt.Printf("%v %T\n", r, r)
		}()
		_ = b.(Wrap2)
	}()
	func() {
		defer func() {
			r := recover()
			fmt.Printf("%v %T\n", r, r)
		}()
		var e any = Enum(1)
		_ = e.(fmt.GoStringer)
	}()
}

type Wrap2 interface {
	Both
	Extra()
}
