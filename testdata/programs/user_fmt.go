package main

import (
	"fmt"
	"math"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"tcdbg/torch"
)

type Celsius float64

func (c Celsius) String() string { return fmt.Sprintf("%.1f°C", float64(c)) }

type Point struct{ X, Y int }

func (p Point) String() string { return fmt.Sprintf("(%d,%d)", p.X, p.Y) }

type Ptr struct{ n int }

func (p *Ptr) String() string { return fmt.Sprint("ptr:", p.n) }

type Secret string

func (s Secret) Format(f fmt.State, verb rune) {
	w, wok := f.Width()
	fmt.Fprintf(f, "<%s %c %d %v %v>", strings.Repeat("*", len(s)), verb, w, wok, f.Flag('+'))
}

type GoS struct{ a int }

func (g GoS) GoString() string { return "GoS!" }

type Bad struct{}

func (Bad) String() string { panic("no string") }

type NilSafe struct{ v int }

func (n *NilSafe) Error() string {
	if n == nil {
		return "nil!"
	}
	return "err"
}

type Inner struct {
	C    Celsius
	p    Point
	P    *Point
	Err  error
	Any  any
	Fn   func()
	Ch   chan int
	Arr  [2]Celsius
	M    map[Point]Celsius
	self *Inner
}
type Bits uint8
type Names []string
type Raw []byte
type Flag bool
type Cx complex128
type E struct{}
type Rec struct {
	Name string
	Kids []*Rec
	Up   *Rec
}
type Emb struct {
	Point
	*Ptr
	Celsius
}
type Weekday = time.Weekday

func main() {
	in := Inner{C: 21.55, p: Point{1, 2}, Any: Point{3, 4}, Arr: [2]Celsius{1, 2}, M: map[Point]Celsius{{2, 1}: 5, {1, 9}: 6}}
	fmt.Printf("%v\n%+v\n", in, in)
	fmt.Println(strings.ReplaceAll(fmt.Sprintf("%#v", in), "main.", "M."))
	fmt.Println(Point{1, 2}, &Point{1, 2}, []Point{{1, 2}}, []any{Point{5, 6}, nil, 3, "x", Celsius(1)}, map[string]Point{"b": {1, 1}, "a": {0, 0}})
	fmt.Println(Ptr{1}, &Ptr{2}, []Ptr{{3}}, struct{ P Ptr }{Ptr{4}})
	fmt.Printf("%v %s %d %x %q %5v|%-8v|%+v\n", Celsius(1), Celsius(2), Celsius(3), Celsius(4), Celsius(5), Celsius(6), Celsius(7), Celsius(8))
	fmt.Printf("%v %10s %+v %v %v\n", Secret("abc"), Secret("d"), Secret("ef"), []Secret{"g"}, struct{ S Secret }{"h"})
	fmt.Printf("%v %#v %+v %#v %#v\n", GoS{1}, GoS{1}, GoS{1}, []GoS{{2}}, map[string]GoS{"k": {3}})
	fmt.Printf("%v %s %v\n", Bad{}, Bad{}, []Bad{{}})
	var ns *NilSafe
	var bp *Point
	fmt.Printf("%v %v %v\n", ns, bp, []error{ns})
	fmt.Printf("%08b %o %#x %X %c %U %t %v %e %g %6.2f|%-6d|%06d|%+d|% d\n", Bits(5), Bits(9), Bits(255), Names{"hi"}, Bits(65), Bits(65), Flag(true), Cx(1+2i), Celsius(1).Half(), math.Pi, math.E, 42, 42, 42, 42)
	fmt.Printf("%s %q %v %x %d\n", Raw("hey"), Raw("hey"), Raw("hey"), Raw("hey"), Raw("hey"))
	fmt.Printf("%v %+v %#v %T\n", E{}, E{}, E{}, E{})
	r := &Rec{Name: "root", Kids: []*Rec{{Name: "kid"}}}
	fmt.Printf("%v %d %s %+v\n", r.Name, len(r.Kids), r.Kids[0].Name, *r.Kids[0])
	fmt.Printf("%v %+v\n", Names{"a", "b"}, struct {
		N Names
		B Bits
	}{Names{"c"}, 3})
	fmt.Printf("%T %T %T %T %T %T %T\n", in, &in, []Point{}, map[Point]*Ptr{}, func(Point) error { return nil }, make(chan Celsius), [3]Names{})
	fmt.Printf("%T %T %T %T\n", struct{ A Point }{}, any(Weekday(1)), time.Second, new(any))
	fmt.Printf("%!|%z %d\n", 1)
	fmt.Printf("%d %s\n", "str", 5)
	fmt.Printf("%[2]v %[1]v %[3]*.[4]*[5]f|\n", 1, 2, 8, 2, 3.14159)
	fmt.Printf("%v %v\n", [3]bool{true}, [][]int{{1}, {2, 3}, nil})
	fmt.Printf("%6.2f|%v|%q\n", []Celsius{1, 2}, []string{"a b", "c"}, []string{"a b", "c"})
	fmt.Printf("%p %v\n", nil, nil)
	fmt.Println(fmt.Sprint("a", 1, 2, "b", "c", 3.0, Point{}, Point{}), fmt.Sprintln("x", nil))
	w := tabwriter.NewWriter(os.Stdout, 0, 8, 2, ' ', tabwriter.AlignRight|tabwriter.Debug)
	fmt.Fprintf(w, "%v\t%v\t%v\n", "name", Celsius(3), Point{1, 2})
	fmt.Fprintf(w, "%v\t%v\t%v\n", "longer name", Celsius(30), Point{10, 20})
	w.Flush()
	var a, b int
	var s Names
	n, err := fmt.Sscanf("3-4 xyz", "%d-%d %s", &a, &b, &str{})
	fmt.Println(n, err, a, b, s)
	fmt.Println(torch.Ones(2), []*torch.Tensor{torch.Zeros(1)}, map[string]any{"t": torch.Ones(1), "p": Point{1, 1}})
	fmt.Printf("%v %+v\n", struct {
		T *torch.Tensor
		D torch.DType
	}{torch.Ones(1), torch.Float32}, torch.Int64)
	d := 90*time.Minute + 30*time.Second
	fmt.Println(d, d.Hours(), time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC).Format(time.RFC1123), time.Unix(0, 0).UTC().Weekday(), []time.Duration{1e9})
	fmt.Println(Emb{Point{1, 2}, &Ptr{3}, 4}.X, fmt.Sprintf("%T", Emb{}))
	fmt.Fprintln(os.Stderr, "stderr", Point{7, 8})
	fmt.Println(errorsIn([]any{fmt.Errorf("e%d", 1), Point{1, 1}, &Ptr{1}}))
	fmt.Printf("%v %v\n", struct{ e error }{nil}, struct{ E error }{fmt.Errorf("shown")})
	type inner struct{ c Celsius }
	fmt.Printf("%v %+v %v\n", inner{3}, &inner{4}, struct{ i any }{Celsius(5)})
}

func errorsIn(v []any) string { return fmt.Sprintf("%v %s", v, v) }

func (c Celsius) Half() float64 { return float64(c) / 2 }

type str struct{ s string }

func (s *str) Scan(st fmt.ScanState, verb rune) error {
	t, err := st.Token(true, nil)
	s.s = string(t)
	return err
}
