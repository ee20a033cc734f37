package plan

import (
	"strings"
	"testing"

	"tcdbg/graph"
	"tcdbg/inductor/ir"
	"tcdbg/inductor/sched"
	"tcdbg/ops/sym"
)

// chain is a program of three kernels, of which the last reads what both others make.
const chain = `program f
input l_p_: f32[8, 8] stride [8, 1]
input l_q_: f32[8, 8] stride [8, 1]
temp buf0: f32[8, 8] stride [8, 1]
temp buf1: f32[8, 8] stride [8, 1]
result buf2: f32[8, 8] stride [8, 1]
op0 = pointwise [8, 8] // add
  t0 = load.f32 l_p_[8*i0 + i1]
  t1 = load.f32 l_q_[8*i0 + i1]
  t2 = add.f32 t0, t1
  store.f32 buf0[8*i0 + i1], t2
op1 = matmul [8, 8 | 8] // matmul
  a buf0[8*i0 + k]
  b l_q_[8*k + i1]
  out buf1[8*i0 + i1]
op2 = matmul [8, 8 | 8] // matmul
  a buf0[8*i0 + k]
  b buf1[8*k + i1]
  out buf2[8*i0 + i1]
return buf2 + 0 shape [8, 8] stride [8, 1]
`

// TestChecksFindWhatIsWrong breaks a plan in one place and wants the check of the pass
// that makes this place to say so; unbroken, all of them hold.
func TestChecksFindWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		want   string
		breaks func(p *Plan)
		check  func(p *Plan) error
	}{
		{"", func(*Plan) {}, (*Plan).CheckKernels},
		{"", func(*Plan) {}, (*Plan).CheckBuffers},
		{"", func(*Plan) {}, (*Plan).CheckArena},
		{"", func(*Plan) {}, (*Plan).CheckTraffic},
		{"", func(*Plan) {}, (*Plan).CheckSteps},
		{"names for", func(p *Plan) { p.Names = p.Names[1:] }, (*Plan).CheckKernels},
		{"have no kernel", func(p *Plan) { p.Kernels[0] = nil }, (*Plan).CheckKernels},
		{"two kernels are called", func(p *Plan) { p.Names[1] = p.Names[0] }, (*Plan).CheckKernels},
		{"op0 is in fused__0 and in", func(p *Plan) { p.Groups[1] = p.Groups[0] }, (*Plan).CheckKernels},
		{"op1 is in no group", func(p *Plan) { p.Groups[1].Items = nil }, (*Plan).CheckKernels},
		{"buf0, which has no memory", func(p *Plan) { delete(p.slots, p.IR.Buffers[2]) }, (*Plan).CheckBuffers},
		{"buf2 is returned", func(p *Plan) { delete(p.slots, p.IR.Outputs[0].Buf); p.Groups = p.Groups[:0] }, (*Plan).CheckBuffers},
		{"in the place of input 0", func(p *Plan) {
			for i := range p.Buffers[:2] {
				p.Buffers[i].Role = RoleOver
			}
		}, (*Plan).CheckBuffers},
		{"are both at byte 0", func(p *Plan) { p.lives[0].Offset, p.lives[1].Offset = 0, 0 }, (*Plan).CheckArena},
		{"of an arena of", func(p *Plan) { p.lives[0].Offset = p.Arena }, (*Plan).CheckArena},
		{"packed once", func(p *Plan) { p.pack(p.IR.Buffers[2]) }, (*Plan).CheckPacks},
		{
			"packs two operands", func(p *Plan) { p.IR.Inputs[1].Param = true; p.pack(p.IR.Inputs[1]); p.pack(p.IR.Inputs[1]) },
			(*Plan).CheckPacks,
		},
		{"fewer than 0 bytes", func(p *Plan) { p.traffic.before[1] = 1 << 40 }, (*Plan).CheckTraffic},
		{"out of order", func(p *Plan) { p.traffic.reads[p.IR.Buffers[2]] = []int{2, 1} }, (*Plan).CheckTraffic},
		{"runs twice", func(p *Plan) { p.Steps = append(p.Steps, p.Steps[0]) }, (*Plan).CheckSteps},
		{"never runs", func(p *Plan) { p.Steps[0].Names = p.Steps[0].Names[:2] }, (*Plan).CheckSteps},
		{"reads buf0 before it is written", func(p *Plan) { n := p.Steps[0].Names; n[0], n[1] = n[1], n[0] }, (*Plan).CheckSteps},
	} {
		p := planned(t)
		c.breaks(p)
		err := c.check(p)
		if c.want == "" && err != nil {
			t.Errorf("a plan as it must be: %v", err)
		}
		if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
}

// pack plans a packed copy of an operand of the template.
func (p *Plan) pack(operand *ir.Buffer) {
	b := &ir.Buffer{Name: "packed"}
	p.slots[b] = len(p.Buffers)
	p.Buffers = append(p.Buffers, Buffer{Role: RolePacked})
	p.Packs = append(p.Packs, &Packing{Groups: []int{1}, Operand: operand, Buffer: b})
}

// planned is the plan of chain as the passes leave it.
func planned(t *testing.T) *Plan {
	t.Helper()
	prog, err := ir.Parse(chain)
	if err != nil {
		t.Fatal(err)
	}
	p := New(prog, nil)
	p.Groups = sched.Schedule(prog, sched.Options{})
	if len(p.Groups) != 3 {
		t.Fatalf("%d groups: %v", len(p.Groups), p.Groups)
	}
	p.MakeKernels()
	p.PlaceBuffers(graph.New("f", &sym.Env{}))
	p.PlanArena()
	p.CountTraffic()
	p.OrderSteps()
	return p
}
