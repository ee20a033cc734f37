package inductor

import (
	"bytes"
	"testing"

	"tcdbg/inductor/plan"
	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// keptProgram has a value of each kind that is kept.
func keptProgram() *Program {
	c := sym.Consts
	return &Program{
		Entry: "tc_entry", Lanes: 8,
		Layout: plan.Layout{
			Name: "g", Arena: 256,
			Buffers: []plan.Buffer{
				{Name: "x", DType: ops.Float32, Shape: c([]int{4, 8}), Stride: c([]int{8, 1}), Span: sym.Const(32), Offset: -1},
				{Name: "buf0", DType: ops.Int64, Shape: c([]int{32}), Stride: c([]int{1}), Span: sym.Const(32), Role: plan.RoleArena},
				{Name: "buf1", DType: ops.Float32, Shape: c(nil), Stride: c(nil), Span: sym.Const(1), Offset: 60, Role: plan.RoleOver},
			},
			Inputs:  []int{0, -1},
			Outputs: []plan.Output{{Buffer: 1, Shape: c([]int{4}), Stride: c([]int{8}), Offset: sym.Const(3)}, {Buffer: -1, Value: 2.5}},
			Steps: []plan.Step{
				{Segment: 0, Names: []string{"fused_add_0"}, Groups: []int{0}},
				{Segment: -1, Names: []string{"extern_sort_1"}, Groups: []int{1}, Extern: &plan.Extern{
					Op: ops.Sort, Name: "extern_sort_1", Reason: "no loops", Outs: []int{1, 2},
					Args: []ops.Arg{
						plan.BufferView{Buffer: 1, Shape: c([]int{4}), Stride: c([]int{2}), Offset: sym.Const(1)},
						[]ops.Arg{plan.BufferView{}, nil},
						sym.C(-1), c([]int{1, 2}), -0.5,
						[]float64{1, 2},
						true,
						[]bool{true, false},
						"sum", ops.BFloat16, ops.CPU, nil,
					},
				}},
			},
			Prologue: []plan.Step{{Segment: 1, Names: []string{"pack_x"}}},
			Params:   []int{0}, Passing: []int{2}, PassingBytes: 64,
		},
	}
}

// TestKeptPrograms: what is read is what was written.
func TestKeptPrograms(t *testing.T) {
	want, ok := keptProgram().Append(nil)
	if !ok {
		t.Fatal("it is not written")
	}
	p, err := Read(want)
	if err != nil {
		t.Fatal(err)
	}
	got, ok := p.Append(nil)
	if !ok || !bytes.Equal(want, got) || p.Entry != "tc_entry" || p.Lanes != 8 || p.Steps[1].Extern.Op != ops.Sort ||
		len(p.Steps[1].Extern.Args) != 12 || p.Outputs[1].Value != 2.5 || p.Buffers[1].Role != plan.RoleArena {
		t.Errorf("%+v", p)
	}
	s := &sym.Symbol{Name: "s0"}
	for i, change := range []func(p *Program){
		func(p *Program) { p.Symbols = []plan.Symbol{{Sym: s}} },
		func(p *Program) { p.Sizes = []sym.Int{sym.C(1)} },
		func(p *Program) { p.Bodies = map[string][]*Program{"cond": nil} },
		func(p *Program) { p.Steps[1].Extern.Args[2] = s },
	} {
		p := keptProgram()
		change(p)
		if _, ok := p.Append(nil); ok {
			t.Errorf("change %d is written", i)
		}
	}
}

// TestDamagedPrograms: bytes that are cut or changed are refused, or name nothing that is not there.
func TestDamagedPrograms(t *testing.T) {
	whole, _ := keptProgram().Append(nil)
	for n := range whole {
		if _, err := Read(whole[:n]); err == nil {
			t.Errorf("%d of %d bytes are a program", n, len(whole))
		}
		for _, v := range []byte{0, 1, 0x7f, 0x80, 0xff} {
			b := bytes.Clone(whole)
			b[n] = v
			if p, err := Read(b); err == nil {
				inside(t, p)
			}
		}
	}
	for i, change := range []func(l *plan.Layout){
		func(l *plan.Layout) { l.Buffers[1].Offset = 8 },
		func(l *plan.Layout) { l.Buffers[1].Offset = -8 },
		func(l *plan.Layout) { l.Buffers[2].Over = 1 },
		func(l *plan.Layout) { l.Buffers[2].Over = 2 },
		func(l *plan.Layout) { l.Buffers[0].Span = sym.Const(-1) },
		func(l *plan.Layout) { l.Buffers[0].Stride = nil },
		func(l *plan.Layout) { l.Buffers[0].Role = 9 },
		func(l *plan.Layout) { l.Inputs[0] = 3 },
		func(l *plan.Layout) { l.Outputs[0].Buffer = 3 },
		func(l *plan.Layout) { l.Params[0] = -1 },
		func(l *plan.Layout) { l.Passing[0] = 3 },
		func(l *plan.Layout) { l.PassingBytes = 0 },
		func(l *plan.Layout) { l.Buffers[2].Offset = -1 },
		func(l *plan.Layout) { l.Steps[1].Extern.Outs[1] = 3 },
		func(l *plan.Layout) { l.Steps[1].Extern.Args[0] = plan.BufferView{Buffer: 3} },
		func(l *plan.Layout) { l.Steps[1].Extern.Args[1].([]ops.Arg)[0] = plan.BufferView{Buffer: -1} },
	} {
		p := keptProgram()
		change(&p.Layout)
		b, _ := p.Append(nil)
		if _, err := Read(b); err == nil {
			t.Errorf("change %d is read", i)
		}
	}
}

// inside wants the buffers that a program names to be there.
func inside(t *testing.T, p *Program) {
	t.Helper()
	for i := range p.Buffers {
		b := &p.Buffers[i]
		span, _ := b.Span.IsConst()
		if b.Role == plan.RoleArena && (b.Offset < 0 || b.Offset+span*int64(b.DType.Size()) > p.Arena) {
			t.Errorf("%s lies at %d of an arena of %d", b.Name, b.Offset, p.Arena)
		}
	}
	for _, n := range p.Params {
		if n < 0 || n >= len(p.Buffers) {
			t.Errorf("buffer %d of %d", n, len(p.Buffers))
		}
	}
}
