package plan

import (
	"errors"
	"fmt"
	"math"

	"tcdbg/ops"
	"tcdbg/ops/wire"
)

// This file writes what a run must know of a plan as bytes, and reads it again in another process. What people and the
// interpreter want to know besides, kernels above all, is no part of it: who asks plans the graph again.

// Append appends the layout to b. ok is false for one that is not written: its sizes vary, or it runs control flow.
func (p *Layout) Append(b []byte) (out []byte, ok bool) {
	w := keeper{wire.Writer{B: b, Lost: len(p.Symbols) > 0}}
	w.Other = w.view
	w.Texts(p.Name)
	w.Int(p.Arena)
	w.Len(len(p.Buffers))
	for i := range p.Buffers {
		w.buffer(&p.Buffers[i])
	}
	w.Ints(p.Inputs)
	w.Len(len(p.Outputs))
	for i := range p.Outputs {
		o := &p.Outputs[i]
		w.Int(int64(o.Buffer))
		w.Sizes(o.Shape)
		w.Sizes(o.Stride)
		w.Size(o.Offset)
		w.Arg(o.Value)
	}
	w.steps(p.Steps)
	w.steps(p.Prologue)
	w.Ints(p.Params)
	w.Ints(p.Passing)
	w.Int(p.PassingBytes)
	return w.B, !w.Lost
}

// keeper writes a layout.
type keeper struct{ wire.Writer }

func (w *keeper) buffer(b *Buffer) {
	w.Texts(b.Name)
	w.Int(int64(b.DType))
	w.Sizes(b.Shape)
	w.Sizes(b.Stride)
	w.Size(b.Span)
	w.Int(b.Offset)
	w.Int(int64(b.Role))
	w.Int(int64(b.Over))
}

func (w *keeper) steps(list []Step) {
	w.Len(len(list))
	for i := range list {
		s := &list[i]
		w.Int(int64(s.Segment))
		w.Len(len(s.Names))
		w.Texts(s.Names...)
		w.Ints(s.Groups)
		if s.Segment >= 0 || s.Extern == nil {
			w.Lost = w.Lost || s.Extern != nil || s.Segment < 0
			continue
		}
		w.Lost = w.Lost || s.Extern.Flow != nil
		w.Texts(ops.Get(s.Extern.Op).Name, s.Extern.Name, s.Extern.Reason)
		w.Args(s.Extern.Args)
		w.Ints(s.Extern.Outs)
	}
}

// letterView begins a view of a buffer.
const letterView = 'v'

// view writes an argument of an extern call, or a result, that is a buffer.
func (w *keeper) view(a ops.Arg) bool {
	v, ok := a.(BufferView)
	if ok {
		w.Letter(letterView)
		w.Int(int64(v.Buffer))
		w.Sizes(v.Shape)
		w.Sizes(v.Stride)
		w.Size(v.Offset)
	}
	return ok
}

var errKept = errors.New("it is no plan that this program has written")

// ReadLayout reads what Append has written. What it returns names no buffer, input or place in memory that is not there.
func ReadLayout(b []byte) (*Layout, error) {
	r := reader{wire.Reader{B: b}}
	r.Other = r.view
	p := &Layout{
		Name: r.Text(), Arena: r.Int(), Buffers: wire.List(&r.Reader, r.buffer), Inputs: r.Ints(),
		Outputs: wire.List(&r.Reader, r.output), Steps: r.steps(), Prologue: r.steps(), Params: r.Ints(),
		Passing: r.Ints(), PassingBytes: r.Int(),
	}
	if !r.Done() {
		return nil, errKept
	}
	return p, p.checkKept()
}

// reader reads what a keeper has written.
type reader struct{ wire.Reader }

func (r *reader) buffer() Buffer {
	return Buffer{
		Name: r.Text(), DType: r.DType(), Shape: r.Sizes(), Stride: r.Sizes(), Span: r.Size(),
		Offset: r.Int(), Role: Role(r.Int()), Over: int(r.Int()),
	}
}

func (r *reader) output() Output {
	return Output{Buffer: int(r.Int()), Shape: r.Sizes(), Stride: r.Sizes(), Offset: r.Size(), Value: r.Arg()}
}

func (r *reader) steps() []Step { return wire.List(&r.Reader, r.step) }

func (r *reader) step() Step {
	s := Step{Segment: int(r.Int()), Names: wire.List(&r.Reader, r.Text), Groups: r.Ints()}
	if s.Segment >= 0 {
		return s
	}
	op, ok := ops.Lookup(r.Text())
	if !ok {
		r.Fail()
		return s
	}
	s.Extern = &Extern{Op: op.ID, Name: r.Text(), Reason: r.Text(), Args: r.Args(), Outs: r.Ints()}
	return s
}

func (r *reader) view(letter byte) (ops.Arg, bool) {
	if letter != letterView {
		return nil, false
	}
	return BufferView{Buffer: int(r.Int()), Shape: r.Sizes(), Stride: r.Sizes(), Offset: r.Size()}, true
}

// checkKept wants each number that names something to name what is there, as CheckBuffers and CheckSteps do of a plan
// with its kernels.
func (p *Layout) checkKept() error {
	bad := func(what string, n int) error { return fmt.Errorf("%w: %s %d", errKept, what, n) }
	for i := range p.Buffers {
		b := &p.Buffers[i]
		span, _ := b.Span.IsConst()
		switch {
		case len(b.Shape) != len(b.Stride), span < 0, span > math.MaxInt64/16, b.Role > RoleCheck:
			return bad("buffer", i)
		case b.Role == RoleArena && (b.Offset < 0 || b.Offset > p.Arena-b.bytes()):
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
	for _, n := range p.Passing {
		if b := &p.Buffers[n]; b.Offset < 0 || b.Offset > p.PassingBytes-b.bytes() {
			return bad("place of buffer", n)
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

// bytes is what a buffer takes, 0 where that differs from call to call.
func (b *Buffer) bytes() int64 {
	span, _ := b.Span.IsConst()
	return span * int64(b.DType.Size())
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
