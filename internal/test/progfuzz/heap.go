package progfuzz

import (
	"fmt"
	"math/rand"
	"strings"
)

// This file makes programs whose compiled function rearranges objects: it replaces pointers and
// writes through old ones, moves tensors from object to object, and fills slices and maps that several
// objects share. What all of it looks like is printed after each call.

// HeapPrelude is what these programs use.
const HeapPrelude = `
type Mover interface{ Move(k int) int }

type Obj struct {
	N    int
	T    *torch.Tensor
	P, Q *Obj
	S    []*Obj
	A    [2]*Obj
	M    map[string]*Obj
	I    Mover
	L    []int
	F    func(int) int
}

type Pair struct{ X, Y *Obj }

func (o *Obj) Move(k int) int { o.N += k; return o.N }
func (p *Pair) Move(k int) int { p.X, p.Y = p.Y, p.X; return p.X.N + k }

// Or leads to another object, or stays.
func (o *Obj) Or(p *Obj) *Obj {
	if p != nil {
		return p
	}
	return o
}

func (o *Obj) At(i int) *Obj {
	if len(o.S) == 0 {
		return o
	}
	return o.Or(o.S[i%len(o.S)])
}

// Keyed is an object with a map.
func (o *Obj) Keyed(p *Obj) *Obj {
	if p.M == nil {
		p.M = map[string]*Obj{}
	}
	return p
}

type World struct {
	R    [4]*Obj
	Pair Pair
	Step int
}

var shared = &Obj{N: 50}

func build() *World {
	w := &World{}
	for i := range w.R {
		w.R[i] = &Obj{N: i + 1, T: torch.Ones(3).Mul(float64(i + 1)), M: map[string]*Obj{}, L: make([]int, 2, 4)}
	}
	for i, o := range w.R {
		o.P, o.Q = w.R[(i+1)%4], w.R[(i+2)%4]
		o.S = []*Obj{w.R[(i+3)%4], o}
		o.A = [2]*Obj{o, w.R[(i+1)%4]}
		o.M["a"] = w.R[(i+2)%4]
	}
	w.R[2].M, w.R[2].S, w.R[3].L = w.R[1].M, w.R[0].S, w.R[2].L[:1]
	w.Pair = Pair{w.R[0], w.R[3]}
	w.R[0].I, w.R[1].I = w.R[2], &w.Pair
	shared.T = torch.Ones(3).Mul(7)
	return w
}

type dump struct {
	ids     map[*Obj]int
	tensors map[*torch.Tensor]int
	todo    []*Obj
}

func (d *dump) id(o *Obj) int {
	if o == nil {
		return -1
	}
	if _, ok := d.ids[o]; !ok {
		d.ids[o] = len(d.ids)
		d.todo = append(d.todo, o)
	}
	return d.ids[o]
}

func (d *dump) tensor(t *torch.Tensor) string {
	if t == nil {
		return "-"
	}
	if _, ok := d.tensors[t]; !ok {
		d.tensors[t] = len(d.tensors)
	}
	return fmt.Sprintf("t%d%v", d.tensors[t], t.Float64s())
}

func show(w *World) {
	d := &dump{ids: map[*Obj]int{}, tensors: map[*torch.Tensor]int{}}
	fmt.Print(w.Step, " ", d.id(w.Pair.X), d.id(w.Pair.Y))
	for _, o := range w.R {
		fmt.Print(" ", d.id(o))
	}
	d.id(shared)
	fmt.Println()
	for i := 0; i < len(d.todo) && i < 40; i++ {
		o := d.todo[i]
		fmt.Print(i, ": ", o.N, " ", d.tensor(o.T), " ", d.id(o.P), d.id(o.Q), " S")
		for _, x := range o.S {
			fmt.Print(" ", d.id(x))
		}
		fmt.Print(" A ", d.id(o.A[0]), d.id(o.A[1]), " M")
		for _, k := range []string{"a", "b", "c"} {
			if x, ok := o.M[k]; ok {
				fmt.Print(" ", k, d.id(x))
			}
		}
		fmt.Print(" L ", o.L, o.L[:min(cap(o.L), 4)])
		switch x := o.I.(type) {
		case *Obj:
			fmt.Print(" I ", d.id(x))
		case *Pair:
			fmt.Print(" I pair ", d.id(x.X), d.id(x.Y), x == &w.Pair)
		}
		if o.F != nil {
			fmt.Print(" F ", o.F(1))
		}
		fmt.Println()
	}
}
`

// heapWriter writes one such program.
type heapWriter struct {
	*generator
	vars []string // of type *Obj
	n    int
}

// GenerateHeap returns the text of a program that goes after HeapPrelude; the same seed gives the same program.
func GenerateHeap(seed int64) string {
	w := &heapWriter{generator: &generator{r: rand.New(rand.NewSource(seed))}}
	w.write("func f(w *World, x *torch.Tensor, k int) *torch.Tensor {\n\ty := x\n")
	w.vars = []string{"w.R[0]", "w.R[1]", "w.R[2]", "w.R[3]", "w.Pair.X", "w.Pair.Y", "shared"}
	w.block("\t", 6+w.r.Intn(14), 2)
	w.write("\tw.Step++\n\treturn y.Add(float64(w.Step))\n}\n\n")
	w.write(`func main() {
	g := torch.Compile(f)
	w, x := build(), torch.Arange(1, 4).To(torch.Float32)
	for i := range 5 {
		fmt.Println(g(w, x, i%%3).Float64s())
		show(w)
		if i == 2 {
			w = build()
		}
	}
}
`)
	return w.sb.String()
}

func (w *heapWriter) write(format string, args ...any) { fmt.Fprintf(&w.sb, format, args...) }

func (w *heapWriter) chance(n int) bool { return w.r.Intn(n) == 0 }

// block writes n statements; what it declares is gone after it.
func (w *heapWriter) block(indent string, n, depth int) {
	outer := len(w.vars)
	for range n {
		w.statement(indent, depth)
	}
	w.vars = w.vars[:outer]
}

// obj is an expression of an object that is there.
func (w *heapWriter) obj() string {
	v := pickOf(w.generator, w.vars...)
	if w.chance(2) && len(w.vars) > 7 { // what the function has kept
		v = pickOf(w.generator, w.vars[7:]...)
	}
	switch w.r.Intn(7) {
	case 0:
		return fmt.Sprintf("%s.Or(%s.%s)", v, v, pickOf(w.generator, "P", "Q", "A[0]", "A[1]"))
	case 1:
		return fmt.Sprintf("%s.At(%d)", v, w.r.Intn(3))
	case 2:
		return fmt.Sprintf("%s.Or(%s.M[%q])", v, v, w.key())
	}
	return v
}

func (w *heapWriter) key() string { return pickOf(w.generator, "a", "b", "c") }

// place is an expression that an object can be assigned to.
func (w *heapWriter) place() string {
	switch w.r.Intn(8) {
	case 0:
		return fmt.Sprintf("w.R[%d]", w.r.Intn(4))
	case 1:
		return pickOf(w.generator, "w.Pair.X", "w.Pair.Y")
	case 2:
		return fmt.Sprintf("%s.M[%q]", w.withMap(), w.key())
	}
	return fmt.Sprintf("%s.%s", w.obj(), pickOf(w.generator, "P", "Q", "A[0]", "A[1]"))
}

// withMap is an object that has a map.
func (w *heapWriter) withMap() string {
	v := fmt.Sprintf("w.R[%d]", w.r.Intn(4))
	return v + fmt.Sprintf(".Keyed(%s)", v)
}

func (w *heapWriter) number() string {
	return pickOf(w.generator, "k", "1", "2", "w.Step", w.obj()+".N%7", "len("+w.obj()+".S)", "len("+w.obj()+".M)")
}

func (w *heapWriter) statement(indent string, depth int) {
	w.sb.WriteString(indent)
	switch w.r.Intn(19) {
	case 0, 1, 2: // an object is kept, whatever becomes of the way to it
		w.n++
		name := fmt.Sprintf("o%d", w.n)
		value := w.obj()
		if w.chance(4) {
			value = fmt.Sprintf("&Obj{N: %s, P: %s, M: map[string]*Obj{}}", w.number(), w.obj())
		}
		w.write("%s := %s\n%s_ = %s\n", name, value, indent, name)
		w.vars = append(w.vars, name)
	case 3, 4:
		w.write("%s = %s\n", w.place(), w.obj())
	case 5:
		a, b := w.place(), w.place()
		w.write("%s, %s = %s, %s\n", a, b, w.obj(), w.obj())
	case 6, 7:
		w.write("%s.N %s %s\n", w.obj(), pickOf(w.generator, "+=", "=", "-="), w.number())
	case 8:
		w.write("if o := %s; o.T != nil { o.T = o.T.%s }\n", w.obj(), pickOf(w.generator, "Add(x)", "Mul(0.5)", "Sub(y)"))
	case 9:
		w.write("if o := %s; o.T != nil { o.T.%s }\n", w.obj(), pickOf(w.generator, "Add_(x)", "Mul_(0.5)", "Fill_(2)"))
	case 10:
		a, b := w.obj(), w.obj()
		w.write("%s.T = %s.T\n", a, b)
	case 11:
		w.write("if o := %s; o.T != nil { y = y.Add(o.T) }\n", w.obj())
	case 12:
		a := w.obj()
		w.write("%s.S = append(%s.S%s, %s)\n", a, pickOf(w.generator, a, w.obj()), pickOf(w.generator, "", "", "[:0]"), w.obj())
	case 13:
		w.write("if o := %s; len(o.S) > 0 { o.S[%s%%len(o.S)] = %s }\n", w.obj(), pickOf(w.generator, "0", "1", "k"), w.obj())
	case 14:
		w.write("if o := %s; len(o.L) > 0 { o.L[len(o.L)-1] += %s; o.L = append(o.L[:1], %s) }\n", w.obj(), w.number(), w.number())
	case 15:
		w.write("if o := %s; o.I != nil { y = y.Add(float64(o.I.Move(%s))) }\n", w.obj(), w.number())
	case 16:
		a := w.obj()
		if w.chance(2) {
			w.write("%s.I = %s\n", a, w.obj())
		} else {
			w.write("{ o := %s; %s.F = func(n int) int { o.N += n; return o.N + k } }\n", w.obj(), a)
		}
	case 17:
		w.write("if o := %s; o.F != nil { y = y.Mul(float64(o.F(%s)%%5)) }\n", w.obj(), w.number())
	case 18:
		if depth == 0 {
			w.write("delete(%s.M, %q)\n", w.obj(), w.key())
			return
		}
		head := pickOf(w.generator,
			fmt.Sprintf("if %s == %s", w.obj(), w.obj()), fmt.Sprintf("if %s.N > %s", w.obj(), w.number()),
			fmt.Sprintf("for _, o := range %s.S[:min(2, len(%s.S))]", "w.R[0]", "w.R[0]"), "for range 2")
		w.write("%s {\n", head)
		outer := len(w.vars)
		if strings.Contains(head, "_, o :=") {
			w.write("%s\tif o == nil { continue }\n", indent)
			w.vars = append(w.vars, "o")
		}
		w.block(indent+"\t", 1+w.r.Intn(4), depth-1)
		w.vars = w.vars[:outer]
		w.write("%s}\n", indent)
	}
}
