package torch_test

import (
	"fmt"
	"testing"

	"tcdbg/torch"
	"tcdbg/torch/internal/simd"
)

// TestCopiesOfTransposedMemory makes permuted tensors contiguous and reads every
// element of both.
func TestCopiesOfTransposedMemory(t *testing.T) {
	for _, l := range simd.Levels() {
		defer simd.Force(l)()
		for _, d := range []torch.DType{torch.Float32, torch.Int32, torch.Float64} {
			for _, c := range []struct {
				shape []int
				perm  []int
			}{
				{[]int{8, 8}, []int{1, 0}},
				{[]int{17, 70}, []int{1, 0}},
				{[]int{130, 33}, []int{1, 0}},
				{[]int{3, 20, 9}, []int{0, 2, 1}},
				{[]int{2, 12, 5, 16}, []int{0, 2, 3, 1}},
				{[]int{9, 10, 11}, []int{2, 1, 0}},
				{[]int{2, 9, 3, 10}, []int{3, 0, 2, 1}},
			} {
				n := 1
				for _, s := range c.shape {
					n *= s
				}
				x := torch.Arange(n).To(d).Reshape(c.shape...).Permute(c.perm...)
				got := x.Contiguous()
				if !got.IsContiguous() {
					t.Fatal("not contiguous")
				}
				// AddScalar reads by strides, not through the copy.
				if want := x.Add(0); fmt.Sprint(got.Float64s()) != fmt.Sprint(want.Float64s()) {
					t.Errorf("%v %v %v by %v differs", l, d, c.shape, c.perm)
				}
			}
		}
	}
}
