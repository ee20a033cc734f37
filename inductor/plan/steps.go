package plan

import (
	"slices"

	"tcdbg/inductor/ir"
	"tcdbg/ops"
)

// This file orders what runs: segments of kernels, extern calls between them, and the
// prologue.

// OrderSteps orders segments and extern calls; the prologue's segment comes last.
func (p *Plan) OrderSteps() {
	segments, split := 0, p.splitAt()
	for i, g := range p.Groups {
		if g.Hoisted {
			continue
		}
		if g.Extern {
			p.Steps = append(p.Steps, Step{Segment: -1, Extern: p.Extern(g.Items[0].Node, p.Names[i]), Names: p.Names[i : i+1]})
			continue
		}
		last := len(p.Steps) - 1
		if last < 0 || p.Steps[last].Segment < 0 || i == split {
			p.Steps = append(p.Steps, Step{Segment: segments})
			segments++
			last++
		}
		p.Steps[last].add(p, i)
	}
	p.prologue(segments)
	p.outputs()
}

// splitAt is the group at which a segment begins although no extern call is before it: what
// follows writes inputs, so that whoever runs the steps looks at the checks first. -1 where
// there is no such place.
func (p *Plan) splitAt() int {
	writes := slices.ContainsFunc(p.Buffers, func(b Buffer) bool { return b.Role == RoleOver })
	at := p.checkedAt() + 1
	for at < len(p.Groups) && p.Groups[at].Hoisted {
		at++
	}
	if !writes || at == 0 {
		return -1
	}
	return at
}

// add adds the kernel of a group to a segment.
func (s *Step) add(p *Plan, group int) {
	s.Kernels = append(s.Kernels, p.Kernels[group])
	s.Groups = append(s.Groups, group)
	s.Names = append(s.Names, p.Names[group])
}

// outputs says where the results are.
func (p *Plan) outputs() {
	for _, o := range p.IR.Outputs {
		out := Output{Buffer: -1, Shape: o.Shape, Stride: o.Stride, Offset: o.Off, Value: o.Value}
		if o.Buf != nil {
			out.Buffer = p.Slot(o.Buf)
		}
		p.Outputs = append(p.Outputs, out)
	}
}

// Extern is the call of an extern node.
func (p *Plan) Extern(n *ir.Node, name string) *Extern {
	x := &Extern{Op: n.Ext.Op, Name: name, Reason: string(n.Ext.Reason), Flow: n.Ext.Flow}
	for _, a := range n.Ext.Args {
		x.Args = append(x.Args, p.externArg(a))
	}
	for _, b := range n.Ext.Outs {
		x.Outs = append(x.Outs, p.Slot(b))
	}
	return x
}

func (p *Plan) externArg(a ops.Arg) ops.Arg {
	switch a := a.(type) {
	case ir.BufArg:
		return BufferView{Buffer: p.Slot(a.Buf), Shape: a.Shape, Stride: a.Stride, Offset: a.Off}
	case []ops.Arg:
		out := make([]ops.Arg, len(a))
		for i, x := range a {
			out[i] = p.externArg(x)
		}
		return out
	}
	return a
}
