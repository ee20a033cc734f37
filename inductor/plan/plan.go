// Package plan is what lies beside the loops of a program before its code is written:
// kernels and their order, buffers and their places, which weights are packed, what
// runs in the prologue. Planning and code generation read the IR and never write it.
//
// It imports ir, sched, graph, ops, sym and logs; never codegen, whose targets read
// plans. Open this file first, then buffers.go, steps.go and layout.go (what a run
// needs).
package plan

import (
	"fmt"

	"tcdbg/inductor/ir"
	"tcdbg/inductor/sched"
)

// Plan is a scheduled program on its way to code; the passes of package inductor fill
// it in.
type Plan struct {
	Layout
	IR      *ir.Program
	Groups  []*sched.Group
	Kernels []*sched.Kernel // [] /* group */; nil for extern ones
	Names   []string        // [] /* group */
	Packs   []*Packing      // in the order of the first kernels that read them
	// Attentions are kernels that run together, in their order.
	Attentions []*Attention
	NoReuse    bool       // no two buffers of the arena share a place
	Check      *ir.Buffer // set by kernels whose data is not as it must be; may be nil

	replaces map[int]int
	slots    map[*ir.Buffer]int
	hoisted  map[*ir.Buffer]bool // made by the prologue
	packed   map[int]*Packing    // [] /* group */ what it reads; see Pack
	traffic  *traffic
	writer   map[*ir.Buffer]*ir.Node // see writers

	packsAt      []*Packing    // [] /* what the prologue runs */ nil for a kernel
	passingLives []*sched.Life // of what passes in the prologue
}

// New begins the plan of a lowered program. Outputs replace the content of inputs as
// replaces says, by position.
func New(p *ir.Program, replaces map[int]int) *Plan {
	out := &Plan{IR: p, replaces: replaces, slots: map[*ir.Buffer]int{}, hoisted: p.Hoisted()}
	out.Name = p.Name
	return out
}

// Slot is the position of a buffer among the plan's.
func (p *Plan) Slot(b *ir.Buffer) int {
	s, ok := p.slots[b]
	if !ok {
		panic("inductor: buffer " + b.Name + " has no memory")
	}
	return s
}

// Placed is Slot for buffers that may have no memory.
func (p *Plan) Placed(b *ir.Buffer) (slot int, ok bool) {
	slot, ok = p.slots[b]
	return slot, ok
}

// Hoisted reports whether the prologue makes buffer b.
func (p *Plan) Hoisted(b *ir.Buffer) bool { return p.hoisted[b] }

// Fixed reports whether a buffer changes only with parameters.
func (p *Plan) Fixed(b *ir.Buffer) bool { return b.Param || p.hoisted[b] }

// Count is the number of kernels, or of extern calls.
func (p *Plan) Count(extern bool) int {
	n := 0
	for _, k := range p.Kernels {
		if (k == nil) == extern {
			n++
		}
	}
	return n
}

// shared finds the buffers that more than one group touches: those that are
// read elsewhere, and those that several groups write in pieces.
func (p *Plan) shared() map[*ir.Buffer]bool {
	first := map[*ir.Buffer]*sched.Group{}
	out := map[*ir.Buffer]bool{}
	for _, g := range p.Groups {
		touch := func(b *ir.Buffer, _ *ir.Index) {
			if first[b] == nil {
				first[b] = g
			}
			if first[b] != g {
				out[b] = true
			}
		}
		for _, it := range g.Members() {
			it.Node.Reads(touch)
			it.Node.Writes(touch)
		}
	}
	return out
}

// MakeKernels finishes the groups.
func (p *Plan) MakeKernels() {
	shared := p.shared()
	for i, g := range p.Groups {
		if g.Extern {
			n := g.Items[0].Node
			p.Kernels = append(p.Kernels, nil)
			p.Names = append(p.Names, "extern_"+n.Origins[0].Op+"_"+fmt.Sprint(i))
			continue
		}
		k := sched.NewKernel(g, func(b *ir.Buffer) bool { return b.Kind == ir.Result || shared[b] })
		k.Name = sched.KernelName(k.Origins(), i)
		p.Kernels = append(p.Kernels, k)
		p.Names = append(p.Names, k.Name)
	}
}
