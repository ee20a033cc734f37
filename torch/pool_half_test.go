package torch

import (
	"testing"

	"tcdbg/ops"
)

// TestOneCellIsAMean: PyTorch adds the numbers of half precision in half
// precision where adaptive_avg_pool3d has several cells, which ends at 256 in
// bfloat16, but takes the mean where there is one.
func TestOneCellIsAMean(t *testing.T) {
	x := Ones(1, 8, 10, 10).To(ops.BFloat16)
	if got := Op("adaptive_avg_pool3d", x, []int{1, 1, 1})[0].(*Tensor).Item(); got != 1 {
		t.Errorf("one cell is %v, want 1", got)
	}
	if got := Op("adaptive_avg_pool3d", x, []int{2, 1, 1})[0].(*Tensor).Max().Item(); got >= 1 {
		t.Errorf("one of two cells is %v, want less than 1", got)
	}
}

// TestLdexpKeepsItsType where the exponents are whole.
func TestLdexpKeepsItsType(t *testing.T) {
	x := Ones(2).To(ops.BFloat16)
	if d := Ldexp(x, Ones(2).To(ops.Int32)).DType(); d != ops.BFloat16 {
		t.Errorf("bfloat16 by int32 is %v", d)
	}
	if d := Ldexp(x, Ones(2)).DType(); d != ops.Float32 {
		t.Errorf("bfloat16 by float32 is %v", d)
	}
	if d := Ldexp(Ones(2).To(ops.Int32), Ones(2).To(ops.Int32)).DType(); d != ops.Float32 {
		t.Errorf("int32 by int32 is %v", d)
	}
}
