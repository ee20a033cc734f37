package plan

import (
	"strings"
	"testing"

	"tcdbg/inductor/ir"
	"tcdbg/inductor/sched"
)

// attentionText is an attention of 4 matrices: what is between them, the second product, and what is returned.
const attentionText = `program f
input l_q_: f32[4, 20, 8] stride [160, 8, 1]
input l_k_: f32[4, 40, 8] stride [320, 8, 1]
input l_v_: f32[4, 40, 16] stride [640, 16, 1]
temp buf0: f32[4, 20, 40] stride [800, 40, 1]
temp buf1: f32[4, 20, 1] stride [20, 1, 1]
temp buf2: f32[4, 20, 40] stride [800, 40, 1]
result buf3: f32[4, 20, 16] stride [320, 16, 1]
op0 = matmul [4, 20, 40 | 8] // matmul
  a l_q_[160*i0 + 8*i1 + k]
  b l_k_[320*i0 + 8*i2 + k]
  out buf0[800*i0 + 40*i1 + i2]
op1 = reduction [4, 20 | 40] // amax
  t0 = load.f32 buf0[800*i0 + 40*i1 + r0]
  t1 = reduce_max.f32 t0
  store.f32 buf1[20*i0 + i1], t1
op2 = pointwise [4, 20, 40] // sub
  t0 = load.f32 buf0[800*i0 + 40*i1 + i2]
  t1 = load.f32 buf1[20*i0 + i1]
  t2 = sub.f32 t0, t1
  store.f32 buf2[800*i0 + 40*i1 + i2], t2
op3 = matmul [4, 20, 16 | 40] // matmul_1
  a buf2[800*i0 + 40*i1 + k]
  b l_v_[640*i0 + i2 + 16*k]
  out buf3[320*i0 + 16*i1 + i2]
return buf3 + 0 shape [4, 20, 16] stride [320, 16, 1]
`

// TestFindAttention has an attention, and programs that differ from it in what makes the kernels run one by one.
func TestFindAttention(t *testing.T) {
	for _, c := range []struct {
		name, old, new string
		want           bool
	}{
		{"as it is", "", "", true},
		{"scores are a result", "temp buf0", "result buf0", false},
		{"weights are a result", "temp buf2", "result buf2", false},
		{"rows of another matrix", "a buf2[800*i0 + 40*i1 + k]", "a buf2[40*i1 + k]", false},
		{"weights turned", "store.f32 buf2[800*i0 + 40*i1 + i2]", "store.f32 buf2[800*i0 + i1 + 20*i2]", false},
		{"weights are the right operand, too", "b l_v_[640*i0 + i2 + 16*k]", "b buf2[800*i0 + 40*i2 + k]", false},
		{"half the weights", "a buf2[800*i0 + 40*i1 + k]", "a buf2[800*i0 + 40*i1 + 2*k]", false},
		{"of bfloat16", ": f32[", ": bf16[", true},
		{"scores of float16", "buf0: f32[", "buf0: f16[", true},
		{"scores of float64", "buf0: f32[", "buf0: f64[", false},
		{"operands of two types", "l_k_: f32[", "l_k_: bf16[", false},
		{"a right operand that fits no cache", "40 | 8]", "40 | 8192]", false},
		{"scores of a shared matrix", "b l_k_[320*i0 + 8*i2 + k]", "b l_k_[8*i2 + k]", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := ir.Parse(strings.ReplaceAll(attentionText, c.old, c.new))
			if err != nil {
				t.Fatal(err)
			}
			x := New(p, nil)
			x.Groups = sched.Schedule(p, sched.Options{})
			x.MakeKernels()
			x.FindAttention()
			if len(x.Groups) != 3 {
				t.Fatalf("%d kernels", len(x.Groups))
			}
			if got := len(x.Attentions) == 1; got != c.want {
				t.Fatalf("kernels run together: %t", got)
			}
			for i := range x.Groups {
				if a := x.AttentionAt(i); (a != nil) != c.want {
					t.Errorf("group %d belongs to %v", i, a)
				}
			}
			if err := x.CheckAttention(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestAttentionMoves: what passes between kernels that run together does not count as moved.
func TestAttentionMoves(t *testing.T) {
	p, err := ir.Parse(attentionText)
	if err != nil {
		t.Fatal(err)
	}
	x := New(p, nil)
	x.Groups = sched.Schedule(p, sched.Options{})
	x.MakeKernels()
	before := x.Kernels[1].Traffic()
	x.FindAttention()
	if after := x.Kernels[1].Traffic(); before != 2*4*4*20*40 || after != 0 {
		t.Errorf("the kernel between the products moves %d bytes, %d before", after, before)
	}
}
