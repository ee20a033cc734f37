package interp

import (
	"slices"
	"testing"
	"unsafe"

	"tcdbg/inductor/ir"
	"tcdbg/inductor/sched"
	"tcdbg/ops/sym"
)

// memory is an Env of buffers of float32.
type memory struct {
	bufs   map[string][]float32
	failed bool
}

func (m *memory) Eval(x sym.Int) int64                { return ir.HintOf(x) }
func (m *memory) Pointer(b *ir.Buffer) unsafe.Pointer { return unsafe.Pointer(&m.bufs[b.Name][0]) }
func (m *memory) Failed()                             { m.failed = true }

// TestKernels runs a program from its text: a reduction with what follows it, a scan, and
// a store at positions that are data.
func TestKernels(t *testing.T) {
	p, err := ir.Parse(`program interpreted
input a: f32[2, 3] stride [3, 1]
result s: f32[2] stride [1]
result c: f32[2, 3] stride [3, 1]
result o: f32[2, 3] stride [3, 1]
op0 = reduction [2 | 3] // sum, then its double
  t0 = load.f32 a[3*i0 + r0]
  t1 = reduce_sum.f32 t0
  t2 = add.f32 t1, t1
  store.f32 s[i0], t2
op1 = sequential [2 | 3] // cumsum
  t0 = load.f32 a[3*i0 + r0]
  t1 = scan_sum.f32 t0
  store.f32 c[3*i0 + r0], t1
op2 = sequential [2 | 3] // reversed
  t0 = load.f32 a[3*i0 + r0]
  t1 = index.i64 [-1*r0 + 2]
  storeat.f32 o[3*i0], t0, t1
return s + 0 shape [2] stride [1]
return c + 0 shape [2, 3] stride [3, 1]
return o + 0 shape [2, 3] stride [3, 1]
`)
	if err != nil {
		t.Fatal(err)
	}
	m := &memory{bufs: map[string][]float32{
		"a": {1, 2, 3, 4, 5, 6}, "s": make([]float32, 2), "c": make([]float32, 6),
		"o": make([]float32, 6),
	}}
	for _, g := range sched.Schedule(p, sched.Options{}) {
		Run(sched.NewKernel(g, func(b *ir.Buffer) bool { return true }), m)
	}
	for name, want := range map[string][]float32{"s": {12, 30}, "c": {1, 3, 6, 4, 9, 15}, "o": {3, 2, 1, 6, 5, 4}} {
		if got := m.bufs[name]; !slices.Equal(got, want) {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
}
