package sched

import (
	"testing"

	"tcdbg/inductor/ir"
)

// TestKernelLoops: neighbouring loops that are walked as one are one, the stores
// run along memory, and vectors lie along the loop in which the inner iterations
// read memory.
func TestKernelLoops(t *testing.T) {
	for _, c := range []struct {
		name     string
		op0, op1 [3]string
		want     string // the loops and addresses
		vec      string // the loop of the vectors
	}{
		{
			"contiguous",
			[3]string{"4, 8", "x[8*i0 + i1]", "y[8*i0 + i1]"},
			[3]string{"4, 8", "y[8*i0 + i1]", "z[8*i0 + i1]"},
			"[ | 32]: x[r0] y[r0], y[r0] z[r0]", "r0",
		},
		{
			"stored transposed",
			[3]string{"12, 20", "x[20*i0 + i1]", "y[i0 + 12*i1]"},
			[3]string{"12, 20", "y[i0 + 12*i1]", "z[i0 + 12*i1]"},
			"[20 | 12]: x[i0 + 20*r0] y[12*i0 + r0], y[12*i0 + r0] z[12*i0 + r0]", "r0",
		},
		{
			"what all iterations of a loop read says nothing of its place",
			[3]string{"4, 8", "x[i0]", "y[i0 + 4*i1]"},
			[3]string{"4, 8", "y[i0 + 4*i1]", "z[i0 + 4*i1]"},
			"[8 | 4]: x[r0] y[4*i0 + r0], y[4*i0 + r0] z[4*i0 + r0]", "r0",
		},
		{
			"sums of rows",
			[3]string{"8 | 6, 5", "x[30*i0 + 5*r0 + r1]", "y[i0]"},
			[3]string{"8", "y[i0]", "z[i0]"},
			"[8 | 30]: x[30*i0 + r0] y[i0], y[i0] z[i0]", "r0",
		},
		{
			"sums of columns",
			[3]string{"8 | 6, 5", "x[i0 + 8*r0 + 48*r1]", "y[i0]"},
			[3]string{"8", "y[i0]", "z[i0]"},
			"[8 | 30]: x[i0 + 8*r0] y[i0], y[i0] z[i0]", "i0",
		},
		{
			"sums of every third element",
			[3]string{"8 | 6", "x[18*i0 + 3*r0]", "y[i0]"},
			[3]string{"8", "y[i0]", "z[i0]"},
			"[8 | 6]: x[18*i0 + 3*r0] y[i0], y[i0] z[i0]", "r0",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := copies(t, c.op0, c.op1)
			groups := Schedule(p, Options{})
			if len(groups) != 1 {
				t.Fatalf("%d kernels", len(groups))
			}
			k := NewKernel(groups[0], func(b *ir.Buffer) bool { return b.Kind == ir.Result })
			if got := walks(k.Group); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if vec := map[bool]string{true: "r0", false: "i0"}[k.Vec >= k.Outer]; vec != c.vec {
				t.Errorf("vectors lie along %s, want %s", vec, c.vec)
			}
		})
	}
}

// What is read once a row, however often, does not turn the vectors across the
// rows.
func TestVectorsOfCentredRows(t *testing.T) {
	p, err := ir.Parse(`program p
input x: f32[8, 6] stride [6, 1]
input mean: f32[8] stride [1]
input scale: f32[8] stride [1]
result z: f32[8] stride [1]
op0 = reduction [8 | 6] // sum
  t0 = load.f32 x[6*i0 + r0]
  t1 = load.f32 mean[i0]
  t2 = load.f32 scale[i0]
  t3 = sub.f32 t0, t1
  t4 = mul.f32 t3, t2
  t5 = reduce_sum.f32 t4
  store.f32 z[i0], t5
return z + 0 shape [8] stride [1]
`)
	if err != nil {
		t.Fatal(err)
	}
	k := NewKernel(Schedule(p, Options{})[0], func(b *ir.Buffer) bool { return b.Kind == ir.Result })
	if k.Outer != 1 || k.Vec != 1 {
		t.Errorf("%d outer loops, vectors along loop %d", k.Outer, k.Vec)
	}
}
