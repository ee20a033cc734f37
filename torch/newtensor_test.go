package torch_test

import (
	"math"
	"testing"

	"tcdbg/torch"
	"tcdbg/torch/kw"
)

// TestNewTensorOfMixtures: a list of numbers of several types has the type that all
// promote to, wherever in it they are; the numbers are those of torch.tensor.
func TestNewTensorOfMixtures(t *testing.T) {
	for _, c := range []struct {
		data any
		want torch.DType
		nums []float64
	}{
		{[]any{1, 2.5}, torch.Float32, []float64{1, 2.5}},
		{[]any{2.5, 1}, torch.Float32, []float64{2.5, 1}},
		{[]any{1, 2.5, true}, torch.Float32, []float64{1, 2.5, 1}},
		{[]any{true, 2.5}, torch.Float32, []float64{1, 2.5}},
		{[]any{true, false}, torch.Bool, []float64{1, 0}},
		{[]any{1, true}, torch.Int64, []float64{1, 1}},
		{[]any{false, 3}, torch.Int64, []float64{0, 3}},
		{[]any{uint8(200), 3}, torch.Int64, []float64{200, 3}},
		{[]any{[]any{1, 2}, []any{3.5, 4}}, torch.Float32, []float64{1, 2, 3.5, 4}},
		{[]any{[]any{true, 1}, []any{2.5, false}}, torch.Float32, []float64{1, 1, 2.5, 0}},
		{[]any{[]int{1, 2}, []float64{3.5, 4}}, torch.Float32, []float64{1, 2, 3.5, 4}},
		{[]any{[]bool{true}, []int{7}}, torch.Int64, []float64{1, 7}},
		{[]any{uint16(9), float32(0.5), uint64(3)}, torch.Float32, []float64{9, 0.5, 3}},
		{[]any{1 << 40, 2.5}, torch.Float32, []float64{1 << 40, 2.5}},
		{[]any{}, torch.Float32, nil},
		{[]uint8{1, 255}, torch.Uint8, []float64{1, 255}},
		{[]float64{}, torch.Float32, nil},
		{[]int{}, torch.Int64, nil},
	} {
		got := torch.NewTensor(c.data)
		if got.DType() != c.want {
			t.Errorf("%v is of %v, want %v", c.data, got.DType(), c.want)
		}
		same(t, got, c.nums...)
	}
	same(t, torch.NewTensor([]any{1, 2.5}, kw.Dtype(torch.Int64)), 1, 2)
	same(t, torch.NewTensor([]any{0, 0.5}, kw.Dtype(torch.Bool)), 0, 1)
	z := torch.NewTensor([]any{true, 1, 2.5, 3 + 4i})
	same(t, torch.ViewAsReal(z).Flatten(), 1, 0, 1, 0, 2.5, 0, 3, 4)
	for name, data := range map[string]any{
		"expected sequence of length 2 at dim 1 (got 1)": []any{[]any{1, 2}, []any{3}},
		"must be real number, not string":                []any{1, "a"},
		"Overflow when unpacking long":                   []any{uint64(math.MaxUint64)},
	} {
		func() {
			defer func() {
				if e, ok := recover().(error); !ok || e.Error() != name {
					t.Errorf("%v: %v, want %s", data, e, name)
				}
			}()
			torch.NewTensor(data)
		}()
	}
}
