package plan

import (
	"strings"
	"testing"

	"tcdbg/inductor/ir"
	"tcdbg/inductor/sched"
)

// softmaxText is an attention of 4 matrices, as models write it.
const softmaxText = `program f
input l_q_: f32[4, 20, 8] stride [160, 8, 1]
input l_k_: f32[4, 40, 8] stride [320, 8, 1]
input l_v_: f32[4, 40, 16] stride [640, 16, 1]
temp buf0: f32[4, 20, 40] stride [800, 40, 1]
temp buf1: f32[4, 20, 40] stride [800, 40, 1]
temp buf2: f32[4, 20, 1] stride [20, 1, 1]
temp buf3: f32[4, 20, 40] stride [800, 40, 1]
temp buf4: f32[4, 20, 1] stride [20, 1, 1]
temp buf5: f32[4, 20, 40] stride [800, 40, 1]
result buf6: f32[4, 20, 16] stride [320, 16, 1]
op0 = matmul [4, 20, 40 | 8] // matmul
  a l_q_[160*i0 + 8*i1 + k]
  b l_k_[320*i0 + 8*i2 + k]
  out buf0[800*i0 + 40*i1 + i2]
op1 = pointwise [4, 20, 40] // mul
  t0 = load.f32 buf0[800*i0 + 40*i1 + i2]
  t1 = const.f32 0.25
  t2 = mul.f32 t0, t1
  store.f32 buf1[800*i0 + 40*i1 + i2], t2
op2 = reduction [4, 20 | 40] // amax
  t0 = load.f32 buf1[800*i0 + 40*i1 + r0]
  t1 = reduce_max.f32 t0
  store.f32 buf2[20*i0 + i1], t1
op3 = pointwise [4, 20, 40] // exp
  t0 = load.f32 buf1[800*i0 + 40*i1 + i2]
  t1 = load.f32 buf2[20*i0 + i1]
  t2 = sub.f32 t0, t1
  t3 = exp.f32 t2
  store.f32 buf3[800*i0 + 40*i1 + i2], t3
op4 = reduction [4, 20 | 40] // sum
  t0 = load.f32 buf3[800*i0 + 40*i1 + r0]
  t1 = reduce_sum.f32 t0
  store.f32 buf4[20*i0 + i1], t1
op5 = pointwise [4, 20, 40] // div
  t0 = load.f32 buf3[800*i0 + 40*i1 + i2]
  t1 = load.f32 buf4[20*i0 + i1]
  t2 = div.f32 t0, t1
  store.f32 buf5[800*i0 + 40*i1 + i2], t2
op6 = matmul [4, 20, 16 | 40] // matmul_1
  a buf5[800*i0 + 40*i1 + k]
  b l_v_[640*i0 + i2 + 16*k]
  out buf6[320*i0 + 16*i1 + i2]
return buf6 + 0 shape [4, 20, 16] stride [320, 16, 1]
`

// TestSoftmax has an attention of softmax, and programs that differ from it in what a target would have to know.
func TestSoftmax(t *testing.T) {
	const div = "op5 = pointwise [4, 20, 40] // div\n" +
		"  t0 = load.f32 buf3[800*i0 + 40*i1 + i2]\n" +
		"  t1 = load.f32 buf4[20*i0 + i1]\n" +
		"  t2 = div.f32 t0, t1\n" +
		"  store.f32 buf5[800*i0 + 40*i1 + i2], t2\n"
	for _, c := range []struct {
		name  string
		edits []string
		scale float64 // 0: no softmax
		sums  string
	}{
		{"as it is", nil, 0.25, ""},
		{"divided by a number", []string{"mul.f32 t0, t1", "div.f32 t0, t1"}, 4, ""},
		{"by next to nothing", []string{"0.25", "1e-30"}, 0, ""},
		{"nothing added", []string{"0.25", "0", "mul.f32 t0, t1", "add.f32 t1, t0"}, 1, ""},
		{"a number divided", []string{"mul.f32 t0, t1", "div.f32 t1, t0"}, 0, ""},
		{"another number added", []string{"mul.f32 t0, t1", "add.f32 t0, t1"}, 0, ""},
		{"the least score", []string{"reduce_max", "reduce_min"}, 0, ""},
		{"less the other way round", []string{"sub.f32 t0, t1", "sub.f32 t1, t0"}, 0, ""},
		{"no exponential", []string{"exp.f32", "neg.f32"}, 0, ""},
		{"the greatest exponential", []string{"reduce_sum", "reduce_max"}, 0, ""},
		{"times the sum", []string{"div.f32 t0, t1", "mul.f32 t0, t1"}, 0, ""},
		{
			"times its inverse",
			[]string{
				"t2 = div.f32 t0, t1\n  store.f32 buf5[800*i0 + 40*i1 + i2], t2",
				"t2 = reciprocal.f32 t1\n  t3 = mul.f32 t2, t0\n  store.f32 buf5[800*i0 + 40*i1 + i2], t3",
			},
			0.25, "",
		},
		{"not divided", []string{div, "", "a buf5", "a buf3", "temp buf4", "result buf4"}, 0.25, "buf4"},
		{"divided and the sum wanted", []string{"temp buf4", "result buf4"}, 0, ""},
		{"the greatest score wanted", []string{"temp buf2", "result buf2"}, 0, ""},
		{"of bfloat16", []string{": f32[", ": bf16["}, 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := ir.Parse(strings.NewReplacer(c.edits...).Replace(softmaxText))
			if err != nil {
				t.Fatal(err)
			}
			x := New(p, nil)
			x.Groups = sched.Schedule(p, sched.Options{})
			x.MakeKernels()
			x.FindAttention()
			if len(x.Attentions) != 1 {
				t.Fatalf("%d attentions of %d kernels", len(x.Attentions), len(x.Groups))
			}
			s := x.Attentions[0].Softmax
			if (s != nil) != (c.scale != 0) {
				t.Fatalf("softmax: %v", s)
			}
			if s == nil {
				return
			}
			sums := ""
			if s.Sums != nil {
				sums = s.Sums.Name
			}
			if s.Scale != c.scale || sums != c.sums {
				t.Errorf("scale %g, sums %q, want %g, %q", s.Scale, sums, c.scale, c.sums)
			}
		})
	}
}
