package stop

import (
	"encoding/json"
	"fmt"
	"go/types"
	"hash"
	"hash/fnv"
	"reflect"
	"strconv"
	"unsafe"

	"tcdbg/torch"
	"tcdbg/tracer/host"

	"golang.org/x/tools/go/ssa"
)

// This file finds where a value was written: the program is run again, and the value is
// looked at before each line, operator and return. A change was made by the code that ran in
// between.

// Search is what a program is run again to find, up to Again.Target.
type Search struct {
	NaN bool // where the first NaN, or else the first Inf, came into being
	// Names are a variable of a frame, and the fields, indices or keys in it.
	Names []string `json:",omitempty"`
	Decl  string   `json:",omitempty"` // where the variable is declared
	Born  int64    `json:",omitempty"` // the moment at which the frame was first seen
	Depth int      `json:",omitempty"`
	What  string   // in words
}

// search makes the search that a command asks for at a stop.
func (s *stopped) search(d *Debugger, arg string, n int) (*Search, error) {
	if arg == "nan" {
		return &Search{NaN: true, What: "the first NaN or Inf"}, nil
	}
	var names []string
	if err := json.Unmarshal([]byte(arg), &names); err != nil || len(names) == 0 {
		return nil, fmt.Errorf("back is by line, operator, nan, written and a value, or nothing: by a stop")
	}
	if n < 0 || n >= len(s.levels) {
		return nil, fmt.Errorf("the stack has no level %d", n)
	}
	l := &s.levels[n]
	switch {
	case s.Trace != nil || l.frame.Thread().Scratch():
		return nil, fmt.Errorf("%s is a value of a trace: it was not written by the program", names[0])
	case l.frame.Born == 0:
		return nil, fmt.Errorf("%s: compiled code runs this function, its lines were not seen", names[0])
	}
	for _, loc := range l.locals(d.prog) {
		if loc.obj.Name() != names[0] || loc.unknown != "" {
			continue
		}
		if _, _, err := descend(d.in, loc.typ, loc.addr, names[1:]); err != nil {
			return nil, err
		}
		return &Search{
			Names: names, Decl: declOf(d, loc.obj), Born: l.frame.Born, Depth: depthOf(l.frame),
			What: "where " + title(names) + " was written",
		}, nil
	}
	return nil, fmt.Errorf("%s has no value here", names[0])
}

func declOf(d *Debugger, v *types.Var) string { return d.prog.Fset.Position(v.Pos()).String() }

// title is x.w[3] for names.
func title(names []string) string {
	out := names[0]
	for _, n := range names[1:] {
		if _, err := strconv.Atoi(n); err == nil {
			out += "[" + n + "]"
		} else {
			out += "." + n
		}
	}
	return out
}

// watch looks for the last write of a value.
type watch struct {
	d     *Debugger
	find  *Search
	in    *host.Frame // whose variable it is; nil: not yet there
	obj   *types.Var  // the variable
	homes map[ssa.Instruction]home
	seen  uint64               // what the value was
	known bool                 // it had one
	place bool                 // the variable has an address
	own   string               // what its own memory was
	prev  *host.Frame          // that ran since it was looked at
	last  map[*host.Frame]mark // the last line or operator of each frame
	wrote mark                 // what has written it
	call  mark                 // what has called the frame
}

// mark is a position, where there is one.
type mark struct {
	pos Position
	ok  bool
}

// look is called before each instruction that has a trap: with the mark of its last moment,
// if it has any.
func (w *watch) look(f *host.Frame, first int64, path uint64) {
	if w == nil {
		return
	}
	if w.in == nil {
		w.begin(f, first)
	}
	var starts []*start
	if n := int(f.Code.Marks.At[f.PC] & markStarts); n > 0 {
		starts = w.d.places.of(f.Code).at[f.PC][:n]
	}
	if f != w.in {
		w.compare(w.now()) // what has changed was written before this line
	}
	at := mark{Position{Moment: first, Path: path}, true}
	for _, s := range starts { // of one instruction: those before the last assign registers only
		if f == w.in {
			w.compare(s.instr)
		}
		w.last[f], w.prev = at, f
		at.pos.Moment++
	}
	w.compare(w.now())
	if f.Code.Marks.At[f.PC]&markOperator != 0 {
		w.last[f] = at
	}
	w.prev = f
}

// turned is called by a goroutine that goes on after others have run: what has changed was
// written by them, and what changes from now on by it.
func (w *watch) turned(th *host.Thread) {
	if w == nil || th == nil {
		return
	}
	if w.in != nil {
		w.compare(w.now())
	}
	w.prev = nil
	for f := th.Top(); f != nil && w.prev == nil; f = f.Caller {
		if w.last[f].ok {
			w.prev = f
		}
	}
}

// now is the instruction at which the frame is.
func (w *watch) now() ssa.Instruction {
	if w.in == nil {
		return nil
	}
	pc := w.in.PC
	if w.in.Thread().Top() != w.in {
		pc--
	}
	if pc < 0 || pc >= len(w.in.Code.Instrs) {
		return nil
	}
	return w.in.Code.Instrs[pc]
}

// begin finds the frame.
func (w *watch) begin(f *host.Frame, first int64) {
	if first != w.find.Born || depthOf(f) != w.find.Depth || f.Born != first {
		return
	}
	for _, v := range variablesOf(f.Code.Fn) {
		if v.Name() == w.find.Names[0] && declOf(w.d, v) == w.find.Decl {
			w.obj = v
		}
	}
	for _, fv := range f.Code.Fn.FreeVars {
		if w.obj == nil && fv.Name() == w.find.Names[0] {
			w.obj = types.NewVar(fv.Pos(), nil, fv.Name(), fv.Type())
		}
	}
	w.in = f
	if f.Caller != nil {
		w.call = w.last[f.Caller]
	}
}

// newWatch is what a search needs; nil: it looks at no value.
func newWatch(d *Debugger, s *Search) *watch {
	if s == nil || s.NaN {
		return nil
	}
	return &watch{d: d, find: s, homes: map[ssa.Instruction]home{}, last: map[*host.Frame]mark{}}
}

// compare looks whether the value has changed.
func (w *watch) compare(in ssa.Instruction) {
	t, p, ok := w.value(in)
	if !ok {
		w.known = false // it is given a value before it has one again
		return
	}
	own := string(unsafe.Slice((*byte)(p), w.d.in.Rep(t).Size()))
	to, q, err := descend(w.d.in, t, p, w.find.Names[1:])
	if err != nil {
		return
	}
	h := fnv.New64a()
	w.print(h, to, q, 0)
	now := h.Sum64()
	if w.known && now == w.seen {
		return
	}
	by := w.prev
	if !w.place && (!w.known || own != w.own) {
		by = w.in // nobody else can write a register: a result comes into it when a call returns
	}
	if by != nil && w.last[w.in].ok { // what the frame began with was not written by it
		w.wrote = w.last[by]
	}
	w.seen, w.known, w.own = now, true, own
}

// value is the variable at an instruction of its frame.
func (w *watch) value(in ssa.Instruction) (t types.Type, p unsafe.Pointer, ok bool) {
	if w.obj == nil || in == nil {
		return nil, nil, false
	}
	f := w.in
	l := level{frame: f, at: &start{instr: in}}
	for _, fv := range f.Code.Fn.FreeVars {
		if fv.Name() == w.obj.Name() && fv.Pos() == w.obj.Pos() {
			loc := l.freeVar(local{obj: w.obj}, fv)
			w.place = loc.place
			return loc.typ, loc.addr, loc.unknown == ""
		}
	}
	h, known := w.homes[in]
	if !known {
		r := reachingOf(in.Parent())
		if at := r.in[in.Block()]; at != nil {
			h = r.after(in.Block(), l.index(), at)[w.obj]
		}
		w.homes[in] = h
	}
	if h.reg == nil || l.missing(h.reg) != "" {
		return nil, nil, false
	}
	t, p = h.reg.Type(), f.Addr(h.reg)
	if w.place = h.place; h.place {
		t = t.Underlying().(*types.Pointer).Elem()
		p = *(*unsafe.Pointer)(p)
	}
	return t, p, p != nil
}

// descend goes from a value to what it holds, by the names that a stop shows.
func descend(in *host.Interp, t types.Type, p unsafe.Pointer, names []string) (types.Type, unsafe.Pointer, error) {
	for len(names) > 0 {
		name := names[0]
		none := fmt.Errorf("there is no %s in it now", name)
		switch u := t.Underlying().(type) {
		case *types.Pointer:
			if p = *(*unsafe.Pointer)(p); p == nil {
				return nil, nil, none
			}
			if t = u.Elem(); name == "*" {
				names = names[1:]
			}
			continue
		case *types.Interface:
			if t, p = in.Dynamic(t, p); t == nil {
				return nil, nil, none
			}
			continue
		case *types.Struct:
			r := in.Rep(t)
			i := fieldOf(u, name)
			if i < 0 || r.Kind() != reflect.Struct || r.NumField() != u.NumFields() {
				return nil, nil, none
			}
			t, p = u.Field(i).Type(), unsafe.Add(p, r.Field(i).Offset)
		case *types.Slice, *types.Array:
			e, data, n := elements(u, p)
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= n {
				return nil, nil, none
			}
			t, p = e, unsafe.Add(data, uintptr(i)*in.Rep(e).Size())
		default:
			return nil, nil, fmt.Errorf("what is in a %s cannot be looked at by itself: select the whole", t)
		}
		names = names[1:]
	}
	return t, p, nil
}

func fieldOf(u *types.Struct, name string) int {
	for i := range u.NumFields() {
		if u.Field(i).Name() == name {
			return i
		}
	}
	return -1
}

func elements(t types.Type, p unsafe.Pointer) (elem types.Type, data unsafe.Pointer, n int) {
	if s, ok := t.(*types.Slice); ok {
		h := *(*[]byte)(p)
		return s.Elem(), unsafe.Pointer(unsafe.SliceData(h)), len(h)
	}
	a := t.(*types.Array)
	return a.Elem(), p, int(a.Len())
}

// print digests a value: its own memory, the elements of a slice or map, and of a tensor
// which memory it is and how often that was written. What a pointer points to is not its own.
func (w *watch) print(h hash.Hash64, t types.Type, p unsafe.Pointer, depth int) {
	r := w.d.in.Rep(t)
	if ptr, ok := t.Underlying().(*types.Pointer); ok && isTensor(ptr.Elem()) {
		printTensor(h, *(**torch.Tensor)(p))
		return
	}
	raw := func(p unsafe.Pointer, n uintptr) { _, _ = h.Write(unsafe.Slice((*byte)(p), n)) }
	switch u := t.Underlying().(type) {
	case *types.Basic:
		if s, ok := reflect.NewAt(r, p).Elem().Interface().(string); ok || r.Kind() == reflect.String {
			if !ok {
				s = reflect.NewAt(r, p).Elem().String()
			}
			_, _ = h.Write([]byte(s))
			return
		}
		raw(p, r.Size())
	case *types.Slice, *types.Array:
		e, data, n := elements(u, p)
		_, _ = fmt.Fprint(h, data, n)
		size := w.d.in.Rep(e).Size()
		for i := 0; i < n && depth < maxDepth; i++ {
			w.print(h, e, unsafe.Add(data, uintptr(i)*size), depth+1)
		}
	case *types.Struct:
		if r.Kind() != reflect.Struct || r.NumField() != u.NumFields() {
			return
		}
		for i := range u.NumFields() {
			w.print(h, u.Field(i).Type(), unsafe.Add(p, r.Field(i).Offset), depth+1)
		}
	case *types.Map:
		v := (&show{in: w.d.in, maps: true}).value("", t, p)
		digestValue(h, &v)
	case *types.Interface:
		if dyn, q := w.d.in.Dynamic(t, p); dyn != nil {
			_, _ = fmt.Fprint(h, dyn)
			w.print(h, dyn, q, depth+1)
		}
	default:
		raw(p, r.Size())
	}
}

// few is how many elements of a tensor are looked at besides the count of its writes.
const few = 1 << 12

func printTensor(h hash.Hash64, t *torch.Tensor) {
	if t == nil || t.Fake() != nil || t.Storage() == nil {
		_, _ = fmt.Fprintf(h, "%p", t)
		return
	}
	shape, stride, off := t.Layout()
	_, _ = fmt.Fprintf(h, "%p", unsafe.SliceData(t.Storage().Bytes()))
	_, _ = fmt.Fprint(h, t.Storage().Version(), shape, stride, off)
	if t.Numel() <= few && !t.DType().IsComplex() {
		_, _ = fmt.Fprint(h, t.Data())
	}
}

// found is what the search has found when the program is where it was looked from.
func (w *watch) found() Message {
	what := title(w.find.Names)
	switch {
	case w.wrote.ok:
		return Message{To: &w.wrote.pos, Why: what + " is written next"}
	case w.call.ok && w.known:
		return Message{To: &w.call.pos, Why: what + " had its value already when this called the function: it is an argument, or older"}
	}
	return Message{None: what + " is not written in this function before here"}
}

// returns are the instructions after calls: where a function has returned to.
func returns(c *host.Code) []int {
	var out []int
	for pc, in := range c.Instrs {
		if _, call := in.(*ssa.Call); call && pc+1 < len(c.Instrs) {
			out = append(out, pc+1)
		}
	}
	return out
}
