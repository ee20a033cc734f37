package inductor

import (
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"tcdbg/inductor/codegen"
	"tcdbg/inductor/codegen/cpp"
	"tcdbg/inductor/interp"
	"tcdbg/inductor/ir"
	"tcdbg/inductor/plan"
	"tcdbg/inductor/sched"
	"tcdbg/ops/sym"
)

// plainMemory is memory of eight elements for every buffer.
type plainMemory map[string]*[8]int64

func (m plainMemory) Eval(x sym.Int) int64 { return ir.HintOf(x) }
func (m plainMemory) Failed()              {}
func (m plainMemory) Pointer(b *ir.Buffer) unsafe.Pointer {
	if m[b.Name] == nil {
		m[b.Name] = &[8]int64{1, 1, 1, 1, 1, 1, 1, 1}
	}
	return unsafe.Pointer(m[b.Name])
}

// TestEveryOperationHasAMeaning gives each element operation of the IR's table to every
// target and to the interpreter.
func TestEveryOperationHasAMeaning(t *testing.T) {
	for o := ir.Neg; o < ir.NumOps; o++ {
		t.Run(o.String(), func(t *testing.T) {
			p, err := ir.Parse(oneOperation(o))
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Check(); err != nil {
				t.Fatal(err)
			}
			pl := plan.New(p, nil)
			pl.Groups = sched.Schedule(p, sched.Options{})
			pl.MakeKernels()
			interp.Run(pl.Kernels[0], plainMemory{})
			opt := &Options{Machine: cpp.Machine{Lanes: 8}, Cores: 1}
			for _, row := range targets {
				if _, err := row.make(opt).Writer(placed(pl)).Kernel(0); err != nil {
					t.Errorf("%s: %v", row.name, err)
				}
			}
		})
	}
}

// placed is the plan with memory for its buffers.
func placed(p *plan.Plan) *plan.Plan {
	if len(p.Buffers) == 0 {
		p.PlaceBuffers(newBuild("f").G)
		p.CountTraffic()
	}
	return p
}

var _ codegen.Target = (*cpp.Target)(nil)

func oneOperation(o ir.Op) string {
	in, out := "f32", "f32"
	switch o {
	case ir.And, ir.Or, ir.Xor, ir.Shl, ir.Shr:
		in, out = "i64", "i64"
	}
	if o.Compares() {
		out = "b8"
	}
	args := strings.TrimSuffix(strings.Repeat("t0, ", o.Arity()), ", ")
	return fmt.Sprintf(`program f
input a: %[1]s[8] stride [1]
result r: %[2]s[8] stride [1]
op0 = pointwise [8]
  t0 = load.%[1]s a[i0]
  t1 = %[3]s.%[2]s %[4]s
  store.%[2]s r[i0], t1
return r + 0 shape [8] stride [1]
`, in, out, o, args)
}
