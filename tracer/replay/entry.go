package replay

import (
	"go/types"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"tcdbg/graph"
	"tcdbg/logs"
	"tcdbg/ops/sym"
	"tcdbg/torch"
	"tcdbg/tracer/breaks"
	"tcdbg/tracer/guard"
	"tcdbg/tracer/host"
	"tcdbg/tracer/value"

	"golang.org/x/tools/go/ssa"
)

// This file is what a trace leaves behind: guards, a compiled graph, and
// reconstructions for the state of the program after it.

// SeenTensor is a tensor that a cache entry guards, with its shape when it was compiled.
type SeenTensor struct {
	Src   *value.Source
	Shape []int
}

// DynamicSize is a size that an entry leaves open.
type DynamicSize struct {
	Name string // L['x'].size()[0]
	Src  *value.Source
	Dim  int
}

// Entry is one cache entry of a frame.
type Entry struct {
	ID      logs.CompileID
	Sources int
	Guards  []*guard.Guard // see Guard
	tests   *guard.Program // of them
	places  []guard.Place  // of the inputs, where they find them
	Inputs  []GraphInput   // of the graph
	Seen    []SeenTensor   // also those that the graph does not read
	Numbers []SeenNumber   // constants of the graph
	Run     Runnable
	Plan    func() Runnable // of Request; nil where every run gets fresh memory
	Graph   *graph.Graph    // nil: no operators

	Objects  []*Object
	Closures []*Closure
	Maps     []*Map
	Writes   []WriteBack
	Stores   []MapWriteBack
	Symbols  guard.Origins
	Sizes    []DynamicSize // what a record of a call tells of Symbols

	Freed   []int                // outputs of the graph whose history a backward pass in it has freed
	Passes  [][]*value.Source    // the leaves that each backward pass in the graph gives gradients
	Items   map[*sym.Symbol]Item // where numbers that come out of data are
	Logged  []Logged             // calls to make when all else is done
	Results []Result             // of the compiled function, when the cache entry returns

	ReadGrads []*value.Source // gradients that were there on entry and are read
	Replaced  []*value.Source // those that are replaced unread: the graph need not run beside them
	OwnGrads  []int           // Writes of gradients that the entry hands to nobody else
	Borrows   bool            // nothing that outlives a call refers to ReadGrads

	Break   *Break // else where it breaks
	Watched []Watched
	Kept    int     // region frames that stay
	Frames  []Frame // all frames after the cache entry, lowest first

	Hits   atomic.Int64
	Spent  *Spent
	Trail  any       // what a debugger keeps of the trace
	makers sync.Pool // of *maker
}

// Item is a number that comes out of data: what output I of the graph holds, or its size in
// dimension Dim where that is not negative.
type Item struct{ I, Dim int }

func (it Item) of(outs []torch.Value) int64 {
	t := outs[it.I].(*torch.Tensor)
	if it.Dim < 0 {
		return int64(t.ItemInt())
	}
	return int64(t.Size(it.Dim))
}

type Result struct {
	Type types.Type
	From Reconstruction
}

type WriteBack struct {
	Loc  *value.Source
	Type types.Type
	From Reconstruction
}

// MapWriteBack is one key of a map of entry memory that the cache entry sets.
type MapWriteBack struct {
	Src *value.Source // of the map
	Key *value.MapKey
	Val Result // of the value; r is nil where the key is deleted
}

// Frame is the state of one frame after the cache entry.
type Frame struct {
	Fn   *ssa.Function
	PC   int
	Call ssa.CallInstruction // in the frame below, for pushed frames
	Free []Result
	Regs []Register
}

type Register struct {
	V ssa.Value
	Result
}

// Guard has the entry rely on the guards of a set, which find most of the graph's inputs on their way. The backend has asked
// for the inputs before: the places are known from here on.
func (e *Entry) Guard(gs *guard.Set) {
	e.Guards, e.tests = gs.List, gs.Program()
	e.places = e.inputPlaces()
}

// Holds tests all guards.
func (e *Entry) Holds(a *guard.Addresses) bool { return e.tests.Holds(a) }

// Values appends the graph's inputs to in.
func (e *Entry) Values(a *guard.Addresses, in []torch.Value) []torch.Value {
	in = slices.Grow(in, len(e.Inputs))
	places := e.places
	if places == nil {
		places = make([]guard.Place, len(e.Inputs)) // of none of them
	}
	for i := range e.Inputs {
		in = append(in, e.Inputs[i].value(a, places[i]))
	}
	return in
}

// Execute runs the cache entry on the frames of th from depth base up. It reports
// whether the compiled function has returned.
func (e *Entry) Execute(th *host.Thread, frames []*host.Frame, a *guard.Addresses, tu *Turns) (returned bool) {
	m := e.takeMaker(th.In, a)
	e.dropGrads(a)
	switch {
	case e.Run == nil:
	case tu == nil: // a backend of the user may keep the list
		m.outs = e.Run(e.Values(a, nil))
	default:
		m.inputs = e.Values(a, m.inputs[:0])
		m.outs = tu.runnable(e)(m.inputs)
	}
	e.free(m.outs)
	m.prepare()
	pending := e.pending(m)
	say := e.logging(m)
	arm := e.watch(th.In, a, m.outs)
	if e.Break == nil {
		for i, r := range e.Results {
			r.From.write(m, m.results[i])
		}
		e.commit(th, a, pending)
		arm()
		say()
		for range frames[1:] {
			th.Pop()
		}
		th.Return(m.results)
		m.release()
		return true
	}
	e.rebuild(th, frames, m, func() { e.commit(th, a, pending) })
	arm()
	say()
	return false
}

// dropGrads lets go of gradients that the call replaces unread, as ZeroGrad does in eager mode:
// their memory is that of the new ones.
func (e *Entry) dropGrads(a *guard.Addresses) {
	if !e.Borrows {
		for _, s := range e.ReadGrads {
			torch.Seen(*(**torch.Tensor)(a.At(s)))
		}
	}
	for _, s := range e.Replaced {
		torch.DropGrad((**torch.Tensor)(a.At(s)))
	}
}

// free marks the outputs through which a backward pass has gone already.
func (e *Entry) free(outs []torch.Value) {
	for _, i := range e.Freed {
		torch.FreeHistory(outs[i].(*torch.Tensor))
	}
}

// pending is what a run of a cache entry has to do to the program's memory. All of it is found
// before the first is done: one may change a pointer on the way to the next.
type pending struct {
	writes []unsafe.Pointer  // the values, by Entry.Writes; their places are in the addresses
	maps   []reflect.Value   // by Entry.Stores
	values []reflect.Value   // by Entry.Stores; zero: delete
	leaves [][]*torch.Tensor // by Entry.Passes
}

func (e *Entry) pending(m *run) (p pending) {
	if len(e.Writes)+len(e.Stores)+len(e.Passes) == 0 {
		return p
	}
	p.writes = m.make(len(e.Writes), func(i int) Result { return Result{e.Writes[i].Type, e.Writes[i].From} })
	for i := range e.Writes {
		m.entry.At(e.Writes[i].Loc)
	}
	for i := range e.Stores {
		w := &e.Stores[i]
		rt := m.in.Rep(w.Src.Type)
		var val reflect.Value
		if w.Val.From != nil {
			at := m.in.New(w.Val.Type)
			w.Val.From.write(m, at)
			val = reflect.NewAt(rt.Elem(), at).Elem()
		}
		p.maps = append(p.maps, reflect.ValueOf(reflect.NewAt(rt, m.entry.At(w.Src)).Elem().Interface()))
		p.values = append(p.values, val)
	}
	for _, pass := range e.Passes {
		leaves := make([]*torch.Tensor, len(pass))
		for i, s := range pass {
			leaves[i] = *(**torch.Tensor)(m.entry.At(s))
		}
		p.leaves = append(p.leaves, leaves)
	}
	return p
}

func (e *Entry) commit(th *host.Thread, a *guard.Addresses, p pending) {
	for i, w := range e.Writes {
		th.In.Copy(w.Type, a.At(w.Loc), p.writes[i])
	}
	for _, i := range e.OwnGrads {
		torch.OwnGrad(*(**torch.Tensor)(a.At(e.Writes[i].Loc)))
	}
	for i, m := range p.maps {
		w := &e.Stores[i]
		use := host.WritesMap(th.In, m.UnsafePointer())
		m.SetMapIndex(reflect.NewAt(th.In.Rep(w.Src.Type).Key(), w.Key.Addr).Elem(), p.values[i])
		use.End()
	}
	for _, leaves := range p.leaves {
		torch.TellBackward(func() []*torch.Tensor { return leaves })
	}
}

// rebuild puts the frames into the state of the break: all values are made
// before the first register is overwritten.
func (e *Entry) rebuild(th *host.Thread, frames []*host.Frame, m *run, commit func()) {
	vals := make([][]unsafe.Pointer, len(e.Frames))
	frees := make([][]unsafe.Pointer, len(e.Frames))
	for i, f := range e.Frames {
		vals[i] = m.make(len(f.Regs), func(k int) Result { return f.Regs[k].Result })
		frees[i] = m.make(len(f.Free), func(k int) Result { return f.Free[k] })
	}
	commit()
	for range frames[e.Kept:] {
		th.Pop()
	}
	for i, f := range e.Frames {
		var fr *host.Frame
		if i < e.Kept {
			fr = frames[i]
			fr.SetRebuilt(host.RebuiltHere)
		} else {
			fr = th.Push(f.Fn, frees[i], f.Call)
			fr.SetRebuilt(host.RebuiltNew)
		}
		fr.PC = f.PC
		for k, r := range f.Regs {
			th.In.Copy(r.Type, fr.Addr(r.V), vals[i][k])
		}
	}
}

func (m *run) make(n int, at func(int) Result) []unsafe.Pointer {
	out := make([]unsafe.Pointer, n)
	for i := range out {
		r := at(i)
		out[i] = m.in.New(r.Type)
		r.From.write(m, out[i])
	}
	return out
}

// size evaluates a size expression with the shapes of this call.
func (m *run) size(x sym.Int) int64 {
	return x.Eval(func(y *sym.Symbol) int64 {
		if v, ok := y.Fixed(); ok {
			return v
		}
		if it, ok := m.cached.Items[y]; ok {
			return it.of(m.outs)
		}
		o := m.cached.Symbols[y]
		return int64(guard.SizeAt(m.entry, o.Src, o.Dim))
	})
}

// Runnable is a compiled graph: inputs in placeholder order, outputs in the
// order of the output node. It is safe for concurrent use.
type Runnable func(inputs []torch.Value) []torch.Value

// Break is a place that the trace cannot pass.
type Break struct {
	Code   string
	Detail string
	Value  ssa.Value // the offending value, where there is one
}

func BreakTitle(b *Break) string {
	if cause, ok := breaks.Lookup(b.Code); ok {
		return cause.Type
	}
	return b.Code
}
