package backends

import (
	"runtime"
	"slices"

	"tcdbg/inductor"
	"tcdbg/inductor/plan"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
)

// This file is mode "reduce-overhead": a call plan. Arena, argument tables,
// results and the list of them are made once; a call fills in the pointers of
// its inputs and runs the kernels. Results are overwritten by the plan's next
// run, as those of a CUDA graph are; the tracer decides which plan runs when.

// callPlan is a form of an executable for one goroutine.
type callPlan struct {
	x       *executable
	homes   []home           // [] /* buffer */ of results; zero for others
	kept    []*torch.Storage // those of results
	outputs []torch.Value
	tensors []*torch.Tensor // [] /* output */ nil where it is no result of a kernel
}

// planned reports whether a program's results can keep their memory: their sizes
// must be known. Extern calls and views of inputs still allocate what they need.
func planned(p *inductor.Program) bool { return len(p.Symbols) == 0 }

func (x *executable) newPlan() *callPlan {
	p := &callPlan{
		x: x, homes: make([]home, len(x.prog.Buffers)),
		outputs: make([]torch.Value, len(x.prog.Outputs)), tensors: make([]*torch.Tensor, len(x.prog.Outputs)),
	}
	p.renew()
	return p
}

// renew gives the results memory that no call has seen.
func (p *callPlan) renew() {
	prog := p.x.prog
	p.kept = p.kept[:0]
	for i := range prog.Buffers {
		if prog.Buffers[i].Role == plan.RoleOutput {
			p.homes[i] = home{torch.NewKeptStorage(p.x.static[i].bytes), 0}
			p.kept = append(p.kept, p.homes[i].st)
		}
	}
	for i := range prog.Outputs {
		if o := &prog.Outputs[i]; o.Buffer >= 0 && prog.Buffers[o.Buffer].Role == plan.RoleOutput {
			p.tensors[i] = new(torch.Tensor)
		}
	}
}

// run executes the program into the plan's memory.
func (p *callPlan) run(in []torch.Value) []torch.Value {
	if p.reads(in) { // an old result came back as an input
		p.renew()
	}
	f := p.x.frames.Get().(*frame)
	f.bind(in)
	f.place(p.homes)
	f.steps(in)
	p.results(f, in)
	runtime.KeepAlive(in)
	f.release()
	return p.outputs
}

// reads reports whether an input lies in the memory of a result.
func (p *callPlan) reads(in []torch.Value) bool {
	for _, v := range in {
		if t, ok := v.(*torch.Tensor); ok && slices.Contains(p.kept, t.Storage()) {
			return true
		}
	}
	return false
}

// results makes the tensors what they were at first, whatever the program did to
// them, and tells those who saved one that its content is another.
func (p *callPlan) results(f *frame, in []torch.Value) {
	prog := p.x.prog
	for i := range prog.Outputs {
		t := p.tensors[i]
		if t == nil {
			p.outputs[i] = f.output(i, in)
			continue
		}
		o, s := &prog.Outputs[i], &p.x.outs[i]
		off, _ := o.Offset.IsConst()
		st := p.homes[o.Buffer].st
		st.Bump()
		torch.Renew(t, st, prog.Buffers[o.Buffer].DType, s.size, s.stride, int(off))
		p.outputs[i] = t
	}
}

// staticLayout is a layout in numbers, its sizes nil where one is not known.
func staticLayout(span sym.Int, d ops.DType, size, stride []sym.Int) shape {
	n, ok := span.IsConst()
	if !ok || !sym.AllConst(size) || !sym.AllConst(stride) {
		return shape{}
	}
	return shape{int(n) * d.Size(), sym.Hints(size), sym.Hints(stride)}
}
