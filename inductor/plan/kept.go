package plan

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// This file writes what a run must know of a plan as bytes, and reads it again in another process. What people and the
// interpreter want to know besides, kernels above all, is no part of it: who asks plans the graph again.

// Append appends the layout to b. ok is false for one that is not written: its sizes vary, or it runs control flow.
func (p *Layout) Append(b []byte) (out []byte, ok bool) {
	w := keeper{b: b, ok: len(p.Symbols) == 0}
	w.text(p.Name)
	w.int(p.Arena)
	w.int(int64(len(p.Buffers)))
	for i := range p.Buffers {
		w.buffer(&p.Buffers[i])
	}
	w.ints(p.Inputs)
	w.int(int64(len(p.Outputs)))
	for i := range p.Outputs {
		o := &p.Outputs[i]
		w.int(int64(o.Buffer))
		w.sizes(o.Shape)
		w.sizes(o.Stride)
		w.size(o.Offset)
		w.arg(o.Value)
	}
	w.steps(p.Steps)
	w.steps(p.Prologue)
	w.ints(p.Params)
	w.ints(p.Passing)
	return w.b, w.ok
}

// keeper writes: numbers as varints, lists and texts behind their length, arguments behind a letter of their kind.
type keeper struct {
	b  []byte
	ok bool
}

func (w *keeper) int(n int64) { w.b = binary.AppendVarint(w.b, n) }

func (w *keeper) ints(list []int) {
	w.int(int64(len(list)))
	for _, n := range list {
		w.int(int64(n))
	}
}

func (w *keeper) text(s string) {
	w.int(int64(len(s)))
	w.b = append(w.b, s...)
}

func (w *keeper) size(x sym.Int) {
	n, known := x.IsConst()
	w.ok = w.ok && known
	w.int(n)
}

func (w *keeper) sizes(list []sym.Int) {
	w.int(int64(len(list)))
	for _, x := range list {
		w.size(x)
	}
}

func (w *keeper) buffer(b *Buffer) {
	w.text(b.Name)
	w.int(int64(b.DType))
	w.sizes(b.Shape)
	w.sizes(b.Stride)
	w.size(b.Span)
	w.int(b.Offset)
	w.int(int64(b.Role))
	w.int(int64(b.Over))
}

func (w *keeper) steps(list []Step) {
	w.int(int64(len(list)))
	for i := range list {
		s := &list[i]
		w.int(int64(s.Segment))
		w.int(int64(len(s.Names)))
		for _, name := range s.Names {
			w.text(name)
		}
		w.ints(s.Groups)
		if s.Segment >= 0 || s.Extern == nil {
			w.ok = w.ok && s.Extern == nil && s.Segment >= 0
			continue
		}
		w.ok = w.ok && s.Extern.Flow == nil
		w.text(ops.Get(s.Extern.Op).Name)
		w.text(s.Extern.Name)
		w.text(s.Extern.Reason)
		w.list(s.Extern.Args)
		w.ints(s.Extern.Outs)
	}
}

func (w *keeper) list(args []ops.Arg) {
	w.int(int64(len(args)))
	for _, a := range args {
		w.arg(a)
	}
}

// arg writes an argument of an extern call, or a result that is no buffer.
func (w *keeper) arg(a ops.Arg) {
	switch a := a.(type) {
	case nil:
		w.b = append(w.b, 'n')
	case BufferView:
		w.b = append(w.b, 'v')
		w.int(int64(a.Buffer))
		w.sizes(a.Shape)
		w.sizes(a.Stride)
		w.size(a.Offset)
	case []ops.Arg:
		w.b = append(w.b, 'l')
		w.list(a)
	case sym.Int:
		w.b = append(w.b, 'i')
		w.size(a)
	case []sym.Int:
		w.b = append(w.b, 'I')
		w.sizes(a)
	case float64:
		w.b = append(w.b, 'f')
		w.float(a)
	case []float64:
		w.b = append(w.b, 'F')
		w.int(int64(len(a)))
		for _, x := range a {
			w.float(x)
		}
	case bool:
		w.b = append(w.b, 'b')
		w.bool(a)
	case []bool:
		w.b = append(w.b, 'B')
		w.int(int64(len(a)))
		for _, x := range a {
			w.bool(x)
		}
	case string:
		w.b = append(w.b, 's')
		w.text(a)
	case ops.DType:
		w.b = append(w.b, 'd')
		w.int(int64(a))
	case ops.Device:
		w.b = append(w.b, 'D')
		w.text(string(a))
	default:
		w.ok = false
	}
}

func (w *keeper) float(x float64) { w.b = binary.LittleEndian.AppendUint64(w.b, math.Float64bits(x)) }

func (w *keeper) bool(v bool) {
	if v {
		w.b = append(w.b, 1)
		return
	}
	w.b = append(w.b, 0)
}

var errKept = errors.New("it is no plan that this program has written")

// ReadLayout reads what Append has written. What it returns names no buffer, input or place in memory that is not there.
func ReadLayout(b []byte) (p *Layout, err error) {
	defer func() {
		if v := recover(); v != nil {
			if e, ok := v.(error); ok && errors.Is(e, errKept) {
				p, err = nil, e
				return
			}
			panic(v)
		}
	}()
	r := reader{b}
	p = &Layout{Name: r.text(), Arena: r.int()}
	p.Buffers = make([]Buffer, r.count())
	for i := range p.Buffers {
		r.buffer(&p.Buffers[i])
	}
	p.Inputs = r.ints()
	p.Outputs = make([]Output, r.count())
	for i := range p.Outputs {
		o := &p.Outputs[i]
		o.Buffer, o.Shape, o.Stride, o.Offset, o.Value = int(r.int()), r.sizes(), r.sizes(), r.size(), r.arg()
	}
	p.Steps, p.Prologue = r.steps(), r.steps()
	p.Params, p.Passing = r.ints(), r.ints()
	if len(r.b) != 0 {
		return nil, errKept
	}
	return p, p.checkKept()
}

// reader reads what a keeper has written; it panics with errKept where that cannot be.
type reader struct{ b []byte }

func (r *reader) take(n int) []byte {
	if n < 0 || n > len(r.b) {
		panic(errKept)
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func (r *reader) int() int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		panic(errKept)
	}
	r.b = r.b[n:]
	return v
}

// count is the length of a list, of which each member takes a byte at least.
func (r *reader) count() int {
	n := r.int()
	if n < 0 || n > int64(len(r.b)) {
		panic(errKept)
	}
	return int(n)
}

func (r *reader) text() string  { return string(r.take(r.count())) }
func (r *reader) size() sym.Int { return sym.Const(r.int()) }

func (r *reader) ints() []int {
	out := make([]int, r.count())
	for i := range out {
		out[i] = int(r.int())
	}
	return out
}

func (r *reader) sizes() []sym.Int {
	out := make([]sym.Int, r.count())
	for i := range out {
		out[i] = r.size()
	}
	return out
}

func (r *reader) buffer(b *Buffer) {
	*b = Buffer{
		Name: r.text(), DType: r.dtype(), Shape: r.sizes(), Stride: r.sizes(), Span: r.size(),
		Offset: r.int(), Role: Role(r.int()), Over: int(r.int()),
	}
}

func (r *reader) dtype() ops.DType {
	d := r.int()
	if d < 0 || d >= int64(ops.NumDTypes) {
		panic(errKept)
	}
	return ops.DType(d)
}

func (r *reader) steps() []Step {
	out := make([]Step, r.count())
	for i := range out {
		s := &out[i]
		s.Segment = int(r.int())
		s.Names = make([]string, r.count())
		for k := range s.Names {
			s.Names[k] = r.text()
		}
		if s.Groups = r.ints(); s.Segment >= 0 {
			continue
		}
		op, ok := ops.Lookup(r.text())
		if !ok {
			panic(errKept)
		}
		s.Extern = &Extern{Op: op.ID, Name: r.text(), Reason: r.text(), Args: r.list(), Outs: r.ints()}
	}
	return out
}

func (r *reader) list() []ops.Arg {
	out := make([]ops.Arg, r.count())
	for i := range out {
		out[i] = r.arg()
	}
	return out
}

func (r *reader) arg() ops.Arg {
	switch r.take(1)[0] {
	case 'n':
		return nil
	case 'v':
		return BufferView{Buffer: int(r.int()), Shape: r.sizes(), Stride: r.sizes(), Offset: r.size()}
	case 'l':
		return r.list()
	case 'i':
		return r.size()
	case 'I':
		return r.sizes()
	case 'f':
		return r.float()
	case 'F':
		out := make([]float64, r.count())
		for i := range out {
			out[i] = r.float()
		}
		return out
	case 'b':
		return r.bool()
	case 'B':
		out := make([]bool, r.count())
		for i := range out {
			out[i] = r.bool()
		}
		return out
	case 's':
		return r.text()
	case 'd':
		return r.dtype()
	case 'D':
		return ops.Device(r.text())
	}
	panic(errKept)
}

func (r *reader) float() float64 { return math.Float64frombits(binary.LittleEndian.Uint64(r.take(8))) }
func (r *reader) bool() bool     { return r.take(1)[0] != 0 }

// checkKept wants each number that names something to name what is there, as CheckBuffers and CheckSteps do of a plan
// with its kernels.
func (p *Layout) checkKept() error {
	bad := func(what string, n int) error { return fmt.Errorf("%w: %s %d", errKept, what, n) }
	for i := range p.Buffers {
		b := &p.Buffers[i]
		span, _ := b.Span.IsConst()
		bytes := span * int64(b.DType.Size())
		switch {
		case len(b.Shape) != len(b.Stride), span < 0, span > math.MaxInt64/16, b.Role > RoleCheck:
			return bad("buffer", i)
		case b.Role == RoleArena && (b.Offset < 0 || b.Offset > p.Arena-bytes):
			return bad("place of buffer", i)
		case b.Role == RoleOver && (b.Over < 0 || b.Over >= len(p.Inputs) || p.Inputs[b.Over] < 0):
			return bad("input below buffer", i)
		}
	}
	for _, list := range [][]int{p.Params, p.Passing} {
		for _, n := range list {
			if n < 0 || n >= len(p.Buffers) {
				return bad("buffer of the prologue", n)
			}
		}
	}
	for i, n := range p.Inputs {
		if n < -1 || n >= len(p.Buffers) {
			return bad("input", i)
		}
	}
	for i := range p.Outputs {
		if o := &p.Outputs[i]; o.Buffer < -1 || o.Buffer >= len(p.Buffers) || len(o.Shape) != len(o.Stride) {
			return bad("result", i)
		}
	}
	for i := range p.Steps {
		if x := p.Steps[i].Extern; x != nil && (!p.here(x.Outs...) || !p.argsHere(x.Args)) {
			return bad("call in step", i)
		}
	}
	return nil
}

func (p *Layout) here(buffers ...int) bool {
	for _, n := range buffers {
		if n < 0 || n >= len(p.Buffers) {
			return false
		}
	}
	return true
}

func (p *Layout) argsHere(args []ops.Arg) bool {
	for _, a := range args {
		switch a := a.(type) {
		case BufferView:
			if !p.here(a.Buffer) || len(a.Shape) != len(a.Stride) {
				return false
			}
		case []ops.Arg:
			if !p.argsHere(a) {
				return false
			}
		}
	}
	return true
}
