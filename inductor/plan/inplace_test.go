package plan

import (
	"testing"

	"tcdbg/inductor/ir"
	"tcdbg/inductor/sched"
)

// inPlaceHead declares an input whose content the first output replaces.
const inPlaceHead = `program f
input l_p_: f32[8, 8] stride [8, 1]
input l_q_: f32[8, 8] stride [8, 1]
result buf0: f32[8, 8] stride [8, 1]
result buf1: f32[8, 8] stride [8, 1]
op0 = pointwise [8, 8] // add
  t0 = load.f32 l_p_[8*i0 + i1]
  t1 = load.f32 l_q_[8*i0 + i1]
  t2 = add.f32 t0, t1
  store.f32 buf0[8*i0 + i1], t2
`

const inPlaceTail = `return buf0 + 0 shape [8, 8] stride [8, 1]
return buf1 + 0 shape [8, 8] stride [8, 1]
`

// TestInPlaceReads has programs in which something else reads the old content:
// what may not come after the store.
func TestInPlaceReads(t *testing.T) {
	for _, c := range []struct {
		name, rest string
		groups     int
		want       bool
	}{
		{"another input", `op1 = pointwise [8, 8] // mul
  t0 = load.f32 l_q_[8*i0 + i1]
  t1 = mul.f32 t0, t0
  store.f32 buf1[8*i0 + i1], t1
`, 1, true},
		{"after the store, in its kernel", `op1 = pointwise [8, 8] // mul
  t0 = load.f32 l_p_[8*i0 + i1]
  t1 = mul.f32 t0, t0
  store.f32 buf1[8*i0 + i1], t1
`, 1, false},
		{"in a later kernel", `op1 = matmul [8, 8 | 8] // matmul
  a l_p_[8*i0 + k]
  b l_q_[8*k + i1]
  out buf1[8*i0 + i1]
`, 2, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := ir.Parse(inPlaceHead + c.rest + inPlaceTail)
			if err != nil {
				t.Fatal(err)
			}
			x := New(p, map[int]int{0: 0})
			x.Groups = sched.Schedule(p, sched.Options{})
			if len(x.Groups) != c.groups {
				t.Fatalf("%d kernels, want %d:\n%s", len(x.Groups), c.groups, x.Groups)
			}
			if _, got := x.inPlace()[p.Outputs[0].Buf]; got != c.want {
				t.Errorf("in place: %t, want %t\n%s", got, c.want, x.Groups)
			}
		})
	}
}
